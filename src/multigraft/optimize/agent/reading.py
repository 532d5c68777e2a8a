"""From what an optimiser model wrote to one JSON object: models wrap it in fences, thought and prose, break it, and may be made to attack whoever reads it.

Nothing is evaluated, the work is bounded by a window at the end of the text, and what is read holds only finite numbers, unique keys and little depth.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from multigraft.errors import InputError
from multigraft.graphs.json_text import parse
from multigraft.types import Json

WINDOW_CHARACTERS: Final = 65_536
"""Of the end of a reply are looked at: several times what the largest sound reply takes."""
MAX_DEPTH: Final = 16
"""Of brackets in each other; a sound reply has 3."""
_MOST_ATTEMPTS: Final = 16
_CLOSINGS: Final = ("</think>", "</thinking>", "</reasoning>")
_OPENINGS: Final = ("<think>", "<thinking>", "<reasoning>")
# Possessive throughout: a string that never ends must not be looked at twice.
_IN_OBJECT: Final = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_IN_BROKEN_OBJECT: Final = re.compile(r"[{}\[\]]")
_OUTSIDE: Final = re.compile(r"[{}]")


class Read(NamedTuple):
    """What a reply holds."""

    found: Mapping[str, Json] | None
    problem: str = ""
    """Why nothing was found, for people and for the next attempt."""


class _Span(NamedTuple):
    start: int
    end: int
    depth: int
    """Of brackets in each other."""


def read_object(text: str, wanted: str) -> Read:
    """Find the last JSON object in a text that parses and holds a key.

    Args:
        text: what a model wrote; anything.
        wanted: the key.

    Returns:
        The object, with strings that may hold anything; or why there is none.
    """
    shown = _without_thought(text)[-WINDOW_CHARACTERS:]
    problem = "no JSON object"
    attempts = 0
    for aware in (True, False):
        # What lies in an object that was refused is tried as well: a model may put braces around everything.
        for span in sorted(_spans(shown, strings=aware), key=lambda span: (-span.end, span.start)):
            if span.depth > MAX_DEPTH:
                problem = f"nested deeper than {MAX_DEPTH}"
                continue
            attempts += 1
            if attempts > _MOST_ATTEMPTS:
                return Read(None, problem)
            found = _parsed(shown[span.start : span.end])
            if isinstance(found, str):
                problem = found
            elif wanted in found:
                return Read(found)
            elif problem == "no JSON object":
                problem = f"no object with the key '{wanted}'"
    return Read(None, problem)


def _without_thought(text: str) -> str:
    # A thought may end without a visible beginning (the template began it), or begin and never end.
    for closing in _CLOSINGS:
        text = text.rpartition(closing)[2]
    for opening in _OPENINGS:
        text = text.partition(opening)[0]
    return text


def _spans(text: str, *, strings: bool) -> list[_Span]:
    """Find what lies between braces that match; braces in strings do not count if `strings`, and quotes outside of objects never."""
    spans: list[_Span] = []
    open_at: list[int] = []
    deepest: list[int] = []
    position = 0
    square = 0
    inside = _IN_OBJECT if strings else _IN_BROKEN_OBJECT
    while match := (inside if open_at else _OUTSIDE).search(text, position):
        position = match.end()
        symbol = text[match.start()]
        if symbol == "{":
            open_at.append(match.start())
            deepest.append(0)
        elif symbol == "[":
            square += 1
        elif symbol == "]":
            square = max(0, square - 1)
        elif symbol == "}" and open_at:
            depth = deepest.pop() + 1
            if deepest:
                deepest[-1] = max(deepest[-1], depth)
            spans.append(_Span(open_at.pop(), position, depth))
        if deepest:
            deepest[-1] = max(deepest[-1], square)
    return spans


def _parsed(text: str) -> Mapping[str, Json] | str:
    try:
        value = parse(text)
    except InputError as error:
        return str(error)[:120]
    return value if isinstance(value, dict) else "no JSON object"
