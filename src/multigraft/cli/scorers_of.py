"""Which scorers and models the settings of a run name."""

from collections.abc import Iterable, Iterator, Mapping

from multigraft.types import Json

_NOT_THE_SCORER = frozenset({"name", "model", "endpoints", "weight", "normalise", "optional", "at"})
"""What a part says beside how its scorer scores; a grader's model is the user's to choose."""


def name_of(part: Mapping[str, object]) -> str:
    """Return what the record calls a scorer: its name, else its kind."""
    return str(part.get("name") or part.get("kind"))


def parts_in(settings: Mapping[str, object], table: str) -> list[dict[str, object]]:
    """Return the parts of `reward` or `judge`, themselves and no copies; none where they are no tables, which the schema says elsewhere."""
    found = settings.get(table)
    return _tables(found.get("parts") if isinstance(found, Mapping) else None)


def guiding_scorers(settings: Mapping[str, object]) -> frozenset[str]:
    """Name the scorers that made the reward of a run; all others judge from outside.

    Args:
        settings: of the run, as its folder keeps them.
    """
    return frozenset(map(name_of, parts_in(settings, "reward")))


def is_the_same(part: Mapping[str, object], grader: Mapping[str, object]) -> bool:
    """Tell whether a part of a run scores as a grader of a task does."""
    one, other = ({name: _plain(value) for name, value in table.items() if name not in _NOT_THE_SCORER} for table in (part, grader))
    return one == other


def of_the_search(settings: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out the models that only judge from outside, so that what shaped the responses of two runs can be compared.

    Args:
        settings: of a run, as its folder keeps them.
    """
    outside = only_judging(settings, "judge") - only_judging(settings, "reward")
    models = settings.get("models")
    return {**settings, "models": [model for model in models if _name(model) not in outside]} if outside and isinstance(models, list) else dict(settings)


def only_judging(settings: Mapping[str, object], *tables: str) -> set[str]:
    """Name the models that judge and do not answer; a single model does both.

    Args:
        settings: of a run.
        tables: `reward`, `judge` or both: whose judges are meant.
    """
    models = _tables(settings.get("models"))
    asked = {model for table in tables for model in asked_models(parts_in(settings, table))}
    return {str(model.get("name")) for model in models if model.get("name") in asked and not model.get("answers_too")} if len(models) > 1 else set()


def asked_models(parts: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Name the models of scorers, and of scorers within them."""
    for part in parts:
        if isinstance(part.get("model"), str):
            yield str(part["model"])
        yield from asked_models(_tables(part.get("judges")))


def _name(model: object) -> object:
    return model.get("name") if isinstance(model, Mapping) else None


def _tables(value: object) -> list[dict[str, object]]:
    return [table for table in value if isinstance(table, dict)] if isinstance(value, list | tuple) else []


def _plain(value: object) -> object:
    """Lists and tuples are the same here."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
