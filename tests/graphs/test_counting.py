"""Numbers of graphs: published sequences, formulae against brute force, and the paper's own sequence."""

from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product

import pytest

from multigraft.errors import InputError
from multigraft.graphs.counting import coloured, labelled, one_sink, unlabelled
from multigraft.graphs.paper_count import non_isomorphic, paper_legacy

LABELLED = (1, 3, 25, 543, 29281, 3781503, 1138779265)
UNLABELLED = (1, 2, 6, 31, 302, 5984, 243668, 20286025, 3424938010, 1165948612902, 797561675349580, 1094026876269892596)
ONE_SINK = (1, 2, 15, 316, 16885, 2174586, 654313415)
PAPER = (1, 2, 8, 54, 762, 21542)


def test_labelled() -> None:
    assert tuple(map(labelled, range(1, 8))) == LABELLED
    assert labelled(12) == 521939651343829405020504063


def test_unlabelled() -> None:
    assert tuple(map(unlabelled, range(1, 13))) == UNLABELLED


def test_one_sink() -> None:
    assert tuple(map(one_sink, range(1, 8))) == ONE_SINK


def test_coloured() -> None:
    assert [coloured(nodes, 2) for nodes in range(1, 7)] == [2, 7, 40, 420, 8628, 357468]
    assert [coloured(nodes, 7) for nodes in range(1, 5)] == [7, 77, 1505, 56560]
    assert f"{coloured(12, 2):.2e}" == "4.47e+21"
    assert f"{coloured(12, 7):.2e}" == "1.51e+28"
    assert [coloured(nodes, 1) for nodes in range(1, 13)] == list(UNLABELLED)


def test_no_node() -> None:
    assert (labelled(0), unlabelled(0), coloured(0, 3), one_sink(0), paper_legacy(0)) == (1, 1, 1, 0, 1)


Matrix = frozenset[tuple[int, int]]


def acyclic(num_nodes: int) -> Iterator[Matrix]:
    """Every labelled graph without cycles, from the definition: a pair of nodes is joined one way, the other way, or not."""
    for ways in product((0, 1, 2), repeat=num_nodes * (num_nodes - 1) // 2):
        pairs = zip(combinations(range(num_nodes), 2), ways, strict=True)
        edges = frozenset((a, b) if way == 1 else (b, a) for (a, b), way in pairs if way)
        left = set(range(num_nodes))
        while removable := {node for node in left if not any(target == node and source in left for source, target in edges)}:
            left -= removable
        if not left:
            yield edges


def classes(num_nodes: int, colours: int) -> int:
    seen: set[tuple[Matrix, tuple[int, ...]]] = set()
    count = 0
    for edges in acyclic(num_nodes):
        for colour in product(range(colours), repeat=num_nodes):
            if (edges, colour) not in seen:
                count += 1
                for order in permutations(range(num_nodes)):
                    renamed = frozenset((order[source], order[target]) for source, target in edges)
                    seen.add((renamed, tuple(colour[order.index(node)] for node in range(num_nodes))))
    return count


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 4])
def test_brute_force_counts_the_same(num_nodes: int) -> None:
    graphs = list(acyclic(num_nodes))
    assert len(graphs) == labelled(num_nodes)
    assert sum(len({source for source, _ in edges}) == num_nodes - 1 for edges in graphs) == one_sink(num_nodes)
    assert classes(num_nodes, 1) == unlabelled(num_nodes)
    assert len(non_isomorphic(num_nodes)) == unlabelled(num_nodes)


@pytest.mark.parametrize(("num_nodes", "colours"), [(2, 3), (3, 2), (3, 3)])
def test_brute_force_counts_the_same_colours(num_nodes: int, colours: int) -> None:
    assert classes(num_nodes, colours) == coloured(num_nodes, colours)


def paper_form(num_nodes: int, edges: Matrix) -> tuple[int, ...]:
    """Reduce a matrix as the paper's program is inferred to: groups of equal degrees in the order of their first node, smallest matrix within the groups."""
    groups: dict[tuple[int, int], list[int]] = {}
    for node in range(num_nodes):
        degree = sum(target == node for _, target in edges), sum(source == node for source, _ in edges)
        groups.setdefault(degree, []).append(node)
    forms = []
    for arrangement in product(*(permutations(group) for group in groups.values())):
        order = [node for group in arrangement for node in group]
        forms.append(tuple(int((source, target) in edges) for source in order for target in order))
    return min(forms)


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 4, 5])
def test_the_papers_sequence_is_what_its_enumeration_gives(num_nodes: int) -> None:
    pairs = list(combinations(range(num_nodes), 2))
    forms = set()
    for drawn in product((False, True), repeat=len(pairs)):
        forms.add(paper_form(num_nodes, frozenset(pair for pair, wanted in zip(pairs, drawn, strict=True) if wanted)))
    assert len(forms) == paper_legacy(num_nodes)


def test_one_edge_and_a_node_apart_have_three_forms() -> None:
    assert len({paper_form(3, frozenset({edge})) for edge in ((0, 1), (0, 2), (1, 2))}) == 3


def test_the_papers_sequence() -> None:
    assert tuple(map(paper_legacy, range(1, 7))) == PAPER
    assert len(non_isomorphic(6)) == UNLABELLED[5]


@pytest.mark.slow
def test_the_papers_seventh_number() -> None:
    assert paper_legacy(7) == 1259209


@pytest.mark.parametrize("count", [labelled, unlabelled, one_sink, paper_legacy])
@pytest.mark.parametrize("num_nodes", [-1, 25])
def test_numbers_out_of_reach_are_refused(count: Callable[[int], int], num_nodes: int) -> None:
    with pytest.raises(InputError, match=f"{num_nodes} nodes"):
        count(num_nodes)


def test_the_refusal_of_eight_names_the_way_out() -> None:
    with pytest.raises(InputError, match="--unlabelled"):
        paper_legacy(8)


def test_no_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="0 kinds"):
        coloured(3, 0)
