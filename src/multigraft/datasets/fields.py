"""Which type the column of a prompt's own field has, over all rows of a dataset."""

from multigraft.datasets.columns import Kind
from multigraft.types import Json

_EXACT = 2**53
"""Integers up to here are exact as floats."""
_LISTS = {Kind.TEXT: Kind.TEXTS, Kind.INTEGER: Kind.INTEGERS, Kind.NUMBER: Kind.NUMBERS}
_WIDER = {frozenset({Kind.INTEGER, Kind.NUMBER}): Kind.NUMBER, frozenset({Kind.INTEGERS, Kind.NUMBERS}): Kind.NUMBERS}


class FieldKinds:
    """Learns the kind of each field from its values. Values that do not fit one kind make their field `JSON`: each is then stored as JSON text."""

    def __init__(self) -> None:
        self._kinds: dict[str, Kind | None] = {}
        self._empty_lists: set[str] = set()
        self._large: set[str] = set()

    def see(self, name: str, value: Json) -> None:
        """Take in one value; null fits any kind."""
        known = self._kinds.setdefault(name, None)
        if value is None:
            return
        if value == []:
            # Fits any list; which one, other rows tell.
            self._empty_lists.add(name)
            return
        kind = _kind_of(value)
        if _is_large(value):
            self._large.add(name)
        if known is not None and known is not kind:
            kind = _WIDER.get(frozenset({known, kind}), Kind.JSON)
        self._kinds[name] = kind

    def kinds(self) -> dict[str, Kind]:
        """Return the kind of each field, in the order they were first seen."""
        return {name: self._settled(name, kind) for name, kind in self._kinds.items()}

    def _settled(self, name: str, kind: Kind | None) -> Kind:
        if kind is None:
            return Kind.TEXTS if name in self._empty_lists else Kind.TEXT
        if name in self._large and kind in {Kind.NUMBER, Kind.NUMBERS}:
            return Kind.JSON
        if name in self._empty_lists and kind not in _LISTS.values():
            return Kind.JSON
        return kind


def _kind_of(value: Json) -> Kind:
    match value:
        case bool():
            return Kind.FLAG
        case int():
            return Kind.INTEGER if -(2**63) <= value < 2**63 else Kind.JSON
        case float():
            return Kind.NUMBER
        case str():
            return Kind.TEXT
        case list():
            kinds = {_kind_of(item) for item in value if item is not None}
            kind = _WIDER.get(frozenset(kinds), kinds.pop() if len(kinds) == 1 else Kind.JSON)
            return _LISTS.get(kind, Kind.JSON)
        case _:
            return Kind.JSON


def _is_large(value: Json) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(isinstance(item, int) and abs(item) > _EXACT for item in values)
