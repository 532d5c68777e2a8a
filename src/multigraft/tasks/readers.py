r"""How a value of a row becomes a field of an item, by the names that task files use.

A reader returns the field, or None when the value holds no such thing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase
from typing import TypeAlias

from multigraft.tasks.languages import language_name, locale_pair, sides
from multigraft.tasks.strict_json import StrictJsonError, parse
from multigraft.types import Json

Options: TypeAlias = Mapping[str, Sequence[str | int]]
"""By name; one value, several, or none where the option has no effect."""
Reader: TypeAlias = Callable[[Json], Json]

_INTEGER = re.compile(r"\d+")
_BOXED = ("\\boxed", "\\fbox")


def after_hashes(value: Json) -> Json:
    """Read what follows the last `####` of a worked solution, without thousands commas: GSM8K's answers."""
    _, mark, rest = str(value).rpartition("####")
    return rest.strip().replace(",", "") if mark and rest.strip() else None


def boxed(value: Json) -> Json:
    r"""Read the last `\boxed{...}` or `\fbox{...}` of a worked solution by counting braces: answers of MATH hold braces themselves. Also `\boxed 7`."""
    text = str(value)
    start = max(text.rfind(mark) for mark in _BOXED)
    if start < 0:
        return None
    rest = text[start:].removeprefix("\\boxed").removeprefix("\\fbox").lstrip()
    if not rest.startswith("{"):
        return rest.split("$")[0].split()[0] if rest.split("$")[0].strip() else None
    depth, escaped = 0, False
    for position, char in enumerate(rest):
        if escaped or char == "\\":
            # `\{` and `\}` are braces that stand in the answer, not around it.
            escaped = not escaped
            continue
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth == 0:
            return rest[1:position].strip() or None
    return None


def letter(value: Json) -> Json:
    """Read a choice: its number from 0, or its letter already."""
    text = str(value).strip()
    if text.isdecimal():
        return ascii_uppercase[int(text)] if int(text) < len(ascii_uppercase) else None
    return text.upper() if len(text) == 1 and text.upper() in ascii_uppercase else None


def last_integer(value: Json) -> Json:
    """Read the last whole number of a text, such as 5 of "Level 5"."""
    found = _INTEGER.findall(str(value))
    return int(found[-1]) if found else None


def json_text(value: Json) -> Json:
    """Read a list or an object that a CSV holds as JSON text; anything else stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except StrictJsonError:
        return value


def first_turn(value: Json) -> Json:
    """Read the first user turn of a list of turns."""
    first = value[0] if isinstance(value, list) and value else value
    return first.get("content") if isinstance(first, dict) else first


def source_language(value: Json) -> Json:
    """Read the name of the language that the pair translates from."""
    return language_name(sides(str(value))[0])


def target_language(value: Json) -> Json:
    """Read the name of the language that the pair translates into."""
    return language_name(sides(str(value))[1])


def with_locale(value: Json) -> Json:
    """Read the pair with its locale, as WMT24++ names it: `en-de_DE`."""
    return locale_pair(str(value))


_READERS: Mapping[str, Reader] = {
    "after_hashes": after_hashes,
    "boxed": boxed,
    "first_turn": first_turn,
    "json_text": json_text,
    "last_integer": last_integer,
    "letter": letter,
    "source_language": source_language,
    "target_language": target_language,
    "with_locale": with_locale,
}
_SIDES: Mapping[str, int] = {"source_side": 0, "target_side": 1}
"""Of an object that holds a text for each language of the option `pair`."""
NAMES: frozenset[str] = frozenset({*_READERS, *_SIDES})


def read(name: str, value: Json, options: Options) -> Json:
    """Read a value.

    Args:
        name: of `NAMES`.
        value: as it stands in the row.
        options: in force.

    Returns:
        The field; None when the value holds no such thing.

    Raises:
        InputError: an option that does not fit.
    """
    if name in _READERS:
        return _READERS[name](value)
    pair = options.get("pair", ())
    return value.get(sides(str(pair[0]))[_SIDES[name]]) if pair and isinstance(value, dict) else None
