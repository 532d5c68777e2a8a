"""Cases of input and expected value, which come from JSON and so are compared as JSON would hold them."""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:  # no import in the sandbox, where every millisecond counts
    from collections.abc import Callable

_CLOSE = 1e-9
_MOST_TEXT = 80


def case_fault(function: Callable[..., object], arguments: list[object], expected: object) -> tuple[str, str] | None:
    """Call the function once.

    Args:
        function: the submission.
        arguments: of the call.
        expected: what it should return.

    Returns:
        None when it does, otherwise the reason and a message.
    """
    value = function(*arguments)
    if same(value, expected):
        return None
    return "assertion", f"expected {repr(expected)[:_MOST_TEXT]}, got {repr(value)[:_MOST_TEXT]}"


def same(value: object, expected: object) -> bool:
    """Whether a plain value is what JSON said: a tuple counts as a list, a key as its text, floats to a relative 1e-9, and true is not 1."""
    if isinstance(expected, list):
        return isinstance(value, list | tuple) and len(value) == len(expected) and all(map(same, value, expected))
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            return False
        by_text = {_key(key): item for key, item in value.items()}
        return len(by_text) == len(value) and by_text.keys() == expected.keys() and all(same(by_text[key], item) for key, item in expected.items())
    if isinstance(expected, bool) or isinstance(value, bool):
        return value is expected
    if isinstance(value, float) and isinstance(expected, int | float):
        return value == expected or math.isclose(value, expected, rel_tol=_CLOSE)
    if isinstance(expected, float) and isinstance(value, int):
        return math.isclose(value, expected, rel_tol=_CLOSE)
    return type(value) is type(expected) and value == expected


def _key(key: object) -> str:
    return {True: "true", False: "false", None: "null"}[key] if key is None or isinstance(key, bool) else str(key)
