"""Reading answers that hostile or talkative models wrote, in time that grows with their length."""

import json
import re
from collections.abc import Iterable
from typing import cast

from multigraft.types import Json

_NUMBER = re.compile(r"(?<![\w.,])[-\u2212]?\d[\d,]*(?:\.\d+)?")
_FLAT_LIST = re.compile(r"\[[^\[\]]*\]")
_FENCE = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_MOST_DIGITS = 40
_MOST_JSON = 20_000


def last_integer(text: str) -> int | None:
    """Return the last number of a text when it is whole: thousands commas aside, at most 40 digits."""
    found = [match[0] for match in _NUMBER.finditer(text)]
    if not found:
        return None
    number = found[-1].replace(",", "").replace("\u2212", "-")
    whole, _, fraction = number.partition(".")
    return int(whole) if len(whole) <= _MOST_DIGITS and not fraction.strip("0") else None


def last_list(text: str) -> list[Json] | None:
    """Return the last JSON list in a text that holds no other list."""
    for part in reversed(_FLAT_LIST.findall(text)):
        if isinstance(value := strict_json(part), list):
            return value
    return None


def fenced_or_whole(text: str) -> str:
    """Return what stands in the last code fence, or the whole text."""
    found = _FENCE.findall(text)
    return str(found[-1] if found else text).strip()


def strict_json(text: str) -> Json:
    """Return one JSON value; None for a text that holds none, one that is too long, names a key twice, or holds no finite number."""
    if len(text) > _MOST_JSON:
        return None
    try:
        return cast("Json", json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        message = "a key twice"
        raise ValueError(message)
    return found


def _refuse(literal: str) -> Json:
    raise ValueError(literal)


def listed_words(text: str, known: Iterable[str]) -> list[str]:
    """Return the known words of an answer in their order, in small letters.

    What stands before the last colon does not count when known words follow it: "Sorted: ant, bee".
    """
    names = frozenset(known)
    _, colon, rest = text.rpartition(":")
    for part in (rest if colon else text, text):
        found = [word for word in map(str.lower, _WORD.findall(part)) if word in names]
        if found:
            return found
    return []
