"""JSON as the standard has it: no NaN, no number beyond a float, no key twice, and an error that says where."""

import json
from math import isfinite
from typing import cast

from multigraft.types import Json


class StrictJsonError(ValueError):
    """A text that is no strict JSON.

    Args:
        message: what is wrong.
        key: the key given twice, if that is what is wrong.
    """

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            message = "given twice in one object"
            raise StrictJsonError(message, key)
        seen.add(key)
    return result


def _finite(literal: str) -> float:
    value = float(literal)
    if not isfinite(value):
        message = f"number {literal[:40]} is beyond a 64-bit float"
        raise StrictJsonError(message)
    return value


def _refuse(literal: str) -> Json:
    message = f"{literal} is no JSON; use null"
    raise StrictJsonError(message)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse)


def parse(text: str) -> Json:
    """Read one JSON value.

    Args:
        text: the whole text, white space around it allowed.

    Raises:
        StrictJsonError: for anything the standard does not allow, and for a key that is given twice.
    """
    try:
        return cast("Json", _DECODER.decode(text))
    except StrictJsonError:
        raise
    except json.JSONDecodeError as error:
        message = f"bad JSON: {error.msg} (column {error.colno})"
        raise StrictJsonError(message) from None
    except (RecursionError, ValueError) as error:
        # Python's own limits: nesting, and integers of more than 4,300 digits.
        message = f"bad JSON: {'nested too deep' if isinstance(error, RecursionError) else 'a number with too many digits'}"
        raise StrictJsonError(message) from None


def dump(value: Json) -> str:
    """Write one JSON value on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
