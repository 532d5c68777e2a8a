"""What a pilot's runs say: curves with intervals, peaks, a preference, and how width and depth trade.

Rules (arXiv 2511.00086, section 4, made explicit): a peak is the smallest setting within one standard error of the best; several small models are preferred
where the best mix beats the largest model alone by more than the paired interval, one large model in the opposite case, and anything else is undecided. How
width and depth trade is read off as the paper does, by how the best depth changes with the width; but only where every width was tried at the same depths, as
a bound on width times depth would otherwise make wider graphs look better shallow. And the best of several mixes is compared on questions it was not chosen by,
as the best of many is flattered by those it was.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, sqrt
from typing import NamedTuple

from multigraft.analysis.intervals import DEFAULT, Bootstrap, Estimate, estimate_of, mean, quantile, resamples
from multigraft.optimize.findings import Findings, Measured, Mix, Preference
from multigraft.optimize.loop.paired import paired
from multigraft.optimize.pilot.runs import MixRuns, PilotRuns
from multigraft.optimize.problem import Evaluation


class Peak(NamedTuple):
    """Where a curve is at its best."""

    setting: int
    """The smallest within one standard error of the best."""
    low: int
    """The setting lies between this and `high` in 95% of resamples of the questions."""
    high: int
    most: int
    """The largest setting that was tried."""


class Trade(NamedTuple):
    """How the best depth changes with the width."""

    slope: Estimate
    """Change of the best depth with each further agent side by side; negative: the wider, the shallower."""
    widths: tuple[int, ...]
    """That it was read off, each at all of `depths`."""
    depths: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What follows from a pilot."""

    findings: Findings
    copies_peaks: Mapping[str, Peak]
    """Best number of copies, by model."""
    gains: Mapping[tuple[str, int], float]
    """Gain in score a unit of cost, from the number of copies before to this one, by model and copies."""
    mix_difference: Estimate | None
    """Best mix of smaller models less largest model alone, paired, on questions that the mix was not chosen by."""
    width_peak: Peak | None
    depth_peak: Peak | None
    depth_by_width: Mapping[int, Peak]
    """Best depth of every width of the grid."""
    width_by_depth: Mapping[int, Peak]
    trade: Trade | None
    """None: no two widths were tried at the same two depths."""


def verdict_of(runs: PilotRuns, bootstrap: Bootstrap = DEFAULT) -> Verdict:
    """Draw conclusions.

    Args:
        runs: of a pilot.
        bootstrap: over questions.
    """
    singles = {model: found for model, evaluation in runs.singles.items() if (found := measured(evaluation, bootstrap))}
    mixes = [(mix, found) for mix in runs.mixes if (found := measured_mix(mix, bootstrap))]
    cells = {cell: found for cell, evaluation in runs.grid.items() if (found := measured(evaluation, bootstrap))}
    widths = {width: runs.grid[width, depth] for width, depth in cells if depth == 1}
    depths = {depth: runs.grid[width, depth] for width, depth in cells if width == 1}
    difference = _mix_difference(runs, mixes)
    width_peak, depth_peak = peak(widths, bootstrap), peak(depths, bootstrap)
    findings = Findings(
        singles=singles,
        mixes=tuple(Mix(mix.counts, found) for mix, found in mixes),
        widths={width: cells[width, 1] for width in widths},
        depths={depth: cells[1, depth] for depth in depths},
        grid=cells,
        best_width=width_peak.setting if width_peak else None,
        best_depth=depth_peak.setting if depth_peak else None,
        preference=preference_of(difference),
    )
    return Verdict(
        findings=findings,
        copies_peaks=_copies_peaks(runs, bootstrap),
        gains=_gains(runs),
        mix_difference=difference,
        width_peak=width_peak,
        depth_peak=depth_peak,
        depth_by_width=_peaks(runs, cells, bootstrap, of_width=True),
        width_by_depth=_peaks(runs, cells, bootstrap, of_width=False),
        trade=_trade(runs, cells, bootstrap),
    )


def measured(evaluation: Evaluation, bootstrap: Bootstrap = DEFAULT) -> Measured | None:
    """Estimate the score of one graph; None while nothing is scored."""
    found = estimate_of(evaluation.scores, bootstrap)
    return None if found is None else _measured(found, evaluation.cost.units)


def measured_mix(mix: MixRuns, bootstrap: Bootstrap = DEFAULT) -> Measured | None:
    """Estimate the score of a mix: over its graphs for each question, then over questions."""
    per_question = _mean_by_question(mix.evaluations)
    found = estimate_of(list(per_question.values()), bootstrap)
    units = [evaluation.cost.units for evaluation in mix.evaluations if evaluation.cost.units is not None]
    return None if found is None else _measured(found, mean(units) if units else None)


def preference_of(difference: Estimate | None) -> Preference:
    """Say which is preferred, from the paired difference of the best mix and the largest model alone."""
    if difference is None or difference.low is None or difference.high is None or difference.low <= 0 <= difference.high:
        return "undecided"
    return "small-ensemble" if difference.value > 0 else "single-large"


def peak(curve: Mapping[int, Evaluation], bootstrap: Bootstrap = DEFAULT) -> Peak | None:
    """Find the peak of a curve over settings; None where fewer than two settings have scores on common questions."""
    settings, columns = _columns(curve)
    if len(settings) < 2:
        return None
    best = _smallest_good(settings, columns)
    again = [_smallest_good(settings, [[column[row] for row in rows] for column in columns]) for rows in resamples(len(columns[0]), bootstrap)]
    return Peak(best, round(quantile(again, 0.025)), round(quantile(again, 0.975)), settings[-1])


def _measured(found: Estimate, units: float | None) -> Measured:
    low, high = (0.0, 1.0) if found.low is None or found.high is None else (found.low, found.high)
    return Measured(found.value, low, high, found.count, units)


def _columns(curve: Mapping[int, Evaluation]) -> tuple[list[int], list[list[float]]]:
    """Return the settings in order, and the scores of each on the questions that all of them have a score for."""
    scores = {setting: _scores(evaluation) for setting, evaluation in sorted(curve.items())}
    scores = {setting: found for setting, found in scores.items() if found}
    common = sorted(set.intersection(*(set(found) for found in scores.values()))) if scores else []
    return (list(scores), [[found[question] for question in common] for found in scores.values()]) if common else ([], [])


def _smallest_good(settings: Sequence[int], columns: Sequence[Sequence[float]]) -> int:
    means = [mean(column) for column in columns]
    top = max(range(len(settings)), key=lambda index: (means[index], -settings[index]))
    count = len(columns[top])
    variance = sum((value - means[top]) ** 2 for value in columns[top]) / max(1, count - 1)
    bar = means[top] - sqrt(variance / count)
    return next(setting for setting, value in zip(settings, means, strict=True) if value >= bar)


def _peaks(runs: PilotRuns, cells: Mapping[tuple[int, int], Measured], bootstrap: Bootstrap, *, of_width: bool) -> dict[int, Peak]:
    axis, other = (0, 1) if of_width else (1, 0)
    found: dict[int, Peak] = {}
    for fixed in sorted({cell[axis] for cell in cells}):
        best = peak({cell[other]: runs.grid[cell] for cell in cells if cell[axis] == fixed}, bootstrap)
        if best is not None:
            found[fixed] = best
    return found


def _copies_peaks(runs: PilotRuns, bootstrap: Bootstrap) -> dict[str, Peak]:
    curves = {model: {count: found for (name, count), found in runs.copies.items() if name == model} for model in runs.singles}
    return {model: found for model, curve in curves.items() if (found := peak(curve, bootstrap))}


def _trade(runs: PilotRuns, cells: Mapping[tuple[int, int], Measured], bootstrap: Bootstrap) -> Trade | None:
    """Fit a line through the best depths over the widths, on resampled questions for its interval."""
    rectangle = _rectangle(cells)
    if rectangle is None:
        return None
    widths, depths = rectangle
    scores = {(width, depth): _scores(runs.grid[width, depth]) for width in widths for depth in depths}
    common = sorted(set.intersection(*(set(found) for found in scores.values())))
    if len(common) < 2:
        return None
    columns = [[[scores[width, depth][question] for question in common] for depth in depths] for width in widths]

    def slope(rows: Sequence[int]) -> float:
        return _line(widths, [_smallest_good(depths, [[column[row] for row in rows] for column in of_width]) for of_width in columns])

    again = [slope(rows) for rows in resamples(len(common), bootstrap)]
    return Trade(Estimate(slope(range(len(common))), quantile(again, 0.025), quantile(again, 0.975), len(common)), widths, depths)


def _rectangle(cells: Collection[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Find widths that were all tried at the same depths, as many cells as there are; None: no two widths at two depths."""
    widths = sorted({width for width, _ in cells})
    best: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    for count in range(2, len(widths) + 1):
        chosen = tuple(widths[:count])
        depths = tuple(sorted(set.intersection(*({depth for width, depth in cells if width == each} for each in chosen))))
        if len(depths) > 1 and (best is None or count * len(depths) > len(best[0]) * len(best[1])):
            best = chosen, depths
    return best


def _line(xs: Sequence[int], ys: Sequence[int]) -> float:
    middle_x, middle_y = mean(xs), mean(ys)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / sum((x - middle_x) ** 2 for x in xs)


def _mix_difference(runs: PilotRuns, mixes: Sequence[tuple[MixRuns, Measured]]) -> Estimate | None:
    largest = list(runs.singles)[-1]
    small = [_mean_by_question(mix.evaluations) for mix, _ in mixes if largest not in mix.counts]
    if not small:
        return None
    alone = _scores(runs.singles[largest])
    common = sorted(set(alone).intersection(*small))
    halves = [common[0::2], common[1::2]]
    if min(map(len, halves)) < 1:
        return None
    ours: dict[int, float] = {}
    for half, other in (halves, reversed(halves)):
        best = max(small, key=lambda scores: mean([scores[question] for question in other]))
        ours.update((question, best[question]) for question in half)
    found = paired([ours[question] for question in common], [alone[question] for question in common])
    low, high = (end if isfinite(end) else None for end in (found.low, found.high))
    return Estimate(found.difference, low, high, found.count)


def _gains(runs: PilotRuns) -> dict[tuple[str, int], float]:
    gains: dict[tuple[str, int], float] = {}
    for model in runs.singles:
        curve = [(count, evaluation) for (name, count), evaluation in runs.copies.items() if name == model]
        for (_, before), (count, after) in pairwise(curve):
            if before.mean is None or after.mean is None or before.cost.units is None or after.cost.units is None or after.cost.units <= before.cost.units:
                continue
            gains[model, count] = (after.mean - before.mean) / (after.cost.units - before.cost.units)
    return gains


def _scores(evaluation: Evaluation) -> dict[int, float]:
    return {trial.question: trial.score for trial in evaluation.trials if trial.score is not None}


def _mean_by_question(evaluations: Sequence[Evaluation]) -> dict[int, float]:
    collected: dict[int, list[float]] = {}
    for evaluation in evaluations:
        for question, score in _scores(evaluation).items():
            collected.setdefault(question, []).append(score)
    return {question: mean(scores) for question, scores in sorted(collected.items())}
