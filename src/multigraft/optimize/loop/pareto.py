"""Which graphs no other beats in everything: the front over quality, cost and latency, and its knee."""

from collections.abc import Sequence
from math import inf, sqrt
from typing import NamedTuple


class Point(NamedTuple):
    """What a graph is worth, and what it takes. None: not known, which counts as the worst unless it is known of no graph."""

    quality: float
    """Higher is better."""
    cost: float | None = None
    """Lower is better."""
    latency_s: float | None = None
    """Lower is better."""


def front_of(points: Sequence[Point]) -> tuple[int, ...]:
    """Return the places of the points that no other dominates: is as good in all three and better in one. Of equal points the first is taken.

    Args:
        points: in any order.

    Returns:
        By falling quality, then rising cost and latency.
    """
    losses = [_losses(point) for point in points]
    order = sorted(range(len(points)), key=lambda place: (losses[place], place))
    front: list[int] = []
    for place in order:
        # Sorted by the first loss, so only points that come earlier can dominate.
        if not any(all(one <= other for one, other in zip(losses[kept], losses[place], strict=True)) for kept in front):
            front.append(place)
    return tuple(front)


def knee_of(points: Sequence[Point]) -> int | None:
    """Return the place of the knee of a front: beyond it, quality gets dear, and below it, savings cost much quality.

    All three are scaled to [0, 1] over the front. The knee lies farthest, towards the better side, from the plane through the three extremes (highest quality,
    lowest cost, lowest latency); where these do not span a plane, as where the cheapest graph is also the fastest, from the line between the best and the
    cheapest, with the mean of scaled cost and latency as cost. Ties go to the higher quality.

    Args:
        points: a front, in any order; places that `front_of` returned, looked up.

    Returns:
        None without points.

    Source:
        Das, "On characterizing the 'knee' of the Pareto curve based on normal-boundary intersection" (Structural Optimization 18, 1999).
    """
    if not points:
        return None
    scaled = _scaled([_losses(point) for point in points])
    order = sorted(range(len(points)), key=lambda place: (scaled[place], place))
    extremes = [min((scaled[place][axis], sum(scaled[place]), rank, place) for rank, place in enumerate(order))[-1] for axis in range(3)]
    # Of an axis on which all are equal there is no extreme.
    spread = all(len({loss[axis] for loss in scaled}) > 1 for axis in range(3))
    normal = _normal(*(scaled[place] for place in extremes)) if spread else None
    if normal is None:
        return _knee_of_a_line(scaled, order)
    start = scaled[extremes[0]]
    return max(order, key=lambda place: round(sum(part * (end - at) for part, end, at in zip(normal, start, scaled[place], strict=True)), 12))


_Losses = tuple[float, float, float]


def _losses(point: Point) -> _Losses:
    return (-point.quality, inf if point.cost is None else point.cost, inf if point.latency_s is None else point.latency_s)


def _scaled(losses: Sequence[_Losses]) -> list[_Losses]:
    columns = [_scaled_column([loss[axis] for loss in losses]) for axis in range(3)]
    return list(zip(*columns, strict=True))


def _scaled_column(column: Sequence[float]) -> list[float]:
    known = [value for value in column if value != inf]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if high <= low:
        return [1.0 if value == inf and known else 0.0 for value in column]
    return [1.0 if value == inf else (value - low) / (high - low) for value in column]


def _normal(one: _Losses, two: _Losses, three: _Losses) -> _Losses | None:
    """Return the unit normal of the plane through three points that points away from the better side; None: they span no plane with such a normal."""
    u = [end - start for start, end in zip(one, two, strict=True)]
    v = [end - start for start, end in zip(one, three, strict=True)]
    crossed = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    length = sqrt(sum(part * part for part in crossed))
    if length < 1e-9:
        return None
    sign = 1.0 if sum(crossed) > 0 else -1.0
    normal = (sign * crossed[0] / length, sign * crossed[1] / length, sign * crossed[2] / length)
    # With a negative part, being worse somewhere would count as being better.
    return normal if min(normal) >= -1e-9 else None


def _knee_of_a_line(scaled: Sequence[_Losses], order: Sequence[int]) -> int:
    flat = [(loss[0], (loss[1] + loss[2]) / 2) for loss in scaled]
    best = min(order, key=lambda place: flat[place])
    cheapest = min(order, key=lambda place: (flat[place][1], flat[place][0]))
    across, up = flat[cheapest][0] - flat[best][0], flat[cheapest][1] - flat[best][1]
    # The direction is (+, -): quality is lost while cost is saved, so (-up, across) points to the worse side.
    return max(order, key=lambda place: round(-up * (flat[best][0] - flat[place][0]) + across * (flat[best][1] - flat[place][1]), 12))
