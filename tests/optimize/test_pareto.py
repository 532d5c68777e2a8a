"""The front of quality, cost and latency, against pairwise comparison, and knees by hand."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.optimize.loop.pareto import Point, front_of, knee_of

points = st.lists(st.builds(Point, *(st.sampled_from([0.0, 0.25, 0.5, 1.0]) for _ in range(3))), max_size=14)


def dominates(one: Point, other: Point) -> bool:
    mine, theirs = ((-point.quality, point.cost or 0.0, point.latency_s or 0.0) for point in (one, other))
    return mine != theirs and all(left <= right for left, right in zip(mine, theirs, strict=True))


@given(points)
@settings(deadline=None, max_examples=150)
def test_the_front_is_what_nothing_dominates(found: list[Point]) -> None:
    front = front_of(found)
    undominated = {point for point in found if not any(dominates(other, point) for other in found)}
    assert {found[place] for place in front} == undominated
    assert len(front) == len(undominated)
    assert [found[place].quality for place in front] == sorted((found[place].quality for place in front), reverse=True)


def test_of_equal_points_the_first_is_on_the_front() -> None:
    assert front_of([Point(0.5, 1.0), Point(0.5, 1.0), Point(0.4, 2.0)]) == (0,)


def test_what_is_not_known_counts_as_worst() -> None:
    assert front_of([Point(0.5, None), Point(0.5, 3.0)]) == (1,)
    assert front_of([Point(0.6), Point(0.5)]) == (0,)


def test_knee_of_a_bent_line() -> None:
    # Scaled, the corner at (0.55, 2) is farthest above the line from (0.6, 10) to (0.2, 1).
    bent = [Point(0.6, 10.0), Point(0.55, 2.0), Point(0.2, 1.0), Point(0.58, 7.0)]
    assert knee_of(bent) == 1
    assert knee_of([point._replace(latency_s=point.cost) for point in bent]) == 1


def test_knee_of_a_plane() -> None:
    # The extremes are the best, the cheapest and the fastest; the fourth is nearly as good as each in its own.
    assert knee_of([Point(1.0, 10.0, 10.0), Point(0.0, 1.0, 10.0), Point(0.0, 10.0, 1.0), Point(0.9, 2.0, 2.0)]) == 3


def test_without_a_bend_the_best_is_the_knee() -> None:
    assert knee_of([Point(0.2, 1.0), Point(0.6, 3.0)]) == 1
    assert knee_of([Point(0.5)]) == 0
    assert knee_of([]) is None


def test_the_knee_does_not_depend_on_units() -> None:
    plain = [Point(quality / 10, cost, seconds) for quality, cost, seconds in product((2, 5, 8), (1.0, 4.0), (1.0, 3.0))]
    front = [plain[place] for place in front_of(plain)]
    scaled = [Point(point.quality, (point.cost or 0.0) * 1000, (point.latency_s or 0.0) / 60) for point in front]
    assert knee_of(front) == knee_of(scaled)


@given(points)
@settings(deadline=None, max_examples=60)
def test_the_knee_is_one_of_the_front(found: list[Point]) -> None:
    front = [found[place] for place in front_of(found)]
    knee = knee_of(front)
    assert (knee is None) == (not found)
    assert knee is None or 0 <= knee < len(front)
