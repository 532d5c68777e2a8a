import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multigraft.knowledge import Knowledge, Moments


def moments_of(values: list[float]) -> Moments:
    moments = Moments()
    for value in values:
        moments.add(value)
    return moments


def test_mean_and_spread_by_hand() -> None:
    moments = moments_of([2.0, 4.0, 9.0])
    assert (moments.count, moments.mean) == (3, 5.0)
    assert moments.spread == pytest.approx(math.sqrt((9 + 1 + 16) / 2))
    assert moments.standardised(5.0) == 0.0
    assert moments.standardised(5.0 + math.sqrt(13.0)) == pytest.approx(1.0)


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0, 3.0]])
def test_no_spread_means_no_scale(values: list[float]) -> None:
    moments = moments_of(values)
    assert moments.spread is None
    assert moments.standardised(1e9) == 0.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_moments_agree_with_the_two_pass_formulas(values: list[float]) -> None:
    moments = moments_of(values)
    assert moments.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert (moments.spread or 0.0) == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-3)


def test_a_small_spread_on_a_large_offset_is_kept() -> None:
    moments = moments_of([1e9, 1e9 + 1.0, 1e9 + 2.0])
    assert moments.spread == pytest.approx(1.0)


def test_values_that_overflow_leave_no_spread() -> None:
    assert moments_of([1e308, -1e308, 1e308]).spread is None


def test_knowledge_keeps_quantities_apart_and_leaves_out_what_is_not_finite() -> None:
    knowledge = Knowledge()
    for value in (1.0, math.nan, math.inf, -math.inf, 3.0):
        knowledge.add("reward", value)
    knowledge.add("length", 7.0)
    assert (knowledge.of("reward").count, knowledge.of("reward").mean) == (2, 2.0)
    assert knowledge.of("length").count == 1


def test_asking_for_what_was_never_seen_changes_nothing() -> None:
    knowledge = Knowledge()
    assert knowledge.of("reward") == Moments()
    assert knowledge == Knowledge()
