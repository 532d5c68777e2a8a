"""From `[reward]` to scorers and how they combine."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from multigraft.build.endpoints import endpoints_of
from multigraft.config import ConcurrencyTable, RewardPartTable, RewardTable
from multigraft.errors import InputError, UnknownNameError, boundary
from multigraft.rewards.combine import Combination, Part
from multigraft.rewards.remote import Remote
from multigraft.rewards.rules.constraints import Constraints
from multigraft.rewards.rules.minimum_content import MinimumContent
from multigraft.rewards.rules.pattern import Pattern
from multigraft.rewards.rules.reference import ExactNumber, Reference
from multigraft.rewards.rules.reward import Rules
from multigraft.rewards.rules.rule import Rule
from multigraft.rewards.rules.window import LengthWindow
from multigraft.rewards.table import reward_class
from multigraft.types import Ask, Reward
from multigraft.wire.endpoints import Endpoints

Thing = TypeVar("Thing")

JUDGES = frozenset({"judge", "graded_judge"})
_RULES: Mapping[str, Callable[..., Rule]] = {
    "constraints": Constraints,
    "reference": Reference,
    "exact_number": ExactNumber,
    "pattern": Pattern,
    "length": LengthWindow,
    "minimum_content": MinimumContent,
}


@dataclass(frozen=True, slots=True)
class Built:
    """The scorers of a run."""

    rewards: tuple[Reward, ...]
    retried: frozenset[str]
    """Names of those whose failures are repeated by whoever scores with them; a judge's calls are repeated as every call of a model is, and nowhere else."""
    combination: Combination
    endpoints: tuple[Endpoints, ...]
    """To be closed at the end."""


def judges_of(table: RewardTable) -> tuple[str, ...]:
    """Name the models that judge, each once."""
    return tuple(dict.fromkeys(part.model for part in table.parts if part.kind in JUDGES and part.model))


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What scorers need of the rest of the run."""

    ask_of: Callable[[str, str], Ask]
    """How a judge reaches a chat model, by the names of the model and of the judge."""
    identities: Mapping[str, str]
    """What each model is, by name: part of a judge's version."""
    concurrency: ConcurrencyTable
    """Timeouts of remote rewards."""


def build_rewards(table: RewardTable, surroundings: Surroundings) -> Built:
    """Make the scorers.

    Args:
        table: `[reward]`.
        surroundings: the rest of the run.

    Raises:
        InputError: a setting that does not fit; names the part and the setting.
    """
    rewards: list[Reward] = []
    parts: list[Part] = []
    opened: list[Endpoints] = []
    for index, part in enumerate(table.parts):
        place = f"reward.parts[{index}]"
        try:
            reward = _reward(part, place, surroundings, opened)
            normalise = part.normalise or ("model" if part.kind == "confidence" else "none")
            parts.append(Part(name=reward.name, weight=part.weight, normalise=normalise, optional=part.optional))
        except (TypeError, ValueError) as error:
            raise InputError(str(error), field=place) from error
        rewards.append(reward)
    try:
        combination = Combination(parts=tuple(parts), how=table.combine, deviations=table.deviations, allow_truncated=table.allow_truncated)
    except ValueError as error:
        raise InputError(str(error), field="reward") from error
    retried = frozenset(reward.name for part, reward in zip(table.parts, rewards, strict=True) if part.kind not in JUDGES)
    return Built(tuple(rewards), retried, combination, tuple(opened))


def needs_logprobs(table: RewardTable) -> bool:
    """Whether models must return log-probabilities of their answers."""
    return any(part.kind == "confidence" for part in table.parts)


def _reward(part: RewardPartTable, place: str, surroundings: Surroundings, opened: list[Endpoints]) -> Reward:
    made = reward_class(part.kind)
    settings: dict[str, Any] = dict(part.__pydantic_extra__) | {"name": part.name or part.kind}
    if part.kind in JUDGES:
        return _judge(made, part, place, settings, surroundings)
    if part.kind == "remote":
        if not part.endpoints:
            message = 'a remote reward needs endpoints = [{ url = "http://host:8000" }]'
            raise InputError(message, field=f"{place}.endpoints")
        endpoints = endpoints_of(part.endpoints, settings["name"], surroundings.concurrency)
        opened.append(endpoints)
        return _made(Remote, place, {"shape": "score"} | settings | {"model": part.model or "default"}, endpoints)
    if part.model is not None or part.endpoints:
        message = f"reward '{part.kind}' takes no model and no endpoints"
        raise InputError(message, field=place)
    return _rules(settings, place) if part.kind == "rules" else _made(made, place, settings)


def _judge(made: Callable[..., Reward], part: RewardPartTable, place: str, settings: dict[str, Any], surroundings: Surroundings) -> Reward:
    if part.model is None or part.model not in surroundings.identities:
        message = "a judge needs the name of a model of this run file" + (f", and '{part.model}' is none" if part.model else ': model = "..."')
        raise InputError(message, field=f"{place}.model")
    settings = settings | {"identity": surroundings.identities[part.model]}
    if "template" in settings:
        settings["template"] = _text(settings["template"], place)
    return _made(made, place, settings, surroundings.ask_of(part.model, settings["name"]))


def _rules(settings: dict[str, Any], place: str) -> Reward:
    rules, gate = settings.pop("rules", None), settings.pop("gate", True)
    chosen: dict[str, Any] = {}
    if rules is not None and not isinstance(rules, list | tuple):
        message = f"must be a list of rules, not {rules!r}"
        raise InputError(message, field=f"{place}.rules")
    if rules is not None:
        chosen["rules"] = tuple(_rule(rule, place) for rule in rules)
    if gate is not True:
        chosen["gate"] = _rule(gate, place) if gate else None
    return _made(Rules, place, settings | chosen)


def _rule(spec: object, place: str) -> Rule:
    """Read one rule: its name, or a table `{ rule = NAME, ... }` with its settings."""
    if not isinstance(spec, str | Mapping):
        message = f"a rule is a name, or a table with its settings, not {spec!r}"
        raise InputError(message, field=place)
    settings = {"rule": spec} if isinstance(spec, str) else dict(spec)
    name = str(settings.pop("rule", ""))
    if name not in _RULES:
        what = "rule"
        raise UnknownNameError(what, name, _RULES)
    return _made(_RULES[name], f"{place}.rules.{name}", settings)


def _made(made: Callable[..., Thing], place: str, settings: Mapping[str, Any], *args: object) -> Thing:
    parameters = {name: found for name, found in inspect.signature(made).parameters.items() if found.kind is inspect.Parameter.KEYWORD_ONLY}
    known = set(parameters) or set(settings)
    for name, found in parameters.items():
        if found.default is inspect.Parameter.empty and name not in settings:
            message = f"needs the setting '{name}'"
            raise InputError(message, field=place)
    for name in settings:
        if name not in known:
            what = f"setting of {place}:"
            raise UnknownNameError(what, name, known - {"name", "identity"})
    return made(*args, **{name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()})


def _text(template: object, place: str) -> str:
    """Return a template: the text itself, or what is in the file it names as `file:PATH`."""
    if not isinstance(template, str):
        message = f"must be a text, or the name of a file as file:PATH, not {template!r}"
        raise InputError(message, field=f"{place}.template")
    if not template.startswith("file:"):
        return template
    with boundary(InputError, f"{place}.template", OSError, UnicodeDecodeError):
        return Path(template.removeprefix("file:")).read_text("utf-8")


def parts_of(text: str) -> Sequence[dict[str, object]]:
    """Read the parts named on the command line: `rules`, `confidence`, `judge:MODEL`, `remote:URL`, several joined by `+`.

    Raises:
        InputError: a form that is none of these.
    """
    parts: list[dict[str, object]] = []
    for word in text.split("+"):
        kind, _, rest = word.strip().partition(":")
        if kind in JUDGES:
            parts.append({"kind": kind, "model": rest} if rest else {"kind": kind})
        elif kind == "remote":
            parts.append({"kind": kind, "endpoints": [{"url": rest}]} if rest else {"kind": kind})
        elif rest:
            message = f"reward '{kind}' takes no ':{rest}'; write judge:MODEL or remote:URL, and more settings into a run file"
            raise InputError(message, field="--reward")
        else:
            parts.append({"kind": kind})
    # Normalised where there are several, as a sum of raw scores of different scales would follow the widest alone.
    return [part | {"normalise": "run"} if len(parts) > 1 and part["kind"] != "confidence" else part for part in parts]
