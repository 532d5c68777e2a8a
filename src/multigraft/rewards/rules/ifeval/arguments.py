"""What an argument of a constraint may be: each function returns the value to check with, or raises ValueError that says what was wanted."""

from collections.abc import Callable
from typing import TypeAlias

from multigraft.rewards.rules.check import Relation
from multigraft.rewards.rules.ifeval.detection import known_languages
from multigraft.types import Json

Parameter: TypeAlias = Callable[[Json], object]


def _wanted(what: str, value: Json) -> ValueError:
    return ValueError(f"must be {what}, not {value!r}")


def natural(value: Json) -> int:
    """Take an integer >= 0; 3.0 counts, as tables with gaps turn integers into floats."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != value // 1:
        message = "an integer of at least 0"
        raise _wanted(message, value)
    return int(value)


def positive(value: Json) -> int:
    """Take an integer >= 1."""
    number = natural(value)
    if number == 0:
        message = "an integer of at least 1"
        raise _wanted(message, value)
    return number


def relation(value: Json) -> Relation:
    """Take one of the two relations."""
    if value == "at least":
        return "at least"
    if value == "less than":
        return "less than"
    message = "'at least' or 'less than'"
    raise _wanted(message, value)


def text(value: Json) -> str:
    """Take a string with a visible character."""
    if not isinstance(value, str) or not value.strip():
        message = "a text that is not empty"
        raise _wanted(message, value)
    return value.strip()


def texts(value: Json) -> tuple[str, ...]:
    """Take a list of texts, at least one."""
    if not isinstance(value, list) or not value:
        message = "a list of texts, at least one"
        raise _wanted(message, value)
    return tuple(text(item) for item in value)


def letter(value: Json) -> str:
    """Take one character, which need not be a letter."""
    stripped = text(value)
    if len(stripped) != 1:
        message = "one character"
        raise _wanted(message, value)
    return stripped


def language(value: Json) -> str:
    """Take the code of a language that can be detected."""
    if not isinstance(value, str) or value not in known_languages():
        message = f"one of {', '.join(sorted(known_languages()))}"
        raise _wanted(message, value)
    return value
