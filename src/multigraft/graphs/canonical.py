"""Equality of graphs up to the names of their nodes: one form for all graphs that run alike, and a short id of it.

Colours are refined by those of the nodes read and of the readers. Where several nodes have one colour left, and each stands in a tree of its own (edges from
all of one colour to all of another aside), the trees are alike, and any order of them gives the same form. Else each node in turn is set apart, and the least
result wins. A result that was met before shows an automorphism, which maps one branch of this search onto another and so makes the other superfluous.

Source: McKay and Piperno, "Practical graph isomorphism, II" (Journal of Symbolic Computation 60, 2014), section 2; that nodes of equal stable colour in a
forest are equal up to an automorphism: Arvind, Koebler, Rattan and Verbitsky, "Graph Isomorphism, Color Refinement, and Compactness" (Computational
Complexity 26, 2017).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

from multigraft.graphs.graph import SINK, Edge, Graph, Node
from multigraft.randomness import key_of

_Colours: TypeAlias = tuple[int, ...]
"""By node; 0, 1, ... without gaps."""
_Key = TypeVar("_Key", bound=tuple[object, ...])
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

    Every node comes after those it reads, and the sink last. Of nodes alike but for their readers, those whose readers come sooner do so too: an answer that is
    refined comes before one that only the sink reads, so that a graph and what it grows into order the nodes they share alike.
    """
    ids, links = _links(graph)
    ranks = _searched(_first_colours(graph, ids), links)
    return tuple(node_id for _, node_id in sorted(zip(ranks, ids, strict=True)))


class _Links(NamedTuple):
    read: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[int, ...], ...]


class _Leaf(NamedTuple):
    colours: _Colours
    path: tuple[int, ...]


@dataclass(slots=True)
class _Branch:
    """A colouring with a colour that several nodes have, the colourings that follow from it, and which of them is being followed."""

    untried: list[_Colours]
    index: int = -1


def _links(graph: Graph) -> tuple[tuple[str, ...], _Links]:
    ids = tuple(node_id for node_id in graph.order if node_id in graph.live)
    index = {node_id: place for place, node_id in enumerate(ids)}
    read = tuple(tuple(index[source] for source in graph.read_by(node_id)) for node_id in ids)
    readers = tuple(tuple(index[target] for target in graph.readers_of(node_id) if target in index) for node_id in ids)
    return ids, _Links(read, readers)


def _first_colours(graph: Graph, ids: Sequence[str]) -> _Colours:
    levels = graph.depth_of()
    by_id = {node.node_id: node for node in graph.nodes}
    return _ranked([(levels[node_id], by_id[node_id].model, by_id[node_id].role.value) for node_id in ids])


def _ranked(keys: Sequence[_Key]) -> _Colours:
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return tuple([ranks[key] for key in keys])


def _refined(colours: _Colours, links: _Links) -> _Colours:
    num_colours = len(set(colours))
    while num_colours < len(colours):
        signatures = [
            (colour, tuple(sorted([colours[source] for source in read])), tuple(sorted([colours[target] for target in readers])))
            for colour, read, readers in zip(colours, links.read, links.readers, strict=True)
        ]
        colours, num_before = _ranked(signatures), num_colours
        num_colours = max(colours) + 1
        if num_colours == num_before:
            break
    return colours


def _searched(colours: _Colours, links: _Links) -> _Colours:
    """Refine, and tell nodes apart, until all have colours of their own; of all such colourings return the one with the least code."""
    leaves: dict[_Code, _Leaf] = {}
    branches = [_Branch([colours])]
    while branches:
        branch = branches[-1]
        if not branch.untried:
            branches.pop()
            continue
        refined = _refined(branch.untried.pop(0), links)
        branch.index += 1
        following = _following(refined, links)
        if following:
            branches.append(_Branch(following))
            continue
        leaf = _Leaf(refined, tuple(above.index for above in branches))
        earlier = leaves.setdefault(_code(refined, links), leaf)
        if earlier is not leaf:
            # What maps one leaf onto the other maps the whole branch of the earlier one onto this: nothing new is found below where their paths part.
            parted = next(level for level, (one, other) in enumerate(zip(earlier.path, leaf.path, strict=False)) if one != other)
            del branches[parted + 1 :]
    return leaves[min(leaves)].colours


def _following(colours: _Colours, links: _Links) -> list[_Colours]:
    """Return the colourings that tell some nodes of one colour apart, one of which leads to the least code; empty: all have colours of their own."""
    if len(set(colours)) == len(colours):
        return []
    cells: dict[int, list[int]] = {}
    for node, colour in enumerate(colours):
        cells.setdefault(colour, []).append(node)
    several = [cells[colour] for colour in sorted(cells) if len(cells[colour]) > 1]
    tree = _trees(colours, cells, links)
    for cell in several:
        if len({tree.get(node, -1) for node in cell} - {-1}) == len(cell):
            return [_apart(colours, cell)]
    return [_apart(colours, [node]) for node in several[0]]


def _apart(colours: _Colours, nodes: Sequence[int]) -> _Colours:
    """Give some nodes of one colour colours of their own, in this order and before the others of it."""
    keys = [(colour, len(nodes)) for colour in colours]
    for index, node in enumerate(nodes):
        keys[node] = (colours[node], index)
    return _ranked(keys)


def _trees(colours: _Colours, cells: Mapping[int, Sequence[int]], links: _Links) -> Mapping[int, int]:
    """Return which tree a node stands in, of nodes whose connected part is a tree once edges from all of a colour to all of another are taken away."""
    part = list(range(len(colours)))
    members = {node: [node] for node in part}
    cyclic: set[int] = set()
    for target, read in enumerate(links.read):
        num_read = Counter(colours[source] for source in read)
        for source in read:
            if num_read[colours[source]] == len(cells[colours[source]]):
                continue
            one, other = sorted((part[source], part[target]), key=lambda root: len(members[root]))
            if one == other:
                cyclic.add(one)
                continue
            for node in members[one]:
                part[node] = other
            members[other] += members.pop(one)
            if one in cyclic:
                cyclic.add(other)
    return {node: root for node, root in enumerate(part) if root not in cyclic}


def _code(ranks: _Colours, links: _Links) -> _Code:
    return tuple(sorted((ranks[source], ranks[target]) for target, read in enumerate(links.read) for source in read))
