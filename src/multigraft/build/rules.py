"""From the tables of rules in a run file to the `rules` reward."""

from collections.abc import Callable, Mapping
from typing import Any

from multigraft.build.settings import made
from multigraft.errors import InputError, UnknownNameError
from multigraft.rewards.rules.choice import Choice
from multigraft.rewards.rules.constraints import Constraints
from multigraft.rewards.rules.minimum_content import MinimumContent
from multigraft.rewards.rules.pattern import Pattern
from multigraft.rewards.rules.reference import ExactNumber, Reference
from multigraft.rewards.rules.reward import Rules
from multigraft.rewards.rules.rule import Rule
from multigraft.rewards.rules.window import LengthWindow

RULES: Mapping[str, Callable[..., Rule]] = {
    "constraints": Constraints,
    "reference": Reference,
    "exact_number": ExactNumber,
    "choice": Choice,
    "pattern": Pattern,
    "length": LengthWindow,
    "minimum_content": MinimumContent,
}


def build_rules(settings: dict[str, Any], place: str, name: str) -> Rules:
    """Make the `rules` reward.

    Args:
        settings: of its table.
        place: where it stands in the run file.
        name: what records know it by.

    Raises:
        InputError: a setting that does not fit.
        UnknownNameError: no such rule, or a setting that a rule does not have.
    """
    rules, gate = settings.pop("rules", None), settings.pop("gate", True)
    chosen: dict[str, Any] = {}
    if rules is not None and not isinstance(rules, list | tuple):
        message = f"must be a list of rules, not {rules!r}"
        raise InputError(message, field=f"{place}.rules")
    if rules is not None:
        chosen["rules"] = tuple(_rule(rule, place) for rule in rules)
    if gate is not True:
        chosen["gate"] = _rule(gate, place) if gate else None
    return made(Rules, place, settings | chosen, name=name)


def _rule(spec: object, place: str) -> Rule:
    """Read one rule: its name, or a table `{ rule = NAME, ... }` with its settings."""
    if not isinstance(spec, str | Mapping):
        message = f"a rule is a name, or a table with its settings, not {spec!r}"
        raise InputError(message, field=place)
    settings = {"rule": spec} if isinstance(spec, str) else dict(spec)
    name = str(settings.pop("rule", ""))
    if name not in RULES:
        what = "rule"
        raise UnknownNameError(what, name, RULES)
    return made(RULES[name], f"{place}.rules.{name}", settings)
