"""Text of models and prompts on its way to a terminal, which it must not steer."""

import unicodedata

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421", 0x0A: "\u23ce"}
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def shown(text: str, width: int | None = None) -> str:
    """Make text safe for one line of a terminal: control, direction and other unseen characters become visible ones.

    Args:
        text: any text.
        width: characters at most; longer text is cut and ends in an ellipsis.
    """
    if width is not None and len(text) > width:
        text = text[: max(0, width - 1)] + "\u2026"
    return "".join(_PICTURES.get(ord(char)) or ("\u2423" if unicodedata.category(char) in _UNSEEN else char) for char in text)


def shown_lines(text: str) -> str:
    """Make text safe for a terminal, its line ends kept."""
    return "\n".join(shown(line) for line in text.split("\n"))
