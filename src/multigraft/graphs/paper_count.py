"""The sequence 1, 2, 8, 54, 762, 21542, 1259209 that the paper calls the number of non-isomorphic graphs, and what it really counts.

It comes out when all upper triangular matrices are enumerated and each is reduced to a form: its nodes are grouped by in- and out-degree, the groups stand in
the order in which they first occur, and the smallest matrix over all permutations within the groups is the form. The order of first occurrence depends on
how the nodes are numbered, so isomorphic graphs may have different forms: one edge and a node apart has three, which is why 8, not 6, are counted at n = 3.

Two matrices have equal forms exactly when their graphs are isomorphic and their groups first occur in the same order. The number of forms is therefore the sum,
over the non-isomorphic graphs, of the orders in which the groups of one can occur as its nodes are numbered topologically. That is what is computed here: of
2,097,152 matrices with 7 nodes, 243,668 graphs remain to be looked at.

Source: arXiv 2511.00086, section 3, gives the numbers; how they were made is inferred, and reproduces all seven.
"""

from functools import cache
from itertools import permutations, product
from typing import Final, TypeAlias

from multigraft.errors import InputError

MOST_NODES: Final = 7

_Dag: TypeAlias = tuple[int, ...]
"""For each node, in topological order, the nodes it reads as a set of bits."""

_MASK: Final = (1 << 61) - 1


def paper_legacy(num_nodes: int) -> int:
    """Count what the paper counts.

    Args:
        num_nodes: 0 to 7; 7 takes some ten seconds.

    Raises:
        InputError: more nodes, for which all graphs would have to be enumerated.
    """
    if not 0 <= num_nodes <= MOST_NODES:
        message = (
            f"the paper's sequence is found by enumerating all graphs, which is not done for {num_nodes} nodes; give 0 to {MOST_NODES}, or count the "
            "non-isomorphic graphs, for which there is a formula (--unlabelled)"
        )
        raise InputError(message)
    return sum(_orders(dag) for dag in non_isomorphic(num_nodes))


def non_isomorphic(num_nodes: int) -> list[_Dag]:
    """List one graph of every class of isomorphic ones, each grown from a smaller one by a node that nobody reads.

    Args:
        num_nodes: >= 0; their number grows as 1, 1, 2, 6, 31, 302, 5984, 243668.
    """
    found: list[_Dag] = [()]
    for size in range(num_nodes):
        grown: dict[int, _Dag] = {}
        for dag in found:
            for read in range(1 << size):
                larger = (*dag, read)
                grown.setdefault(_form(larger), larger)
        found = list(grown.values())
    return found


def _form(dag: _Dag) -> int:
    """Reduce a graph to a number, equal exactly for isomorphic graphs of a size."""
    size = len(dag)
    edges = [(source, target) for target, read in enumerate(dag) for source in range(target) if read >> source & 1]
    colours = _colours(size, edges)
    order = sorted(range(size), key=colours.__getitem__)
    groups: list[list[int]] = []
    for node in order:
        if groups and colours[groups[-1][0]] == colours[node]:
            groups[-1].append(node)
        else:
            groups.append([node])
    if len(groups) == size:
        return _matrix(size, edges, order)
    arrangements = product(*(permutations(group) for group in groups))
    return min(_matrix(size, edges, [node for group in arrangement for node in group]) for arrangement in arrangements)


def _colours(size: int, edges: list[tuple[int, int]]) -> list[int]:
    """Tell nodes apart by what they read and who reads them, some steps far, whatever they are called. Equal colours of different nodes do no harm."""
    colours = [1] * size
    for _ in range(3):
        mixed = [colour * colour * 0x9E3779B97F4A7C15 + colour & _MASK for colour in colours]
        following = [colour * 3 for colour in colours]
        for source, target in edges:
            following[target] += mixed[source]
            following[source] += mixed[target] * 0x2545F4914F6CDD1D
        colours = [colour & _MASK for colour in following]
    return colours


def _matrix(size: int, edges: list[tuple[int, int]], order: list[int]) -> int:
    place = [0] * size
    for position, node in enumerate(order):
        place[node] = position
    bits = 0
    for source, target in edges:
        bits |= 1 << place[source] * size + place[target]
    return bits


def _orders(dag: _Dag) -> int:
    """Count the orders in which a graph's groups of equal degrees can first occur in a topological numbering."""
    degrees = [(read.bit_count(), sum(other >> node & 1 for other in dag)) for node, read in enumerate(dag)]
    group_of = {degree: index for index, degree in enumerate(dict.fromkeys(degrees))}
    before: list[int] = []
    needed: list[set[int]] = [set() for _ in group_of]
    for node, read in enumerate(dag):
        groups = 0
        for source in range(node):
            if read >> source & 1:
                groups |= before[source] | 1 << group_of[degrees[source]]
        before.append(groups)
        # The first of its group stands before all others of it, and so reads none.
        if not groups >> group_of[degrees[node]] & 1:
            needed[group_of[degrees[node]]].add(groups)
    return _ways(tuple(tuple(sorted(options)) for options in needed))


@cache
def _ways(needed: tuple[tuple[int, ...], ...]) -> int:
    """Count the orders of groups in which each comes after all groups that one of its options names."""
    ways = [0] * (1 << len(needed))
    ways[0] = 1
    for present, count in enumerate(ways):
        if count:
            for group, options in enumerate(needed):
                if not present >> group & 1 and any(option & ~present == 0 for option in options):
                    ways[present | 1 << group] += count
    return ways[-1]
