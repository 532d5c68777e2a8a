"""Whether weighing time brings faster graphs: the arithmetic of the comparison, and that a search for each aim keeps what it is told."""

import pytest
from benchmarks.graph_latency import AIMS, Job, Returned, Walls, compared, faster_by_question, faster_by_seed, geometric, reference_s, searched

from multigraft.graphs.graph_file import graph_of


def returned(aim: str, seed: int, quality: float, latency_s: float, units: float) -> Returned:
    return Returned(Job("math-8", "random", aim, seed, 10), "", quality, latency_s, units, 5.0, 10)


def test_an_aim_is_compared_seed_by_seed_and_by_what_it_aims_at() -> None:
    base = [returned("quality", 0, 0.6, 5.0, 40.0), returned("quality", 1, 0.5, 10.0, 40.0)]
    mine = [returned("weight 0.3", 0, 0.55, 2.5, 40.0), returned("weight 0.3", 1, 0.5, 5.0, 10.0)]
    found = compared(mine, base)
    assert found.quality_gain.value == pytest.approx(-0.025)
    assert found.latency_ratio.value == pytest.approx(0.5)
    assert found.units_ratio.value == pytest.approx(0.5), "the geometric mean of 1 and a quarter"
    # 0.3 * 2.5 / 5 and 0.3 * 5 / 5 saved, 0.05 and 0 lost.
    assert found.aim_gain.value == pytest.approx((0.15 - 0.05 + 0.3) / 2)


def test_who_keeps_a_cap_is_counted_on_both_sides() -> None:
    base = [returned("quality", seed, 0.6, latency_s, 40.0) for seed, latency_s in enumerate((3.0, 5.0, 6.0, 7.0))]
    mine = [returned("cap 4 s", seed, 0.5, latency_s, 40.0) for seed, latency_s in enumerate((3.0, 4.0, 3.0, 4.5))]
    found = compared(mine, base)
    assert (found.keeps_cap, found.baseline_keeps_cap) == (0.75, 0.25)
    assert found.aim_gain.value == found.quality_gain.value


def test_ratios_of_walls_are_paired_by_question_or_by_graph() -> None:
    base = [Walls((1.0, 2.0), (1.0, 2.0)), Walls((4.0, 4.0), (4.0, 4.0))]
    mine = [Walls((0.5, 2.0), (0.5, 2.0)), Walls((2.0, 1.0), (2.0, 1.0))]
    by_question = faster_by_question(mine, base)
    # The first question is halved by both, the second as fast by one and a quarter by the other: half again.
    assert by_question.value == pytest.approx(0.5)
    assert by_question.low == by_question.high == pytest.approx(0.5)
    assert faster_by_seed(mine, base).value == pytest.approx(geometric([2.5 / 3.0, 3.0 / 8.0]).value)


def test_a_search_keeps_the_cap_and_the_units_it_is_given() -> None:
    cap_s = AIMS["cap 4 s"].cap_s
    assert cap_s is not None
    assert reference_s("math-8") > cap_s
    fast = searched(Job("math-8", "random", "cap 4 s", 0, 6))
    assert fast.latency_s <= cap_s
    small = searched(Job("math-8", "random", "quality", 0, 6, units=10.0))
    assert small.units <= 10.0
    assert graph_of(small.graph).nodes
    assert searched(Job("math-8", "random", "cap 4 s", 0, 6)) == fast
