"""Strict JSON that says where: no key twice, no number beyond a float, and the line on which a field stands."""

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Final, cast

from multigraft.errors import InputError
from multigraft.types import Json

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


def parse(text: str, *, file: str | None = None) -> Json:
    """Read one JSON value.

    Args:
        text: the whole of it.
        file: where it comes from, for the message.

    Raises:
        InputError: for anything the standard does not allow, and for a key given twice.
    """
    try:
        return cast("Json", json.loads(text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse))
    except json.JSONDecodeError as error:
        message = f"no JSON: {error.msg} (column {error.colno})"
        raise InputError(message, file=file, line=error.lineno) from None
    except RecursionError:
        message = "no JSON that could be read: nested too deep"
        raise InputError(message, file=file) from None
    except ValueError as error:
        # Of the hooks below, or of Python's limit of digits.
        message = f"no JSON: {error}"
        raise InputError(message, file=file) from None


def line_of(text: str, field: str) -> int | None:
    """Find the line on which a field begins.

    Args:
        text: valid JSON.
        field: such as `nodes[2].model`; where there is no such field, the nearest one around it counts.

    Returns:
        1-based line; None: nothing of it is there.
    """
    found: int | None = None
    depth_found = -1
    wanted = field.replace("[", ".[").split(".")
    for path, offset in _places(text):
        if len(path) > depth_found and path == wanted[: len(path)]:
            found, depth_found = offset, len(path)
    return None if found is None or depth_found == 0 else text.count("\n", 0, found) + 1


def _places(text: str) -> Iterator[tuple[list[str], int]]:
    """Yield the path and the offset of every value."""
    path: list[str] = []
    counts: list[int | None] = []
    key: str | None = None
    last = ""
    for token in _TOKEN.finditer(text):
        symbol = token.group()
        if symbol in {"}", "]"}:
            counts.pop()
            del path[len(counts) :]
        elif symbol == ":":
            key = cast("str", json.loads(last))
        elif symbol != ",":
            is_value = not counts or counts[-1] is not None or key is not None
            if is_value:
                del path[max(0, len(counts) - 1) :]
                if counts:
                    path.append(_step(counts, key))
                    key = None
                yield list(path), token.start()
            if symbol in {"{", "["}:
                counts.append(None if symbol == "{" else 0)
        last = symbol


def _step(counts: list[int | None], key: str | None) -> str:
    index = counts[-1]
    if index is None:
        return key or ""
    counts[-1] = index + 1
    return f"[{index}]"


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for key, value in pairs:
        if key in result:
            message = f"the field {key[:80]!r} is given twice in one object"
            raise ValueError(message)
        result[key] = value
    return result


def _finite(literal: str) -> float:
    value = float(literal)
    if not isfinite(value):
        message = f"the number {literal[:40]} is beyond a 64-bit float"
        raise ValueError(message)
    return value


def _refuse(literal: str) -> Json:
    message = f"{literal} is no number; use null"
    raise ValueError(message)
