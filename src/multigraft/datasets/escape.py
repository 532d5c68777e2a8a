"""Texts of others inside YAML and Markdown, where they mean nothing but themselves."""

import json
import re

from multigraft.tasks.text import without_surrogates
from multigraft.types import Json

_SHOWN = 400
"""Characters of a text that a card shows at most."""
_MARKS = re.compile(r"([\\`*_\[\]|!~$#@]|:(?=/)|(?<=www)\.)", re.IGNORECASE)
"""What starts emphasis, code, links, images, table cells, headings or formulas inside a line, and what turns bare addresses into links."""


def yaml_text(text: str) -> str:
    """Write a text as a double-quoted YAML scalar, on one line, every character that does not print as an escape."""
    return f'"{"".join(map(_yaml_character, without_surrogates(text)))}"'


def markdown_text(text: str) -> str:
    """Write a text for the inside of a line, so that Markdown and HTML show it as it is: on one line, at most `_SHOWN` characters of it."""
    line = " ".join("".join(character if character.isprintable() else " " for character in without_surrogates(text)).split())
    shown = line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
    return _MARKS.sub(r"\\\1", shown).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def fenced(text: str, language: str) -> str:
    """Put a text into a code block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def json_block(value: Json) -> str:
    """Show a value as an indented JSON code block."""
    return fenced(json.dumps(value, indent=2, ensure_ascii=True, sort_keys=True), "json")


def _yaml_character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
