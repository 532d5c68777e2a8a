"""Reading what a checker needs to know: facts travel with prompts, through files that others may have changed."""

from collections.abc import Mapping

from multigraft.types import Json


class FactsError(ValueError):
    """The facts of a puzzle are not what its checker needs."""


def integer(facts: Mapping[str, Json], name: str) -> int:
    """Return a whole number.

    Raises:
        FactsError: it is missing, or something else.
    """
    value = facts.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FactsError(_message(name, "a whole number"))
    return value


def text(facts: Mapping[str, Json], name: str) -> str:
    """Return a text that is not empty.

    Raises:
        FactsError: it is missing, or something else.
    """
    value = facts.get(name)
    if not isinstance(value, str) or not value:
        raise FactsError(_message(name, "a text"))
    return value


def entries(facts: Mapping[str, Json], name: str) -> list[str]:
    """Return a list that is not empty, its entries as texts.

    Raises:
        FactsError: it is missing, or something else.
    """
    value = facts.get(name)
    if not isinstance(value, list) or not value:
        raise FactsError(_message(name, "a list"))
    return [str(entry) for entry in value]


def table(facts: Mapping[str, Json], name: str) -> dict[str, Json]:
    """Return an object that is not empty.

    Raises:
        FactsError: it is missing, or something else.
    """
    value = facts.get(name)
    if not isinstance(value, dict) or not value:
        raise FactsError(_message(name, "an object"))
    return value


def _message(name: str, wanted: str) -> str:
    return f"the facts of this puzzle need {wanted} as '{name}'; take items as the task made them"
