"""JSON in and out of the wire: strict and fast where that works, forgiving where servers are sloppy, never a number that is not one."""

import json
import re
from math import isfinite
from typing import NamedTuple, cast

import orjson

from multigraft.types import Json

MOST_BYTES_OF_VALUES = 96_000_000
"""What the values of one document may take in memory, texts apart: more than a hundred thousand tokens with their log-probabilities do."""
_SMALL_BYTES = MOST_BYTES_OF_VALUES // 120
_BYTES_OF_VALUES = ((b"{", 120), (b"[", 80), (b":", 90), (b",", 32))
"""What an object, a list, a key and any further value take once they are read, by the character that stands for them."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class Parsed(NamedTuple):
    """A JSON document, and whether it had to be changed to be one."""

    value: Json
    normalised: bool
    """Lone surrogates became U+FFFD, invalid UTF-8 likewise, NaN and infinite numbers None."""


def dump(value: object) -> bytes:
    """Write JSON as UTF-8; a lone surrogate becomes U+FFFD, so that the body is always valid.

    Raises:
        TypeError: the value holds something JSON has no word for.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_clean(cast("Json", value)))


def parse(data: bytes) -> Parsed | None:
    """Read JSON.

    Args:
        data: bytes of a whole document.

    Returns:
        The document, or None when it is not JSON or is nested too deeply to be an answer.
    """
    try:
        return Parsed(cast("Json", orjson.loads(data)), normalised=False)
    except orjson.JSONDecodeError:
        pass
    # orjson refuses lone surrogates, NaN and numbers beyond a double, which real servers send; the standard library reads them.
    try:
        value: Json = json.loads(data.decode("utf-8-sig", "replace"), parse_constant=_nothing, parse_float=_finite)
        return Parsed(_clean(value), normalised=True)
    except (ValueError, RecursionError):
        return None


def has_too_many_values(data: bytes) -> bool:
    """Tell whether a document would fill memory many times its own size: 30 MB of `[],[],[]` take 700 MB. Characters inside texts are counted as well."""
    if len(data) <= _SMALL_BYTES:
        return False
    return sum(data.count(beginning) * size for beginning, size in _BYTES_OF_VALUES) > MOST_BYTES_OF_VALUES


def without_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD; other text comes back as it is."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _nothing(_: str) -> None:
    return None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if isfinite(number) else None


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {without_surrogates(name): _clean(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
