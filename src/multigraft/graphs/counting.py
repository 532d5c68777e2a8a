"""How many directed graphs without cycles there are: with names, without, with one sink, with kinds of nodes.

Source: Robinson, "Counting unlabeled acyclic digraphs", Combinatorial Mathematics V (1977), for the recurrences. The paper's own sequence is in `paper_count`.
"""

from collections.abc import Iterator
from functools import cache
from math import comb, factorial, gcd, prod
from typing import Final

from multigraft.errors import InputError

MOST_NODES: Final = 24
"""The sums over cycle types take two seconds there, and grow fivefold every four nodes."""


def labelled(num_nodes: int) -> int:
    """Count the graphs whose nodes have names.

    Args:
        num_nodes: n; 0 to 24.

    Returns:
        `A(n) = sum over k from 1 to n of (-1)^(k+1) C(n, k) 2^(k (n - k)) A(n - k)`, with A(0) = 1; k is the size of a set of nodes that read nothing.
    """
    return _fixed((_checked(num_nodes),))


def unlabelled(num_nodes: int) -> int:
    """Count the graphs that differ in more than the names of their nodes (the non-isomorphic ones).

    Args:
        num_nodes: n; 0 to 24.

    Returns:
        The mean, over all permutations of the nodes, of the number of graphs a permutation leaves as they are (Burnside's lemma).
    """
    return coloured(num_nodes, 1)


def coloured(num_nodes: int, colours: int) -> int:
    """Count the graphs that differ in more than names, where each node is of one of some kinds, such as models.

    Args:
        num_nodes: n; 0 to 24.
        colours: number of kinds; >= 1.
    """
    if colours < 1:
        message = f"{colours} kinds of nodes are too few; give at least 1"
        raise InputError(message)
    total = 0
    for cycles in _cycle_types(_checked(num_nodes)):
        # All nodes of a cycle are of one kind.
        total += factorial(num_nodes) // _symmetries(cycles) * colours ** sum(cycles) * _fixed(cycles)
    return total // factorial(num_nodes)


def one_sink(num_nodes: int) -> int:
    """Count the graphs with names in which exactly one node is read by nobody.

    Args:
        num_nodes: n; 0 to 24. There is none with no node.
    """
    return _by_sinks(_checked(num_nodes), 1) if num_nodes else 0


def _checked(num_nodes: int) -> int:
    if not 0 <= num_nodes <= MOST_NODES:
        message = f"{num_nodes} nodes cannot be counted; give 0 to {MOST_NODES}"
        raise InputError(message)
    return num_nodes


@cache
def _by_sinks(num_nodes: int, sinks: int) -> int:
    """Count the labelled graphs with exactly some sinks: without these, m sinks remain, each read by at least one of them."""
    rest = num_nodes - sinks
    if not rest:
        return 1
    ways: int = sum((2**sinks - 1) ** others * 2 ** (sinks * (rest - others)) * _by_sinks(rest, others) for others in range(1, rest + 1))
    return comb(num_nodes, sinks) * ways


def _cycle_types(num_nodes: int) -> Iterator[tuple[int, ...]]:
    """Yield, for every cycle type of a permutation, the number of its cycles of length 1, 2, and so on."""

    def grow(length: int, left: int) -> Iterator[tuple[int, ...]]:
        if not left:
            yield ()
        elif length <= left:
            for count in range(left // length + 1):
                for longer in grow(length + 1, left - count * length):
                    yield (count, *longer)

    yield from grow(1, num_nodes)


def _symmetries(cycles: tuple[int, ...]) -> int:
    return prod(length**count * factorial(count) for length, count in enumerate(cycles, 1))


@cache
def _fixed(cycles: tuple[int, ...]) -> int:
    """Count the labelled graphs that a permutation with some cycles leaves as they are.

    No edge joins two nodes of one cycle, or the graph would have a cycle; so whole cycles play the part of nodes in the recurrence of `labelled`. Between two
    cycles of lengths a and b there are gcd(a, b) sets of edges, of which each is there or not.
    """
    if not any(cycles):
        return 1
    total = 0
    for first in _sub_multisets(cycles):
        if not any(first):
            continue
        rest = tuple(all_ - part for all_, part in zip(cycles, first, strict=True))
        choices = prod(comb(all_, part) for all_, part in zip(cycles, first, strict=True))
        edges = sum(part * left * gcd(a, b) for a, part in enumerate(first, 1) if part for b, left in enumerate(rest, 1) if left)
        total += (-1) ** (sum(first) + 1) * choices * 2**edges * _fixed(rest)
    return total


def _sub_multisets(cycles: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not cycles:
        yield ()
        return
    for count in range(cycles[0] + 1):
        for rest in _sub_multisets(cycles[1:]):
            yield (count, *rest)
