"""Plain values as tagged JSON, so that a tuple stays a tuple; nothing but exact built-in types passes.

A subclass may answer `==` as it likes, so it is refused rather than turned into what it derives from.
"""

from __future__ import annotations

from multigraft.sandbox.inside import lean_json

TYPE_CHECKING = False
if TYPE_CHECKING:  # no import in the sandbox, where every millisecond counts
    from collections.abc import Callable
    from typing import Any

MOST_BYTES = 1024 * 1024
"""Of one written value; also what a judge reads of an answer at most."""
_NOT_FINITE = ("nan", "inf", "-inf")
_AS_THEY_ARE: tuple[type, ...] = (str, bool, int, type(None))
_TAGS: dict[type, str] = {tuple: "tuple", set: "set"}
_MADE: dict[str, Callable[[list[object]], object]] = {"tuple": tuple, "set": set}


class RefusedError(Exception):
    """A value that is not plain, or text that is no plain value."""


def write(value: object) -> str:
    """Write a value as one line of ASCII.

    Args:
        value: made of None, bool, int, float, complex, str, list, tuple, set and dict.

    Raises:
        RefusedError: anything else is in it, or it is too deep or too large.
    """
    try:
        text = lean_json.dumps(tagged(value))
    except (RecursionError, ValueError) as error:
        message = f"a value that cannot be written: {error}"
        raise RefusedError(message) from error
    if len(text) > MOST_BYTES:
        message = f"a value of {len(text)} bytes, at most {MOST_BYTES} are read"
        raise RefusedError(message)
    return text


def read(text: str) -> object:
    """Read what `write` wrote; the text may be hostile.

    Raises:
        RefusedError: it is no plain value.
    """
    try:
        return untagged(lean_json.loads(text))
    except (RecursionError, ValueError, TypeError) as error:
        message = f"an answer that is no plain value: {error}"
        raise RefusedError(message) from error


def tagged(value: object) -> object:
    """Put tags on what JSON lacks."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if isinstance(value, list) and kind is list:
        return [tagged(item) for item in value]
    if isinstance(value, tuple | set) and kind in _TAGS:
        return {_TAGS[kind]: [tagged(item) for item in value]}
    if isinstance(value, dict) and kind is dict:
        return {"dict": [[tagged(key), tagged(item)] for key, item in value.items()]}
    if isinstance(value, float) and kind is float:
        return value if value - value == 0 else {"float": str(value)}
    if isinstance(value, complex) and kind is complex:
        return {"complex": [tagged(value.real), tagged(value.imag)]}
    message = f"a value of type {kind.__name__}, which is no plain built-in"
    raise RefusedError(message)


def untagged(value: object) -> object:
    """Take the tags off again."""
    if isinstance(value, list):
        return [untagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        message = "an object without its one tag"
        raise RefusedError(message)
    ((tag, inner),) = value.items()
    if tag == "float" and inner in _NOT_FINITE:
        return float(inner)
    if tag == "dict":
        return {untagged(key): untagged(item) for key, item in _list(inner)}
    items = [untagged(item) for item in _list(inner)]
    if tag == "complex":
        real, imaginary = items
        if isinstance(real, float) and isinstance(imaginary, float):
            return complex(real, imaginary)
    if tag in _MADE:
        return _MADE[tag](items)
    message = f"an unknown tag {tag[:40]!r}"
    raise RefusedError(message)


def _list(inner: object) -> list[Any]:
    if not isinstance(inner, list):
        message = "a tag without its list"
        raise RefusedError(message)
    return inner
