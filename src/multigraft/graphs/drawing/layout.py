"""Where the nodes of a graph stand: levels as columns, few crossings, long edges on tracks of their own.

Every node has one wire, which runs on from column to column to its farthest reader; its readers branch off. A graph in which everyone reads everybody stays
readable that way: it has as many wires as nodes, not as edges.

Source: Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures" (1981), for levels and barycentres; the wires are ours.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from multigraft.graphs.graph import Graph

_SWEEPS: Final = 12
_NODE_GAP: Final = 1.0
"""Between the middles of two nodes of a column: the unit of the vertical axis."""
_WIRE_GAP: Final = 0.35
"""Between the middles of two wires that pass a column."""
_WIRE_WEIGHT: Final = 3.0
"""How much more a wire wants to be straight than a node wants to stand amid its neighbours."""


class Point(NamedTuple):
    """A place."""

    column: int
    height: float
    """In node heights, downwards, from the first node of the highest column."""


class _Item(NamedTuple):
    """Something in a column: a node, or the wire of one passing by."""

    node_id: str
    column: int


_Links: TypeAlias = dict[_Item, list[_Item]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands."""

    places: Mapping[str, Point]
    """By node id."""
    wires: Mapping[tuple[str, str], tuple[Point, ...]]
    """Of each edge: where it passes the columns between its ends, which are included."""
    num_columns: int
    height: float
    """Of the highest column, in node heights."""


def laid_out(graph: Graph) -> Layout:
    """Find a place for every node.

    Args:
        graph: any.

    Returns:
        The layout; equal for equal graphs.
    """
    levels = graph.depth_of()
    before, after, columns = _items(graph, levels)
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for column in columns if sweep % 2 == 0 else reversed(columns):
            _sort(column, neighbours, columns, graph)
    heights = _heights(columns, before, after)
    top = min(heights.values())
    places = {item: Point(item.column, height - top) for item, height in heights.items()}
    wires = {
        (source, target): (
            *(places[_Item(source, column)] for column in range(levels[source], levels[target])),
            places[_Item(target, levels[target])],
        )
        for source, target in graph.edges
    }
    by_node = {node_id: places[_Item(node_id, level)] for node_id, level in levels.items()}
    return Layout(by_node, wires, len(columns), max(point.height for point in places.values()))


def _items(graph: Graph, levels: Mapping[str, int]) -> tuple[_Links, _Links, list[list[_Item]]]:
    columns: list[list[_Item]] = [[] for _ in range(max(levels.values()) + 1)]
    before: _Links = {}
    after: _Links = {}
    for node_id in graph.order:
        last = max((levels[reader] - 1 for reader in graph.readers_of(node_id)), default=levels[node_id])
        for column in range(levels[node_id], last + 1):
            item = _Item(node_id, column)
            columns[column].append(item)
            before[item], after[item] = [], []
    for node_id, level in levels.items():
        for item in columns[level]:
            if item.node_id == node_id:
                _link(item, graph, before, after)
    return before, after, columns


def _link(item: _Item, graph: Graph, before: _Links, after: _Links) -> None:
    links = [(_Item(source, item.column - 1), item) for source in graph.read_by(item.node_id)]
    column = item.column
    while (passing := _Item(item.node_id, column + 1)) in before:
        links.append((_Item(item.node_id, column), passing))
        column += 1
    for left, right in links:
        after[left].append(right)
        before[right].append(left)


def _sort(column: list[_Item], neighbours: _Links, columns: Sequence[Sequence[_Item]], graph: Graph) -> None:
    """Bring a column into the order of the middles of its neighbours, dead nodes below; what has none stays where it is."""
    middles: dict[_Item, float] = {}
    size = max(1, len(column) - 1)
    for index, item in enumerate(column):
        found = neighbours[item]
        if found:
            beside = columns[found[0].column]
            middles[item] = sum(beside.index(other) for other in found) / len(found) / max(1, len(beside) - 1)
        else:
            middles[item] = index / size
    column.sort(key=lambda item: (item.node_id not in graph.live, middles[item]))


def _heights(columns: Sequence[Sequence[_Item]], before: _Links, after: _Links) -> dict[_Item, float]:
    is_node = _nodes(columns)
    heights: dict[_Item, float] = {}
    for column in columns:
        offsets = _offsets(column, is_node)
        heights |= {item: offset - offsets[-1] / 2 for item, offset in zip(column, offsets, strict=True)}
    for sweep in range(_SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            wanted = [_wanted(item, before, after, heights) for item in column]
            weights = [1.0 if is_node(item) else _WIRE_WEIGHT for item in column]
            offsets = _offsets(column, is_node)
            free = _increasing([want - offset for want, offset in zip(wanted, offsets, strict=True)], weights)
            heights |= {item: place + offset for item, place, offset in zip(column, free, offsets, strict=True)}
    return heights


def _nodes(columns: Sequence[Sequence[_Item]]) -> Callable[[_Item], bool]:
    first: dict[str, int] = {}
    for index, column in enumerate(columns):
        for item in column:
            first.setdefault(item.node_id, index)
    return lambda item: first[item.node_id] == item.column


def _offsets(column: Sequence[_Item], is_node: Callable[[_Item], bool]) -> list[float]:
    """Return the smallest distance of each item of a column from the first."""
    offsets = [0.0]
    for upper, lower in pairwise(column):
        gap = (_NODE_GAP if is_node(upper) else _WIRE_GAP) / 2 + (_NODE_GAP if is_node(lower) else _WIRE_GAP) / 2
        offsets.append(offsets[-1] + gap)
    return offsets


def _wanted(item: _Item, before: _Links, after: _Links, heights: Mapping[_Item, float]) -> float:
    around = [heights[other] for other in (*before[item], *after[item])]
    return sum(around) / len(around) if around else heights[item]


def _increasing(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the nearest numbers that never fall (pool adjacent violators)."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, total, count = value, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, other_weight, other_count = blocks.pop()
            mean = (mean * total + other * other_weight) / (total + other_weight)
            total, count = total + other_weight, count + other_count
        blocks.append((mean, total, count))
    return [mean for mean, _, count in blocks for _ in range(count)]
