"""JSON by the standard library's own parser, without the module around it.

That module loads the compiler of regular expressions, which takes as long as starting the interpreter does; every check pays it twice.
"""

from __future__ import annotations

from _json import encode_basestring_ascii, make_scanner

MOST_DEPTH = 200
_CONSTANTS = {True: "true", False: "false", None: "null"}


class _Settings:
    """What the parser asks for; constants that JSON does not have are refused."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> object:
        message = f"the bare constant {name}"
        raise ValueError(message)


_SCAN = make_scanner(_Settings())  # type: ignore[arg-type]  # typed for the class it usually serves


def loads(text: str) -> object:
    """Read one value that fills the text.

    Raises:
        ValueError: it is no JSON, or more follows.
        RecursionError: it is nested too deeply.
    """
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        message = "no JSON"
        raise ValueError(message) from None
    if text[end:].strip():
        message = "more than one value"
        raise ValueError(message)
    return value


def dumps(value: object, depth: int = 0) -> str:
    """Write a value of None, bool, int, finite float, str, list and dict with texts as keys; ASCII, on one line.

    Raises:
        ValueError: something else is in it, or it is nested more than `MOST_DEPTH` deep.
    """
    if depth > MOST_DEPTH:
        message = f"nested more than {MOST_DEPTH} deep"
        raise ValueError(message)
    kind = type(value)
    if value is None or kind is bool:
        return _CONSTANTS[value]  # type: ignore[index]  # just checked
    if isinstance(value, str) and kind is str:
        return encode_basestring_ascii(value)
    if kind is int or (isinstance(value, float) and kind is float and value - value == 0):
        return repr(value)
    if isinstance(value, list) and kind is list:
        return f"[{','.join([dumps(item, depth + 1) for item in value])}]"
    if isinstance(value, dict) and kind is dict:
        return f"{{{','.join([f'{encode_basestring_ascii(key)}:{dumps(item, depth + 1)}' for key, item in value.items()])}}}"
    message = f"a value of type {kind.__name__}"
    raise ValueError(message)
