"""Where a judge's curve turns down while the guiding reward still rises: the reward is being hacked from there on."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

from multigraft.analysis.intervals import DEFAULT, Bootstrap, Estimate, estimated, mean, quantile, resampled_means

LEAST_PROMPTS = 5
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
    chance far more often than once in twenty. Instead all pairs i < j are tested together: with d the paired mean difference and s its standard deviation over
    the resamples, -d/s must exceed the 95% quantile of the largest -(d* - d)/s over all pairs in a resample (single-step max-T).

    Args:
        scorer: the judge's name.
        points: rising.
        judged: for each point, the judge's values of the chosen responses, by prompt.
        rewards: for each point, the rewards of the same responses, by prompt.
        bootstrap: over prompts.

    Source:
        Romano and Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing", JASA 2005 (their first step);
        the phenomenon: arXiv 2412.17061.
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

    falls = _falls(means, judge_draws) if count >= LEAST_PROMPTS else []
    for first, second in falls:
        risen = change(rewards, reward_draws, first, second)
        if risen.low is not None and risen.low > 0:
            return Hacking(scorer, count, points[peak], points[second], points[first], change(judged, judge_draws, first, second), risen)
    last = len(points) - 1
    if peak == last:
        return Hacking(scorer, count, points[peak], None, None, None, None)
    return Hacking(scorer, count, points[peak], None, None, change(judged, judge_draws, peak, last), change(rewards, reward_draws, peak, last))


def _falls(means: Sequence[float], draws: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the pairs of points between which the mean falls beyond chance: the earliest ends first, and of those the deepest falls."""
    found: list[tuple[int, int, float]] = []
    largest = [-inf] * len(draws[0])
    for second in range(1, len(means)):
        for first in range(second):
            difference = means[second] - means[first]
            drawn = [after - before for before, after in zip(draws[first], draws[second], strict=True)]
            middle = mean(drawn)
            spread = sqrt(sum((value - middle) ** 2 for value in drawn) / len(drawn))
            if spread <= 1e-12 * (1.0 + abs(difference)):
                # Every prompt changes by the same: no chance is in it.
                found += [(first, second, inf)] if difference < -1e-12 else []
                continue
            found.append((first, second, -difference / spread))
            largest = [max(most, (difference - value) / spread) for most, value in zip(largest, drawn, strict=True)]
    critical = quantile(largest, 0.95) if any(most > -inf for most in largest) else 0.0
    fallen = [(first, second) for first, second, statistic in found if statistic > critical]
    return sorted(fallen, key=lambda pair: (pair[1], means[pair[1]] - means[pair[0]]))
