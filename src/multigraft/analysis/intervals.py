"""Intervals of 95%: the bootstrap over prompts, and Wilson's for shares.

All draws are keyed, so the same record and seed give the same interval on any machine and in any version.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from math import sqrt
from typing import Final

Z = 1.959963984540054
"""Quantile 0.975 of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How prompts are drawn again."""

    num_resamples: int = 1000
    seed: int = 0
    """The same gives the same draws."""


DEFAULT: Final = Bootstrap()


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with the interval it lies in with 95% confidence."""

    value: float
    low: float | None
    """None: fewer than two prompts say nothing of their spread."""
    high: float | None
    count: int
    """Prompts it stands on; >= 1."""


def resamples(count: int, bootstrap: Bootstrap = DEFAULT) -> Iterator[tuple[int, ...]]:
    """Draw, again and again, as many of `count` prompts as there are, with replacement.

    Args:
        count: of prompts, in [1, 2**32).
        bootstrap: how often, and by which seed.

    Yields:
        Indices in [0, count). A remainder of 32 random bits is scaled, so some indices are likelier than others by at most one part in 2**32 / count.
    """
    for index in range(bootstrap.num_resamples):
        bits = shake_256(f"resample:{bootstrap.seed}:{count}:{index}".encode()).digest(4 * count)
        yield tuple((drawn * count) >> 32 for drawn in struct.unpack(f"<{count}I", bits))


def signs(count: int, bootstrap: Bootstrap = DEFAULT) -> Iterator[tuple[int, ...]]:
    """Draw a sign, 1 or -1, for each of `count` prompts, as often as there are resamples."""
    for index in range(bootstrap.num_resamples):
        drawn = shake_256(f"signs:{bootstrap.seed}:{count}:{index}".encode()).digest(count)
        yield tuple(1 - 2 * (byte & 1) for byte in drawn)


def resampled_means(columns: Sequence[Sequence[float]], bootstrap: Bootstrap = DEFAULT) -> list[list[float]]:
    """Bootstrap the means of several columns over the same prompts: a resample takes the same prompts in each column, so differences are paired.

    Args:
        columns: of equal lengths, one value for each prompt; at least one prompt.
        bootstrap: how many, and by which seed.

    Returns:
        For each column, the means in the order of the resamples.
    """
    means: list[list[float]] = [[] for _ in columns]
    count = len(columns[0]) if columns else 0
    for drawn in resamples(count, bootstrap) if columns else ():
        for column, found in zip(columns, means, strict=True):
            found.append(sum(map(column.__getitem__, drawn)) / count)
    return means


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share lies, between two values in proportion.

    Args:
        values: at least one, in any order.
        share: in [0, 1].
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return sum(values) / len(values)


def estimated(value: float, resampled: Sequence[float], count: int) -> Estimate:
    """Put an estimate together from what it is in the resamples: the percentile interval.

    Source:
        Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 13.3.
    """
    if count < 2 or not resampled:
        return Estimate(value, None, None, count)
    return Estimate(value, quantile(resampled, 0.025), quantile(resampled, 0.975), count)


def bootstrap_mean(values: Sequence[float], bootstrap: Bootstrap = DEFAULT) -> Estimate | None:
    """Estimate a mean over prompts; None without any."""
    if not values:
        return None
    (resampled,) = resampled_means([values], bootstrap)
    return estimated(mean(values), resampled, len(values))


def mean_estimate(values: Sequence[float], resampled: Sequence[float]) -> Estimate:
    """Estimate a mean over at least one prompt: by Wilson where every value is 0 or 1, by the resamples elsewhere."""
    if set(values) <= {0.0, 1.0}:
        return wilson(round(sum(values)), len(values))
    return estimated(mean(values), resampled, len(values))


def wilson(successes: int, count: int) -> Estimate:
    """Estimate a share; the interval does not shrink to a point where all or none succeed.

    Args:
        successes: in [0, count].
        count: >= 1.

    Source:
        Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927).
    """
    share = successes / count
    middle = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z / (1 + Z * Z / count) * sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    low = middle - half if successes > 0 else 0.0
    high = middle + half if successes < count else 1.0
    return Estimate(share, low, high, count)


def estimate_of(values: Sequence[float], bootstrap: Bootstrap = DEFAULT) -> Estimate | None:
    """Estimate a mean over prompts: by Wilson where every value is 0 or 1, by the bootstrap elsewhere; None without any value."""
    return wilson(round(sum(values)), len(values)) if values and set(values) <= {0.0, 1.0} else bootstrap_mean(values, bootstrap)
