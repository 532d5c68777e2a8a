"""Flags of a graph search that hold several values in one text."""

import re
from math import isfinite
from typing import Final

from multigraft.errors import InputError, UnknownNameError

_EXAMPLE: Final = "units=18,flops=1e13,usd=5e-4,latency=5s,calls=9"
_FIELDS: Final = {"units": "units", "flops": "flops", "usd": "usd", "latency": "latency_s", "calls": "calls"}
_SECONDS: Final = {"": 1.0, "s": 1.0, "ms": 1e-3, "min": 60.0}
_NUMBER: Final = re.compile(r"([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z]*)", re.IGNORECASE)


def parse_caps(text: str) -> dict[str, float | int]:
    """Read the most one answer may cost, such as `units=18,latency=5s`.

    Args:
        text: parts `kind=number`, separated by commas, each kind at most once; a latency takes `s`, `ms` or `min`.

    Returns:
        Fields of `[optimize.caps]`.

    Raises:
        InputError: a part that cannot be read; the message holds it.
        UnknownNameError: a kind there is not.
    """
    caps: dict[str, float | int] = {}
    for part in text.split(","):
        kind, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            message = f"the part '{part.strip()}' of the budget '{text}' is not of the form kind=number; write it like {_EXAMPLE}"
            raise InputError(message, field="--budget")
        if kind not in _FIELDS:
            what = "kind of budget for one question"
            raise UnknownNameError(what, kind, _FIELDS)
        if _FIELDS[kind] in caps:
            message = f"the budget '{text}' gives {kind} twice; give it once"
            raise InputError(message, field="--budget")
        caps[_FIELDS[kind]] = _value(kind, value)
    return caps


def _value(kind: str, text: str) -> float | int:
    found = _NUMBER.fullmatch(text)
    unit = found[2].lower() if found else ""
    try:
        value = float(found[1]) if found else float("nan")
    except ValueError:
        value = float("nan")
    if not isfinite(value) or value <= 0 or unit not in (_SECONDS if kind == "latency" else {""}):
        message = f"'{kind}={text}' is no limit of one question; write it like {_EXAMPLE}"
        raise InputError(message, field="--budget")
    if kind == "latency":
        return value * _SECONDS[unit]
    if kind == "calls":
        if value != int(value):
            message = f"'calls={text}' is not whole; give a whole number of calls"
            raise InputError(message, field="--budget")
        return int(value)
    return value


def parse_split(text: str) -> tuple[int, int, int]:
    """Read numbers of questions: `30,20,40` to train on, to choose by and to compare on, the last of which may be left out.

    Raises:
        InputError: it is none of this form.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) not in {2, 3} or not all(part.isdecimal() for part in parts) or min(int(part) for part in parts[:2]) < 1:
        message = f"'{text}' is no division of the questions; write train,validation,test like 30,20,40, the first two at least 1"
        raise InputError(message, field="--split")
    train, validation, *test = (int(part) for part in parts)
    return train, validation, test[0] if test else 0


def parse_tokens(text: str) -> tuple[float, float]:
    """Read mean tokens of a question and of an answer: `202,275`.

    Raises:
        InputError: it is none of this form.
    """
    parts = text.split(",")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != 2 or not all(isfinite(value) and value > 0 for value in values):
        message = f"'{text}' are no mean tokens of a question and of an answer; write them like 202,275"
        raise InputError(message, field="--tokens")
    return values[0], values[1]


def words_of(text: str) -> list[str]:
    """Split names at commas."""
    return [word.strip() for word in text.split(",") if word.strip()]
