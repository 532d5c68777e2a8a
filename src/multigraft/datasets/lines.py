"""Rows as lines of strict JSON, and back."""

import json
from collections.abc import Iterator
from math import isfinite
from typing import BinaryIO, cast

import orjson

from multigraft.datasets.columns import Row
from multigraft.tasks.text import without_surrogates
from multigraft.types import Json

# Some readers end a line at these; as escapes they mean the same and harm nobody.
_LINE_ENDS = ((b"\xe2\x80\xa8", rb"\u2028"), (b"\xe2\x80\xa9", rb"\u2029"), (b"\xc2\x85", rb"\u0085"))


def encode(row: Row) -> tuple[bytes, bool]:
    """Write a row as one line of JSON.

    Args:
        row: of any texts; numbers that are not finite become null.

    Returns:
        The line with its line feed, and whether half a surrogate pair had to become U+FFFD.
    """
    try:
        line, normalised = orjson.dumps(row), False
    except TypeError:
        # Half a surrogate pair, or an integer beyond 64 bits.
        cleaned = _clean(row)
        line, normalised = json.dumps(cleaned, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(), cleaned != row
    for character, escape in _LINE_ENDS:
        if character in line:
            line = line.replace(character, escape)
    return line + b"\n", normalised


def decode(file: BinaryIO) -> Iterator[tuple[Row, int]]:
    """Read the rows of a file back, from its current position.

    Returns:
        Each row, and the bytes it takes.
    """
    for line in file:
        yield cast("Row", json.loads(line)), len(line)


def json_text(value: Json) -> str:
    """Write a value as JSON text for one cell."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(name): _clean(item) for name, item in value.items()}
    return value
