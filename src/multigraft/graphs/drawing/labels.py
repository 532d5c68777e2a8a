"""Names of models on their way into a picture, which they must not steer."""

import unicodedata
from html import escape
from typing import Final

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_BLANK: Final = "\u2423"
_MORE: Final = "\u2026"


def plain(text: str, most: int | None = None) -> str:
    """Make text safe for one line: control, direction and other unseen characters become visible.

    Args:
        text: any.
        most: columns at most, >= 1, a wide character counting twice; longer text ends in an ellipsis.
    """
    if most is not None:
        text = text[: most + 1]
    seen = "".join(_BLANK if unicodedata.category(char) in _UNSEEN else char for char in text)
    if most is None or columns(seen) <= most:
        return seen
    while columns(seen) > most - 1:
        seen = seen[:-1]
    return seen + _MORE


def columns(text: str) -> int:
    """Count the columns a text takes on a terminal."""
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1 for char in text)


def marked_up(text: str, most: int | None = None) -> str:
    """Make text safe for XML.

    Args:
        text: any.
        most: as in `plain`.
    """
    return escape(plain(text, most))
