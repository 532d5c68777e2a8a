"""Mixes of models that fill a budget of nodes: the numbers of arXiv 2511.00086 and its public code."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimize.methods.spaces import space_for

from multigraft.optimize.combinations import combos, drawn_combo, node_costs, num_combos, sparse_node_budget
from multigraft.randomness import Draws

FOUR = (1, 3, 9, 81)
SEVEN = (1, 3, 9, 81, 1, 3, 9)


def test_the_mixes_of_a_budget_of_nine_nodes() -> None:
    assert combos(FOUR, 9) == ((9, 0, 0, 0), (6, 1, 0, 0), (3, 2, 0, 0), (0, 3, 0, 0), (0, 0, 1, 0))


@pytest.mark.parametrize(("costs", "budget", "number"), [(FOUR, 4, 2), (FOUR, 8, 3), (FOUR, 12, 7), (SEVEN, 4, 9), (SEVEN, 8, 30), (SEVEN, 12, 87)])
def test_how_many_mixes_fill_a_budget(costs: tuple[int, ...], budget: int, number: int) -> None:
    assert num_combos(costs, budget) == number
    assert len(set(combos(costs, budget))) == number


def test_what_cannot_be_filled_has_the_least_left_over() -> None:
    assert combos((3, 5), 7) == ((2, 0),)
    assert combos((3, 5), 2) == ((0, 0),)
    assert combos((3,), 0) == ((0,),)


def test_a_limit_of_nodes_makes_dear_models_fill_the_budget() -> None:
    assert combos(FOUR, 9, most_nodes=3) == ((0, 3, 0, 0), (0, 0, 1, 0))
    assert combos(FOUR, 12, most_nodes=1) == ((0, 0, 1, 0),)
    assert combos(FOUR, 12, most_nodes=0) == ((0, 0, 0, 0),)


@settings(deadline=None, max_examples=60)
@given(costs=st.lists(st.integers(1, 9), min_size=1, max_size=4), budget=st.integers(0, 14), most=st.one_of(st.none(), st.integers(0, 6)))
def test_mixes_are_those_of_brute_force(costs: list[int], budget: int, most: int | None) -> None:
    ranges = [range(budget // cost + 1) for cost in costs]
    fitting = [
        counts
        for counts in product(*ranges)
        if sum(count * cost for count, cost in zip(counts, costs, strict=True)) <= budget and (most is None or sum(counts) <= most)
    ]
    fullest = max(sum(count * cost for count, cost in zip(counts, costs, strict=True)) for counts in fitting)
    expected = [counts for counts in fitting if sum(count * cost for count, cost in zip(counts, costs, strict=True)) == fullest]
    assert combos(costs, budget, most_nodes=most) == tuple(sorted(expected, reverse=True))


def test_each_mix_is_drawn_as_often() -> None:
    draws = Draws("mixes")
    drawn = [drawn_combo(FOUR, 9, draws) for _ in range(1000)]
    counts = [drawn.count(combo) for combo in combos(FOUR, 9)]
    assert sum(counts) == 1000
    # 200 each, standard deviation 12.6.
    assert all(140 < count < 260 for count in counts)


@pytest.mark.parametrize(("costs", "budget"), [((), 3), ((0, 1), 3), ((1,), -1)])
def test_what_makes_no_sense_is_refused(costs: tuple[int, ...], budget: int) -> None:
    with pytest.raises(ValueError, match="at least"):
        combos(costs, budget)


def test_nodes_count_by_what_they_cost() -> None:
    assert node_costs(space_for(num_models=4)) == (1, 3, 8, 70)
    assert node_costs(space_for(num_models=4, units=None)) == (1, 3, 8, 70)


def test_how_many_nodes_fit_with_few_edges() -> None:
    # A medium sink costs 3 and 0.3 for each node it reads; a small agent 1, and 0.1 for each.
    space = space_for(units=8.2, max_agents=9)
    # 3 parallel: 3 + 0.9 + 3 = 6.9; 4: 3 + 1.2 + 4 = 8.2, to the last bit.
    assert sparse_node_budget(space, space.sinks[0]) == 4
    assert sparse_node_budget(space_for(units=3.0), space.sinks[0]) == 0


@settings(deadline=None, max_examples=30)
@given(units=st.floats(3.0, 60.0), max_in_degree=st.integers(1, 5), max_agents=st.integers(0, 9))
def test_no_more_nodes_fit(units: float, max_in_degree: int, max_agents: int) -> None:
    space = space_for(units=units, max_in_degree=max_in_degree, max_agents=max_agents)
    sparse = sparse_node_budget(space, space.sinks[0])
    assert 0 <= sparse <= 8 * max_agents
    # The agents alone, and the sink reading one of them.
    assert sparse == 0 or sparse + 3.3 <= units * (1 + 1e-9)
