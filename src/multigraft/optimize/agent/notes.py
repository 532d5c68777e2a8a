"""What was repaired in a reply, each kind counted: a note reads `kind: detail`."""

from collections import Counter
from typing import Final

_DETAIL_CHARACTERS: Final = 60


class Notes:
    """Repairs of one reply. A kind is noted once, with how often it occurred and what came first, so that a reply of a megabyte leaves a few lines."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def add(self, kind: str, detail: object = "") -> None:
        """Note a repair."""
        self._first.setdefault(kind, shown(detail))
        self._counts[kind] += 1

    def listed(self) -> tuple[str, ...]:
        """Return a line for each kind, in the order in which they occurred first."""
        return tuple(f"{kind}: {first}" + (f" (and {self._counts[kind] - 1} more)" if self._counts[kind] > 1 else "") for kind, first in self._first.items())


def shown(value: object) -> str:
    """Write hostile text for people and logs: printable ASCII, and short."""
    text = value if isinstance(value, str) else repr(value)[: 4 * _DETAIL_CHARACTERS]
    return ascii(text[:_DETAIL_CHARACTERS])[1:-1][:_DETAIL_CHARACTERS]
