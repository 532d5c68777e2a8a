"""Equality of graphs up to the names of their nodes: one form for all graphs that run alike, and a short id of it.

Colours are refined by those of the nodes read and of the readers; where nodes of one colour are left, each in turn is set apart and the least result wins. Of
nodes that an automorphism found on the way maps onto each other, one turn is enough, which is what makes graphs of many equal chains fast.
Source: McKay and Piperno, "Practical graph isomorphism, II" (Journal of Symbolic Computation 60, 2014), section 2; departures: no refinement invariant prunes
branches, and nodes that read the same and are read by the same (twins) are ordered before the search, because any order of theirs gives the same form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from multigraft.graphs.graph import SINK, Edge, Graph, Node
from multigraft.randomness import key_of

_Colours: TypeAlias = tuple[int, ...]
"""By node; 0, 1, ... without gaps."""
_Code: TypeAlias = tuple[tuple[int, int], ...]
"""Edges by the ranks of their ends, ascending."""


def canonical(graph: Graph) -> Graph:
    """Return the form that all graphs with an isomorphic live part share, models and roles kept.

    Args:
        graph: nodes that do not reach its sink are left out of the form.

    Returns:
        Nodes named `a1`, `a2`, ..., each after those it reads, and last the sink, named `sink`.
    """
    order = canonical_order(graph)
    names = {node_id: f"a{number}" for number, node_id in enumerate(order, start=1)} | {graph.sink: SINK}
    by_id = {node.node_id: node for node in graph.nodes}
    nodes = tuple(Node(names[node_id], by_id[node_id].model, by_id[node_id].role) for node_id in order)
    edges: list[Edge] = [(names[source], names[target]) for source, target in graph.edges if target in graph.live]
    return Graph(nodes, tuple(edges), SINK)


def graph_id(graph: Graph) -> str:
    """Return 12 hexadecimal digits of a hash of the canonical form: equal for graphs that run alike, different (but for 2**-48) for others."""
    form = canonical(graph)
    nodes = [part for node in form.nodes for part in (node.model, node.role.value)]
    edges = [name for edge in form.edges for name in edge]
    return f"{key_of(len(nodes), *nodes, *edges) >> 16:012x}"


def canonical_order(graph: Graph) -> tuple[str, ...]:
    """Return the live nodes in an order that does not depend on their names: isomorphic graphs have theirs in the same places.

    Every node comes after those it reads, and the sink last. Of nodes that read alike, those with more nodes downstream come first, so that a graph and what it
    grows into at its thin ends order the nodes they share alike.
    """
    ids, links = _links(graph)
    ranks = _searched(_refined(_first_colours(graph, ids, links), links), links)
    return tuple(node_id for _, node_id in sorted(zip(ranks, ids, strict=True)))


class _Links(NamedTuple):
    read: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[int, ...], ...]


class _Leaf(NamedTuple):
    colours: _Colours
    path: tuple[int, ...]


@dataclass(slots=True)
class _Branch:
    """A colouring with a colour that several nodes have, and which of them have been set apart."""

    colours: _Colours
    cell: tuple[int, ...]
    tried: list[int] = field(default_factory=list)


def _links(graph: Graph) -> tuple[tuple[str, ...], _Links]:
    ids = tuple(node_id for node_id in graph.order if node_id in graph.live)
    index = {node_id: place for place, node_id in enumerate(ids)}
    read = tuple(tuple(index[source] for source in graph.read_by(node_id)) for node_id in ids)
    readers = tuple(tuple(index[target] for target in graph.readers_of(node_id) if target in index) for node_id in ids)
    return ids, _Links(read, readers)


def _first_colours(graph: Graph, ids: Sequence[str], links: _Links) -> _Colours:
    levels = graph.depth_of()
    downstream = [0] * len(ids)
    for place in reversed(range(len(ids))):
        for target in links.readers[place]:
            downstream[place] |= downstream[target] | 1 << target
    by_id = {node.node_id: node for node in graph.nodes}
    looks = [
        (levels[node_id], by_id[node_id].model, by_id[node_id].role.value, -downstream[place].bit_count(), links.read[place], links.readers[place])
        for place, node_id in enumerate(ids)
    ]
    met: dict[object, int] = {}
    keys = []
    for look in looks:
        met[look] = met.get(look, -1) + 1
        keys.append((*look[:4], met[look]))
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return tuple(ranks[key] for key in keys)


def _refined(colours: _Colours, links: _Links) -> _Colours:
    num_colours = len(set(colours))
    while num_colours < len(colours):
        signatures = [
            (colour, tuple(sorted([colours[source] for source in read])), tuple(sorted([colours[target] for target in readers])))
            for colour, read, readers in zip(colours, links.read, links.readers, strict=True)
        ]
        ranks = {signature: rank for rank, signature in enumerate(sorted(set(signatures)))}
        colours = tuple([ranks[signature] for signature in signatures])
        if len(ranks) == num_colours:
            break
        num_colours = len(ranks)
    return colours


def _searched(colours: _Colours, links: _Links) -> _Colours:
    """Return the colouring without equal colours that gives the least code."""
    cell = _cell(colours)
    if not cell:
        return colours
    leaves: dict[_Code, _Leaf] = {}
    automorphisms: list[tuple[int, ...]] = []
    branches = [_Branch(colours, cell)]
    while branches:
        branch = branches[-1]
        path = tuple(above.tried[-1] for above in branches[:-1])
        node = _next_untried(branch, [found for found in automorphisms if all(found[fixed] == fixed for fixed in path)])
        if node is None:
            branches.pop()
            continue
        branch.tried.append(node)
        apart = [2 * colour + 1 for colour in branch.colours]
        apart[node] -= 1
        refined = _refined(tuple(apart), links)
        cell = _cell(refined)
        if cell:
            branches.append(_Branch(refined, cell))
            continue
        leaf = _Leaf(refined, (*path, node))
        earlier = leaves.setdefault(_code(refined, links), leaf)
        if earlier is not leaf:
            automorphisms.append(_mapping(earlier.colours, refined))
            # The automorphism maps the whole branch of the earlier leaf onto this one: nothing new is found below where their paths part.
            parted = next(level for level, (one, other) in enumerate(zip(earlier.path, leaf.path, strict=True)) if one != other)
            del branches[parted + 1 :]
    return leaves[min(leaves)].colours


def _cell(colours: _Colours) -> tuple[int, ...]:
    """Return the nodes of the first colour that several have; empty: each has its own."""
    if len(set(colours)) == len(colours):
        return ()
    nodes: dict[int, list[int]] = {}
    for node, colour in enumerate(colours):
        nodes.setdefault(colour, []).append(node)
    return tuple(nodes[min(colour for colour, members in nodes.items() if len(members) > 1)])


def _next_untried(branch: _Branch, automorphisms: Sequence[tuple[int, ...]]) -> int | None:
    """Return a node that no automorphism maps a tried one to, however often applied; None: there is none."""
    reached = set(branch.tried)
    waiting = list(branch.tried)
    while waiting:
        node = waiting.pop()
        for mapping in automorphisms:
            # Of finite order, so that images alone reach the whole orbit.
            if mapping[node] not in reached:
                reached.add(mapping[node])
                waiting.append(mapping[node])
    return next((node for node in branch.cell if node not in reached), None)


def _code(ranks: _Colours, links: _Links) -> _Code:
    return tuple(sorted((ranks[source], ranks[target]) for target, read in enumerate(links.read) for source in read))


def _mapping(one: _Colours, other: _Colours) -> tuple[int, ...]:
    by_rank = {rank: node for node, rank in enumerate(other)}
    return tuple(by_rank[rank] for rank in one)
