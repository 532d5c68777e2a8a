"""Where a field stands in a TOML file, for messages: good enough to send a writer to the right line, and silent where it is not sure."""

import re
from collections.abc import Sequence

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""\s*["']?([\w.-]+)["']?\s*=""")


def line_of(text: str, location: Sequence[str | int]) -> int | None:
    """Find the line of a field.

    Args:
        text: of the file.
        location: the way to the field: names of tables, numbers of entries in lists, and last its own name.

    Returns:
        The 1-based line of the longest beginning of the way that has one of its own; None when there is none.
    """
    lines: dict[tuple[str | int, ...], int] = {}
    counts: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if (header := _HEADER.fullmatch(line)) is not None:
            table = _entered(header, counts)
            lines.setdefault(table, number)
        elif (key := _KEY.match(line)) is not None:
            lines.setdefault((*table, *key[1].split(".")), number)
    way = tuple(location)
    while way and way not in lines:
        way = way[:-1]
    return lines.get(way)


def _entered(header: re.Match[str], counts: dict[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
    """Return the way of a table whose header was met; the last entry of every list of tables on it is the open one."""
    way: tuple[str | int, ...] = ()
    names = [name.strip().strip("\"'") for name in header[2].split(".")]
    for position, name in enumerate(names, start=1):
        way = (*way, name)
        if position == len(names) and header[1] == "[[":
            counts[way] = counts.get(way, -1) + 1
        if way in counts:
            way = (*way, counts[way])
    return way
