"""A pilot in words: what was measured, row by row, and what a person should take from it."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Final, NamedTuple

from multigraft.analysis.intervals import Estimate
from multigraft.graphs.graph import Node
from multigraft.optimize.findings import Measured, Mix, Preference
from multigraft.optimize.pilot.runs import PilotRuns
from multigraft.optimize.pilot.verdict import Peak, Verdict, measured

_PREFERENCES: Final[Mapping[Preference, str]] = {"small-ensemble": "a small ensemble", "single-large": "one large model"}

_MOST: Final = "the most tried"


class Row(NamedTuple):
    """One thing that was measured."""

    part: str
    """Of the pilot; `Part`."""
    name: str
    found: Measured


def rows_of(runs: PilotRuns, verdict: Verdict) -> list[Row]:
    """List everything that has a score."""
    findings = verdict.findings
    rows = [Row("singles", f"{model} alone", found) for model, found in findings.singles.items()]
    rows += [Row("replicate", f"{count} x {model}", found) for (model, count), evaluation in runs.copies.items() if (found := measured(evaluation))]
    rows += [Row("grid", f"{runs.block_model}, {width} wide, {depth} deep", found) for (width, depth), found in findings.grid.items()]
    return rows + [Row("mix", _named(mix.counts), mix.measured) for mix in findings.mixes]


def lines_of(runs: PilotRuns, verdict: Verdict) -> list[str]:
    """Say what was found, a line for each thing, every score with its interval."""
    return [*_singles(verdict), *_copies(runs, verdict), *_shapes(runs, verdict), *_trade(verdict), *_mixes(runs, verdict)]


def written(found: Measured) -> str:
    """Write a score with its interval and cost, such as `46.0% (37.1% to 55.2%) at 2.7 units`."""
    return f"{score_text(found)}{'' if found.units is None else f' at {found.units:.3g} units'}"


def score_text(found: Measured) -> str:
    """Write a score with its interval."""
    return f"{found.mean:.1%} ({found.low:.1%} to {found.high:.1%})"


def sink_text(sink: Node) -> str:
    """Say what ends every graph but single models."""
    return f"{sink.model} reads the answers and gives the last one" if sink.model else f"the answer is chosen by '{sink.role}'"


def _singles(verdict: Verdict) -> Iterator[str]:
    singles = verdict.findings.singles
    if singles:
        best = max(singles, key=lambda model: singles[model].mean)
        yield f"best alone: {best}, {written(singles[best])}"


def _copies(runs: PilotRuns, verdict: Verdict) -> Iterator[str]:
    for model, found in verdict.copies_peaks.items():
        gains = ", ".join(f"{gain:+.2%} up to {count}" for (name, count), gain in verdict.gains.items() if name == model)
        score = measured(runs.copies[model, found.setting])
        yield f"copies of {model}: {_peak(found)}{_at(score)}{f'; gain a unit of cost {gains}' if gains else ''}"


def _shapes(runs: PilotRuns, verdict: Verdict) -> Iterator[str]:
    if verdict.width_peak is not None:
        yield f"width of {runs.block_model}: {_peak(verdict.width_peak)}{_at(verdict.findings.widths.get(verdict.width_peak.setting))}"
    if verdict.depth_peak is not None:
        yield f"depth of {runs.block_model}: {_peak(verdict.depth_peak)}{_at(verdict.findings.depths.get(verdict.depth_peak.setting))}"
    if len(verdict.depth_by_width) > 1:
        ends = {width: f" ({_MOST})" if found.setting == found.most else "" for width, found in verdict.depth_by_width.items()}
        best = ", ".join(f"{found.setting}{ends[width]} at width {width}" for width, found in verdict.depth_by_width.items())
        yield f"best depth of each width: {best}"


def _trade(verdict: Verdict) -> Iterator[str]:
    trade = verdict.trade
    if trade is None or trade.slope.low is None or trade.slope.high is None:
        return
    low, high = trade.slope.low, trade.slope.high
    seen = "the wider, the shallower" if high < 0 else "the wider, the deeper" if low > 0 else "undecided, the interval holds 0"
    tried = f"widths {_listed(trade.widths)} at depths {_listed(trade.depths)}"
    yield f"how they trade: each further agent side by side moves the best depth by {trade.slope.value:+.2f} ({low:+.2f} to {high:+.2f}; {tried}): {seen}"


def _mixes(runs: PilotRuns, verdict: Verdict) -> Iterator[str]:
    mixes = verdict.findings.mixes
    if not mixes:
        if not runs.mixes:
            yield "verdict: none on small ensembles and large models, as no mixes were run (--parts mix)"
        return
    largest = list(runs.singles)[-1]
    best = max(mixes, key=lambda mix: mix.measured.mean)
    shown = "" if runs.num_mixes == len(mixes) else f" of {runs.num_mixes}"
    yield f"best of {len(mixes)}{shown} mixes that count as {runs.mix_nodes} nodes: {_named(best.counts)}, {written(best.measured)}"
    yield _verdict(verdict, [mix for mix in mixes if largest not in mix.counts], largest)


def _verdict(verdict: Verdict, small: Sequence[Mix], largest: str) -> str:
    difference, preference = verdict.mix_difference, verdict.findings.preference
    if not small or difference is None:
        return f"verdict: undecided, as no mix of smaller models could be compared with {largest} alone"
    if difference.low is None or difference.high is None:
        return f"verdict: undecided, as {difference.count} questions are too few to compare a mix of smaller models with {largest} alone"
    best = max(small, key=lambda mix: mix.measured.mean)
    by = f"{_change(difference.value)} ({_change(difference.low)} to {_change(difference.high)}) against {largest} alone, on questions it was not chosen by"
    said = f"the best mix of smaller models ({_named(best.counts)}) has {by}{_cost(verdict, best, largest)}"
    if preference == "undecided":
        return f"verdict: undecided; {said}{_needed(difference, difference.low, difference.high)}"
    return f"verdict: {_PREFERENCES[preference]}; {said}"


def _change(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.1%}"  # the sum takes the sign off a zero


def _cost(verdict: Verdict, best: Mix, largest: str) -> str:
    ours, alone = best.measured.units, verdict.findings.singles[largest].units
    return f", at {ours / alone:.2g} times its cost" if ours is not None and alone else ""


def _needed(difference: Estimate, low: float, high: float) -> str:
    """Say how many questions would tell a difference of this size from none."""
    if not difference.value:
        return ""
    needed = ceil(difference.count * ((high - low) / 2 / difference.value) ** 2)
    return f"; it takes about {needed:,} questions to tell such a difference" if difference.count < needed <= 10_000 else ""


def _named(counts: Mapping[str, int]) -> str:
    return " + ".join(f"{count} x {model}" for model, count in counts.items())


def _peak(found: Peak) -> str:
    interval = [] if found.low == found.high == found.setting else [f"{found.low} to {found.high}"]
    said = [*interval, *([_MOST] if found.setting == found.most else [])]
    return f"best at {found.setting}" + (f" ({'; '.join(said)})" if said else "")


def _at(found: Measured | None) -> str:
    return "" if found is None else f", {written(found)}"


def _listed(settings: tuple[int, ...]) -> str:
    return ", ".join(map(str, settings))
