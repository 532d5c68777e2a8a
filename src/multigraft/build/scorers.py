"""From one table of a run file to one scorer: what its constructor asks for by name is found in the run around it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from multigraft.build.endpoints import endpoints_of
from multigraft.build.rules import build_rules
from multigraft.build.settings import made, parameters_of
from multigraft.config import ConcurrencyTable, ScorerTable, checked_table
from multigraft.errors import InputError, boundary
from multigraft.rewards.table import Scorer, reward_class
from multigraft.tasks.answers import read_answers
from multigraft.types import Ask, Ranking, Reward

if TYPE_CHECKING:  # only runs that run code load it
    from multigraft.sandbox.sandbox import Sandbox

NESTED = "judges"
"""A setting that holds tables of further scorers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What scorers need of the rest of the run."""

    ask_of: Callable[[str, str], Ask]
    """How a judge reaches a chat model, by the names of the model and of the judge."""
    identities: Mapping[str, str]
    """What each model is, by name: part of a judge's version."""
    concurrency: ConcurrencyTable
    """Timeouts of remote rewards."""
    sandbox: "Callable[[], Sandbox]"
    """Where generated code runs; the same for all scorers of the run."""
    opened: list[object] = field(default_factory=list)
    """What was made and may have to be started and closed, in the order of making. A scorer opens and closes the sandbox it uses itself."""


def build_scorer(part: ScorerTable, place: str, surroundings: Surroundings) -> Scorer:
    """Make one scorer.

    Args:
        part: its table.
        place: where the table stands in the run file.
        surroundings: the rest of the run; told what is to be started and closed.

    Raises:
        InputError: a setting that does not fit; names the place and the setting.
    """
    try:
        scorer = _scorer(part, place, surroundings)
    except (TypeError, ValueError) as error:
        raise InputError(str(error), field=place) from error
    surroundings.opened.append(scorer)
    return scorer


def is_reward(scorer: Scorer) -> TypeGuard[Reward]:
    """Say whether a scorer scores responses one by one."""
    return hasattr(scorer, "score")


def is_ranking(scorer: Scorer) -> TypeGuard[Ranking]:
    """Say whether a scorer only compares."""
    return not is_reward(scorer)


def takes(kind: str, parameter: str) -> bool:
    """Say whether a kind of scorer has a parameter of this name: `ask` marks those that ask a chat model."""
    return parameter in parameters_of(reward_class(kind))


def asked_models(part: ScorerTable) -> Iterator[str]:
    """Name the chat models that a scorer, or a scorer within it, asks."""
    if part.model is not None and takes(part.kind, "ask"):
        yield part.model
    with suppress(InputError):  # what is wrong within is said where the scorer is built, with its place
        for inner in _nested(part, part.kind):
            yield from asked_models(inner)


def repeats_itself(part: ScorerTable) -> bool:
    """Say whether calls of its own are repeated when they fail, so that whoever scores with it must not repeat them again."""
    return takes(part.kind, "ask") or any(repeats_itself(inner) for inner in _nested(part, part.kind))


def _nested(part: ScorerTable, place: str) -> list[ScorerTable]:
    tables = part.__pydantic_extra__.get(NESTED, ())
    if not isinstance(tables, tuple | list) or not all(isinstance(table, Mapping) for table in tables):
        message = f"must be a list of tables, each with a kind, not {tables!r}"
        raise InputError(message, field=f"{place}.{NESTED}")
    return [checked_table(ScorerTable, dict(table), f"{place}.{NESTED}[{index}]") for index, table in enumerate(tables)]


def _scorer(part: ScorerTable, place: str, surroundings: Surroundings) -> Scorer:
    maker = reward_class(part.kind)
    parameters = parameters_of(maker)
    settings: dict[str, Any] = dict(part.__pydantic_extra__)
    filled: dict[str, object] = {"name": part.name or part.kind}
    if "ask" in parameters:
        filled["ask"], filled["identity"] = _asked(part, place, surroundings)
    elif part.model is not None:
        if "model" not in parameters:
            message = f"reward '{part.kind}' takes no model"
            raise InputError(message, field=f"{place}.model")
        settings["model"] = part.model
    if "endpoints" in parameters:
        filled["endpoints"] = _endpoints(part, place, surroundings)
        settings = {"shape": "score", "model": "default"} | settings
    elif part.endpoints:
        message = f"reward '{part.kind}' takes no endpoints"
        raise InputError(message, field=f"{place}.endpoints")
    if NESTED in parameters:
        settings.pop(NESTED, None)
        filled[NESTED] = [_judge(inner, f"{place}.{NESTED}[{index}]", surroundings) for index, inner in enumerate(_nested(part, place))]
    if "sandbox" in parameters:
        filled["sandbox"] = surroundings.sandbox()
    if "baselines" in parameters and "baseline" in settings:
        filled["baselines"] = read_answers(Path(_file_of(settings.pop("baseline"), f"{place}.baseline")))
    if "template" in settings:
        settings["template"] = _text(settings["template"], place)
    return build_rules(settings, place, part.name or part.kind) if part.kind == "rules" else made(maker, place, settings, **filled)


def _judge(part: ScorerTable, place: str, surroundings: Surroundings) -> Reward:
    scorer = build_scorer(part, place, surroundings)
    if not is_reward(scorer):
        message = f"'{scorer.name}' compares the responses of a prompt when all are there, so it cannot be one judge of several; take one such as pairwise"
        raise InputError(message, field=place)
    return scorer


def _asked(part: ScorerTable, place: str, surroundings: Surroundings) -> tuple[Ask, str]:
    if part.model is None or part.model not in surroundings.identities:
        message = "a judge needs the name of a model of this run file" + (f", and '{part.model}' is none" if part.model else ': model = "..."')
        raise InputError(message, field=f"{place}.model")
    return surroundings.ask_of(part.model, part.name or part.kind), surroundings.identities[part.model]


def _endpoints(part: ScorerTable, place: str, surroundings: Surroundings) -> object:
    if not part.endpoints:
        message = 'a remote reward needs endpoints = [{ url = "http://host:8000" }]'
        raise InputError(message, field=f"{place}.endpoints")
    endpoints = endpoints_of(part.endpoints, part.name or part.kind, surroundings.concurrency)
    surroundings.opened.append(endpoints)
    return endpoints


def _file_of(value: object, place: str) -> str:
    if not isinstance(value, str):
        message = f"must be the name of a file, not {value!r}"
        raise InputError(message, field=place)
    return value.removeprefix("file:")


def _text(template: object, place: str) -> str:
    """Return a template: the text itself, or what is in the file it names as `file:PATH`."""
    if not isinstance(template, str):
        message = f"must be a text, or the name of a file as file:PATH, not {template!r}"
        raise InputError(message, field=f"{place}.template")
    if not template.startswith("file:"):
        return template
    with boundary(InputError, f"{place}.template", OSError, UnicodeDecodeError):
        return Path(template.removeprefix("file:")).read_text("utf-8")
