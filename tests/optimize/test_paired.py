"""Paired comparisons: against hand-computed and published values, and in simulations."""

from collections.abc import Callable
from itertools import product
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.optimize.loop.paired import estimated_mean, flip_p_value, is_worse, paired, spent_level, standard_error
from multigraft.randomness import Draws


def table(both: int, only_a: int, only_b: int, neither: int) -> tuple[list[float], list[float]]:
    a_values = [1.0] * (both + only_a) + [0.0] * (only_b + neither)
    b_values = [1.0] * both + [0.0] * only_a + [1.0] * only_b + [0.0] * neither
    return a_values, b_values


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([1.0] * 6, 2 / 64),  # six of six
        ([1.0] * 7 + [-1.0], 2 * (1 + 8) / 256),
        ([0.0] * 20 + [-1.0] * 5, 2 / 32),  # ties say nothing
        ([1.0, -1.0], 1.0),
        ([0.0] * 8, 1.0),
        ([], 1.0),
        ([0.5, 0.25], 0.5),  # of four sums, 0.75 and -0.75 are as far from 0
        ([3.0, 2.0, 1.0], 2 / 8),
        ([3.0, 2.0, -1.0], 4 / 8),  # 6, 4, and their mirror images
    ],
)
def test_p_values_by_hand(differences: list[float], expected: float) -> None:
    assert flip_p_value(differences) == pytest.approx(expected)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
@settings(deadline=None, max_examples=60)
def test_p_values_count_all_signs(steps: list[int]) -> None:
    total = abs(sum(steps))
    sums = [sum(sign * abs(step) for sign, step in zip(signs, steps, strict=True)) for signs in product((1, -1), repeat=len(steps))]
    expected = sum(1 for value in sums if abs(value) >= total) / len(sums)
    # Quarters of the largest are whole 256ths, so nothing is rounded; sizes in thirds are.
    if max(map(abs, steps)) in {0, 1, 2, 4}:
        assert flip_p_value([step / 4 for step in steps]) == pytest.approx(expected)


def test_many_differences_are_as_good_as_normal() -> None:
    draws = Draws("normal")
    few = [draws.uniform() - 0.45 for _ in range(200)]
    assert flip_p_value(few) == pytest.approx(flip_p_value([*few, 1e-9]), rel=0.05)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((20, 12, 2, 16), 0.0562, 0.3292),  # Newcombe 1998
        ((1, 1, 7, 12), -0.5069, -0.0256),  # Bentur et al. 2009, airway hyper-responsiveness
    ],
)
def test_published_intervals_of_paired_shares(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    found = paired(*table(*counts))
    # The exact test of the second is at 0.07, so its interval is made to hold 0.
    assert found.low == pytest.approx(low, abs=1e-4)
    assert found.high == pytest.approx(high if counts[0] == 20 else 0.0, abs=1e-4)
    assert found.decided == ("better" if counts[0] == 20 else "undecided")


def test_equal_graphs_on_few_questions_are_not_known_to_be_equal() -> None:
    found = paired(*table(4, 0, 0, 4))
    assert (found.difference, found.decided) == (0.0, "undecided")
    assert found.low < -0.1
    assert found.high > 0.1
    graded = paired([0.5, 0.2, 0.9] * 4, [0.5, 0.2, 0.9] * 4)
    assert graded.high == pytest.approx(1 - 0.025 ** (1 / 12))
    assert graded.low == -graded.high


def test_too_few_graded_questions_have_no_ends() -> None:
    found = paired([0.1, 0.5, 0.9], [0.0, 0.2, 0.3])
    assert (found.low, found.high, found.decided) == (-inf, inf, "undecided")


def test_a_known_shift_moves_the_interval_and_not_the_spread() -> None:
    plain, moved = paired(*table(8, 3, 3, 6)), paired(*table(8, 3, 3, 6), shift=0.4)
    assert moved.difference == pytest.approx(plain.difference + 0.4)
    assert (moved.low, moved.high) == pytest.approx((plain.low + 0.4, plain.high + 0.4))
    assert moved.decided == "better"
    assert is_worse(*table(8, 3, 3, 6), level=0.025, shift=-0.4)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.sampled_from([0.0, 0.3, 0.5, 1.0])), min_size=1, max_size=25))
@settings(deadline=None, max_examples=60)
def test_turned_round_it_says_the_opposite(pairs: list[tuple[float, float]]) -> None:
    a_values, b_values = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    one, other = paired(a_values, b_values), paired(b_values, a_values)
    assert one.difference == pytest.approx(-other.difference)
    assert one.low == pytest.approx(-other.high, abs=1e-5)
    assert {one.decided, other.decided} in ({"undecided"}, {"better", "worse"})
    assert (one.low <= 0 <= one.high) == (one.decided == "undecided")
    assert one.low <= one.difference <= one.high


def binary(draws: Draws) -> tuple[float, float]:
    question = draws.uniform()
    return tuple(float((question if draws.uniform() < 0.5 else draws.uniform()) < 0.5) for _ in range(2))  # type: ignore[return-value]  # two of them


def graded(draws: Draws) -> tuple[float, float]:
    question = draws.uniform()
    return (question + draws.uniform()) / 2, (question + draws.uniform()) / 2


@pytest.mark.parametrize("world", [binary, graded])
@pytest.mark.parametrize("count", [8, 20, 40])
def test_alike_graphs_are_rarely_called_different(world: Callable[[Draws], tuple[float, float]], count: int) -> None:
    simulations, wrong = 400, 0
    for seed in range(simulations):
        draws = Draws("alike", world.__name__, count, seed)
        pairs = [world(draws) for _ in range(count)]
        wrong += flip_p_value([one - other for one, other in pairs]) <= 0.05
    # 5% and three standard errors of 400 simulations.
    assert wrong / simulations <= 0.05 + 3 * (0.05 * 0.95 / simulations) ** 0.5


def test_intervals_hold_a_true_difference() -> None:
    simulations, held = 300, 0
    for seed in range(simulations):
        draws = Draws("held", seed)
        pairs = [(float(draws.uniform() < 0.7), float(draws.uniform() < 0.4)) for _ in range(20)]
        found = paired([pair[0] for pair in pairs], [pair[1] for pair in pairs])
        held += found.low <= 0.3 <= found.high
    assert held / simulations >= 0.95 - 3 * (0.05 * 0.95 / simulations) ** 0.5


def test_levels_of_all_challenges_sum_to_what_may_be_spent() -> None:
    assert spent_level(1) == pytest.approx(0.025)
    assert sum(spent_level(number) for number in range(1, 10_000)) == pytest.approx(0.05, abs=1e-5)


def test_intervals_for_several_at_once_are_wider() -> None:
    one, nine = estimated_mean([1.0] * 12 + [0.0] * 8), estimated_mean([1.0] * 12 + [0.0] * 8, at_once=9)
    assert one is not None
    assert nine is not None
    assert one.low is not None
    assert one.high is not None
    assert nine.low is not None
    assert nine.high is not None
    assert (one.low, one.high) == pytest.approx((0.3866, 0.7812), abs=1e-4)  # Wilson's
    assert nine.low < one.low < one.value < one.high < nine.high
    assert estimated_mean([]) is None
    assert estimated_mean([0.3]) is not None


def test_standard_error_by_hand() -> None:
    assert standard_error([1.0, 0.0, 1.0], [0.0, 0.0, 0.0]) == pytest.approx((1 / 3 / 3) ** 0.5)
    assert standard_error([1.0], [0.0]) == 0.0


def test_nothing_to_compare_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        paired([], [])
    with pytest.raises(ValueError, match="not 1 and 2"):
        paired([1.0], [1.0, 0.0])
