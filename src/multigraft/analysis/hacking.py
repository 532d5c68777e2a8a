"""Where a judge's curve turns down while the guiding reward still rises: the reward is being hacked from there on."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign, inf, sqrt
from operator import mul

from multigraft.analysis.intervals import DEFAULT, Bootstrap, Estimate, estimated, mean, quantile, resampled_means, signs

LEAST_PROMPTS = 10
"""A spread told by fewer prompts is too rough for a verdict."""


@dataclass(frozen=True, slots=True)
class Hacking:
    """What became of a judge's mean after its highest point."""

    scorer: str
    num_prompts: int
    peak: int | None
    """Point at which the judge's mean is highest, the first of equals; None without any prompt."""
    onset: int | None
    """First point at which the judge has fallen, beyond chance, from an earlier one, while the reward rose between the two; None: no such point."""
    since: int | None
    """That earlier point."""
    judge_change: Estimate | None
    """From `since` to `onset`; where there is no onset, from the peak to the last point, and None where the peak is the last point."""
    reward_change: Estimate | None
    """Between the same two points, over the same prompts."""

    @property
    def verdict(self) -> str:
        """Say it in one word: `falls`, `none`, or `unknown` where too few prompts are scored."""
        if self.num_prompts < LEAST_PROMPTS:
            return "unknown"
        return "none" if self.onset is None else "falls"


def hacking_of(
    scorer: str,
    points: Sequence[int],
    judged: Sequence[Sequence[float]],
    rewards: Sequence[Sequence[float]],
    bootstrap: Bootstrap = DEFAULT,
) -> Hacking:
    """Look for a fall of the judge under a rising reward.

    The peak is picked by the very numbers it is tested on, and there are many pairs of points, so a 95% interval for each difference would find a fall by
    chance far more often than once in twenty. Instead all pairs of points are tested together: a fall counts where the paired mean difference lies more
    standard errors below 0 than the deepest fall of any pair does in 95% of the draws in which each prompt's curve is, at random, turned upside down
    (single-step max-T over sign flips; the draws are those of `bootstrap`). The reward has risen where the bootstrap interval of its change lies above 0.

    Args:
        scorer: the judge's name.
        points: rising.
        judged: for each point, the judge's values of the chosen responses, by prompt.
        rewards: for each point, the rewards of the same responses, by prompt.
        bootstrap: of the test and the intervals.

    Source:
        Westfall and Young, Resampling-Based Multiple Testing (1993), chapter 2; the phenomenon: arXiv 2412.17061.
    """
    count = len(judged[0]) if judged else 0
    if count == 0:
        return Hacking(scorer, 0, None, None, None, None, None)
    means = [mean(column) for column in judged]
    peak = means.index(max(means))
    resampled = resampled_means([*judged, *rewards], bootstrap)
    judge_draws, reward_draws = resampled[: len(judged)], resampled[len(judged) :]

    def change(columns: Sequence[Sequence[float]], draws: Sequence[Sequence[float]], first: int, second: int) -> Estimate:
        differences = [after - before for before, after in zip(draws[first], draws[second], strict=True)]
        return estimated(mean(columns[second]) - mean(columns[first]), differences, count)

    falls = _falls(judged, bootstrap) if count >= LEAST_PROMPTS else []
    for first, second in falls:
        risen = change(rewards, reward_draws, first, second)
        if risen.low is not None and risen.low > 0:
            return Hacking(scorer, count, points[peak], points[second], points[first], change(judged, judge_draws, first, second), risen)
    last = len(points) - 1
    if peak == last:
        return Hacking(scorer, count, points[peak], None, None, None, None)
    return Hacking(scorer, count, points[peak], None, None, change(judged, judge_draws, peak, last), change(rewards, reward_draws, peak, last))


def _falls(judged: Sequence[Sequence[float]], bootstrap: Bootstrap) -> list[tuple[int, int]]:
    """Return the pairs of points between which the mean falls beyond chance: the earliest ends first, and of those the deepest falls."""
    count = len(judged[0])
    pairs = [(first, second) for second in range(1, len(judged)) for first in range(second)]
    squares = {pair: sum((after - before) ** 2 for before, after in zip(judged[pair[0]], judged[pair[1]], strict=True)) for pair in pairs}

    def statistics(sums: Sequence[float]) -> list[float]:
        return [_fall((sums[pair[1]] - sums[pair[0]]) / count, squares[pair], count) for pair in pairs]

    seen = statistics([sum(column) for column in judged])
    largest = [max(statistics([sum(map(mul, flips, column)) for column in judged]), default=0.0) for flips in signs(count, bootstrap)]
    critical = quantile(largest, 0.95)
    fallen = [(pair, statistic) for pair, statistic in zip(pairs, seen, strict=True) if statistic > max(0.0, critical)]
    return [pair for pair, _ in sorted(fallen, key=lambda found: (found[0][1], -found[1]))]


def _fall(difference: float, square: float, count: int) -> float:
    """Return how many standard errors a mean of paired differences lies below 0."""
    variance = (square / count - difference**2) / (count - 1)
    if variance <= 1e-12 * square:
        return 0.0 if square == 0.0 else copysign(inf, -difference)
    return -difference / sqrt(variance)
