"""Is one graph better than another? Both are asked the same questions, so the differences question by question decide.

The test is exact: under the hypothesis that both graphs are alike, the sign of each difference is a fair coin's. No large sample and no distribution of
scores is assumed, which matters at 8 to 50 questions that are right or wrong. Looking often is paid for by the level that the caller gives:

- Rungs: a share of `SearchSettings.drop_level` for each look (Bonferroni).
- Challengers of the incumbent, whose number nobody knows beforehand: `spent_level`.
- The report, where the number is known: the level over the number of rivals (Bonferroni).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, erfc, inf, sqrt
from statistics import NormalDist
from typing import Final, Literal, TypeAlias

from multigraft.analysis.intervals import Estimate, bootstrap_mean

Decided: TypeAlias = Literal["better", "worse", "undecided"]

LEVEL: Final = 0.05
"""Two-sided: how often two graphs that are alike may be called different."""
_STEPS: Final = 256
"""Differences that are not all of one size are compared in this many steps of the largest."""
_MOST_EXACT: Final = 200
"""Above so many differences of several sizes, their sum is as good as normal."""
_HALVINGS: Final = 24
"""An end of an interval is found to one part in 2**24 of where it may lie."""


@dataclass(frozen=True, slots=True)
class Paired:
    """One graph compared with another on the same questions."""

    difference: float
    """Mean of the first minus mean of the second."""
    low: float
    """The interval of the difference, at the level asked for; it holds 0 exactly where nothing is decided."""
    high: float
    decided: Decided
    count: int
    """Questions that both have a score on; >= 1."""


def paired(a_values: Sequence[float], b_values: Sequence[float], *, level: float = LEVEL, shift: float = 0.0) -> Paired:
    """Compare two graphs on the same questions.

    Right and wrong: Newcombe's interval of a difference of paired shares, which has a width also where the graphs agree on all questions, and McNemar's exact
    test. Others: the differences that the sign-flip test, moved by them, does not reject. Where test and interval disagree, nothing is decided, and the
    interval is made to hold 0.

    Args:
        a_values: of the first graph, one for each question; at least one.
        b_values: of the second, for the same questions.
        level: two-sided, in (0, 1).
        shift: what the first graph is ahead by on every question whatever it answers, such as the price it saves. Apart from the values, because shares with a
            known shift have an interval that is right, and the test of signs supposes that differences are as likely up as down, which such values are not.

    Returns:
        The difference, its interval, and whether the first is better.

    Raises:
        ValueError: the lengths differ, or there is no question.

    Source:
        Newcombe, "Improved confidence intervals for the difference between binomial proportions based on paired data" (Statistics in Medicine 17, 1998),
        method 10. McNemar (Psychometrika 12, 1947), in its exact form. For the interval by inversion: Ernst, "Permutation methods: a basis for exact
        inference" (Statistical Science 19, 2004).
    """
    differences = _differences(a_values, b_values)
    count = len(differences)
    difference = sum(differences) / count
    shares = {*a_values, *b_values} <= {0.0, 1.0}
    if shares:
        low, high = _newcombe(a_values, b_values, level)
    elif max(differences) - min(differences) <= 1e-12:
        # No two questions differ, so nothing is known but that a question which would is rare.
        half = 1.0 - (level / 2) ** (1.0 / count)
        low, high = difference - half, difference + half
    else:
        low, high = _end(differences, level, -1.0), _end(differences, level, 1.0)
    low, high = low + shift, high + shift
    if (not shares or not shift) and flip_p_value([value + shift for value in differences]) > level:
        low, high = min(low, 0.0), max(high, 0.0)
    decided: Decided = "better" if low > 0 else "worse" if high < 0 else "undecided"
    return Paired(difference + shift, low, high, decided, count)


def is_worse(a_values: Sequence[float], b_values: Sequence[float], *, level: float, shift: float = 0.0) -> bool:
    """Whether the first is worse, at a one-sided level in (0, 0.5): as `paired` decides, without the interval where the test alone says it."""
    if shift:
        return paired(a_values, b_values, level=2 * level, shift=shift).decided == "worse"
    differences = _differences(a_values, b_values)
    return sum(differences) < 0 and flip_p_value(differences) <= 2 * level


def flip_p_value(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of the sign-flip test: how often coin flips in place of the signs bring a sum as far from 0.

    Where all differences are of one size this is McNemar's exact test. Elsewhere the differences are rounded to 1/256 of the largest, which leaves the test
    exact, as that of the rounded sum. More than 200 differences of several sizes are taken as normal.

    Args:
        differences: one for each question.

    Returns:
        In (0, 1]; 1 where there is no difference.
    """
    largest = max((abs(value) for value in differences), default=0.0)
    if largest == 0:
        return 1.0
    sizes = {abs(value) for value in differences if value}
    alike = max(sizes) - min(sizes) <= 1e-9 * largest
    steps = 1 if alike else _STEPS
    weights = [round(value / largest * steps) for value in differences]
    weights = [weight for weight in weights if weight]
    total = abs(sum(weights))
    if alike:
        count = len(weights)
        as_far = sum(comb(count, wins) for wins in range((count + total) // 2, count + 1))
        return min(1.0, 2 * as_far / (1 << count))
    if len(weights) > _MOST_EXACT:
        return erfc(total / sqrt(2 * sum(weight * weight for weight in weights)))
    return _tail([abs(weight) for weight in weights], total)


def spent_level(number: int, level: float = LEVEL) -> float:
    """Return the level of the challenge number `number`: level / (number * (number + 1)), which sums to `level` however many there will be.

    Args:
        number: from 1.
        level: of all together.

    Source:
        Alpha-spending as in Foster and Stine, "Alpha-investing" (JRSS B 70, 2008), section 2, with a fixed series.
    """
    return level / (number * (number + 1))


def estimated_mean(values: Sequence[float], *, at_once: int = 1) -> Estimate | None:
    """Estimate a mean by an interval that holds for several graphs at once, so that it is fair to look at the best of them.

    Right or wrong: Wilson's interval; others: the bootstrap, whose standard error is taken to the level asked for.

    Args:
        values: one for each question.
        at_once: graphs whose intervals are to hold together with 95% confidence (Bonferroni); >= 1.

    Returns:
        None without any value.
    """
    if not values:
        return None
    count, value = len(values), sum(values) / len(values)
    z = _quantile(LEVEL / at_once)
    if set(values) <= {0.0, 1.0}:
        low, high = _wilson(value, count, z)
        return Estimate(value, low, high, count)
    found = bootstrap_mean(values)
    if found is None or found.low is None or found.high is None:
        return Estimate(value, None, None, count)
    wider = z / _quantile(LEVEL)
    return Estimate(value, value - (value - found.low) * wider, value + (found.high - value) * wider, count)


def standard_error(a_values: Sequence[float], b_values: Sequence[float]) -> float:
    """Return the standard error of the mean difference; 0 for fewer than two questions."""
    differences = _differences(a_values, b_values)
    count = len(differences)
    if count < 2:
        return 0.0
    middle = sum(differences) / count
    return sqrt(sum((value - middle) ** 2 for value in differences) / (count - 1) / count)


def _differences(a_values: Sequence[float], b_values: Sequence[float]) -> list[float]:
    if not a_values or len(a_values) != len(b_values):
        message = f"paired values need at least one question, and as many of one as of the other, not {len(a_values)} and {len(b_values)}"
        raise ValueError(message)
    return [a_value - b_value for a_value, b_value in zip(a_values, b_values, strict=True)]


def _tail(weights: Sequence[int], total: int) -> float:
    """Count the signs that bring a sum of at least `total`, twice over.

    The counts by sum are digits of one large integer: adding a weight is a shift and a sum. A digit never overflows, and the sum of digits is a remainder.
    """
    digit_bits = len(weights) + 2
    counts = 1
    for weight in weights:
        counts += counts << (2 * weight * digit_bits)
    # Digit s holds how often the weights with a plus sum to s / 2; the signed sum is s - sum(weights).
    tail = counts >> ((total + sum(weights)) * digit_bits)
    return min(1.0, 2 * (tail % ((1 << digit_bits) - 1)) / (1 << len(weights)))


def _end(differences: Sequence[float], level: float, side: float) -> float:
    """Find the last difference to one side that the test does not reject."""
    middle = sum(differences) / len(differences)
    spread = max(abs(value - middle) for value in differences)
    inside, outside = middle, middle + side * 2 * spread
    if flip_p_value([value - outside for value in differences]) > level:
        # Too few questions to reject anything at this level.
        return side * inf
    for _ in range(_HALVINGS):
        between = (inside + outside) / 2
        if flip_p_value([value - between for value in differences]) > level:
            inside = between
        else:
            outside = between
    return inside


def _newcombe(a_values: Sequence[float], b_values: Sequence[float], level: float) -> tuple[float, float]:
    """Return the interval of a difference of shares, from Wilson's intervals of both and how the two hang together."""
    count = len(a_values)
    z = _quantile(level)
    a_share, b_share = sum(a_values) / count, sum(b_values) / count
    a_low, a_high = _wilson(a_share, count, z)
    b_low, b_high = _wilson(b_share, count, z)
    both = sum(1 for a_value, b_value in zip(a_values, b_values, strict=True) if a_value and b_value)
    neither = sum(1 for a_value, b_value in zip(a_values, b_values, strict=True) if not a_value and not b_value)
    only_a, only_b = round(sum(a_values)) - both, round(sum(b_values)) - both
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    together = float(both * neither - only_a * only_b)
    if together > 0:
        together = max(together - count / 2, 0.0)
    phi = together / sqrt(margins) if margins else 0.0
    difference = a_share - b_share
    below, above = a_share - a_low, b_high - b_share
    low = difference - sqrt(max(below**2 - 2 * phi * below * above + above**2, 0.0))
    below, above = b_share - b_low, a_high - a_share
    high = difference + sqrt(max(above**2 - 2 * phi * above * below + below**2, 0.0))
    return low, high


def _wilson(share: float, count: int, z: float) -> tuple[float, float]:
    """Return Wilson's interval of a share at any level; see `analysis.intervals.wilson`."""
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle - half if share > 0 else 0.0), (middle + half if share < 1 else 1.0)


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf(1.0 - level / 2)
