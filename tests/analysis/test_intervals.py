"""Intervals: hand-computed values, repeatable draws, and how often they hold the truth."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.analysis.intervals import Bootstrap, Estimate, bootstrap_mean, estimate_of, quantile, resampled_means, resamples, signs, wilson
from multigraft.randomness import Draws


def test_wilson_by_hand() -> None:
    # 8 of 10: (0.8 + 1.9208/10 +- 1.96 sqrt(0.016 + 3.8415/400)) / (1 + 3.8415/10)
    assert (wilson(8, 10).low, wilson(8, 10).high) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    assert (wilson(0, 10).low, wilson(0, 10).high) == pytest.approx((0.0, 0.277533), abs=1e-6)
    assert wilson(10, 10).high == 1.0


def test_a_quantile_lies_between_two_values_in_proportion() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.25) == 1.5
    assert (quantile([5.0], 0.9), quantile([1.0, 2.0], 1.0)) == (5.0, 2.0)


def test_draws_are_the_same_everywhere_and_for_ever() -> None:
    assert list(resamples(5, Bootstrap(2, 7))) == [(1, 4, 1, 4, 1), (2, 0, 2, 2, 0)]
    assert list(resamples(5, Bootstrap(2, 7))) != list(resamples(5, Bootstrap(2, 8)))


def test_draws_are_even() -> None:
    counts = [0] * 3
    for drawn in resamples(3, Bootstrap(3000)):
        for index in drawn:
            counts[index] += 1
    assert all(2850 < count < 3150 for count in counts)
    flips = [sign for drawn in signs(4, Bootstrap(1000)) for sign in drawn]
    assert set(flips) == {1, -1}
    assert abs(sum(flips)) < 190  # three standard deviations of 4000 signs


def test_columns_are_resampled_together() -> None:
    first, second = resampled_means([[1.0, 2.0, 4.0], [11.0, 12.0, 14.0]], Bootstrap(50))
    assert [after - before for before, after in zip(first, second, strict=True)] == pytest.approx([10.0] * 50)


def test_one_prompt_tells_nothing_of_the_spread() -> None:
    assert bootstrap_mean([3.0]) == Estimate(3.0, None, None, 1)
    assert bootstrap_mean([]) is None
    assert estimate_of([]) is None


def test_zeros_and_ones_go_by_wilson() -> None:
    assert estimate_of([1.0] * 10) == wilson(10, 10)
    assert estimate_of([0.5] * 10) == Estimate(0.5, 0.5, 0.5, 10)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=2, max_size=12))
def test_an_interval_lies_within_the_values_and_around_the_mean(values: list[float]) -> None:
    found = bootstrap_mean(values, Bootstrap(200))
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found.low - 1e-9 <= max(values)


def test_the_interval_of_a_mean_holds_the_truth_nineteen_times_in_twenty() -> None:
    draws = Draws("coverage")
    held = 0
    for _ in range(200):
        found = bootstrap_mean([draws.uniform() ** 2 for _ in range(40)], Bootstrap(200))
        assert found is not None
        held += (found.low or 0.0) <= 1 / 3 <= (found.high or 0.0)
    assert 180 <= held <= 198
