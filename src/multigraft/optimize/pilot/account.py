"""A pilot in words: what a person should take from it."""

from collections.abc import Iterator, Mapping

from multigraft.optimize.findings import Measured
from multigraft.optimize.pilot.plan import PilotRuns
from multigraft.optimize.pilot.verdict import Peak, Verdict

_PREFERENCES: Mapping[str, str] = {
    "small-ensemble": "several small models beat one large model at equal cost",
    "single-large": "one large model beats every mix of smaller ones at equal cost",
    "undecided": "undecided: the interval of the difference between the best mix and the largest model holds 0",
}


def lines_of(runs: PilotRuns, verdict: Verdict) -> list[str]:
    """Say what was found, a line for each thing, every score with its interval."""
    return [*_singles(verdict), *_mixes(runs, verdict), *_copies(runs, verdict), *_shapes(runs, verdict)]


def written(found: Measured) -> str:
    """Write a score with its interval and cost, such as `46.0% (37.1% to 55.2%) at 2.7 units`."""
    cost = "" if found.units is None else f" at {found.units:.3g} units"
    return f"{found.mean:.1%} ({found.low:.1%} to {found.high:.1%}){cost}"


def _singles(verdict: Verdict) -> Iterator[str]:
    for model, found in verdict.findings.singles.items():
        yield f"{model} alone: {written(found)}"


def _mixes(runs: PilotRuns, verdict: Verdict) -> Iterator[str]:
    mixes = verdict.findings.mixes
    if not mixes:
        return
    best = max(mixes, key=lambda mix: mix.measured.mean)
    named = " + ".join(f"{count} x {model}" for model, count in best.counts.items())
    shown = "" if runs.num_mixes == len(mixes) else f" of {runs.num_mixes}"
    yield f"best of {len(mixes)}{shown} mixes of {runs.mix_nodes} nodes: {named}, {written(best.measured)}"
    difference = verdict.mix_difference
    if difference is not None and difference.low is not None and difference.high is not None:
        largest = list(runs.singles)[-1]
        yield f"best mix of smaller models less {largest} alone: {difference.value:+.1%} ({difference.low:+.1%} to {difference.high:+.1%}, paired)"
    yield f"verdict: {_PREFERENCES[verdict.findings.preference]}"


def _copies(runs: PilotRuns, verdict: Verdict) -> Iterator[str]:
    for model in runs.singles:
        gains = {count: gain for (name, count), gain in verdict.gains.items() if name == model}
        if gains:
            steps = ", ".join(f"{gain:+.2%} at {count}" for count, gain in gains.items())
            yield f"copies of {model}: gain a unit of cost {steps}"


def _shapes(runs: PilotRuns, verdict: Verdict) -> Iterator[str]:
    if verdict.width_peak is not None:
        yield f"width of {runs.block_model}: best at {_peak(verdict.width_peak)}"
    if verdict.depth_peak is not None:
        yield f"depth of {runs.block_model}: best at {_peak(verdict.depth_peak)}"
    if len(verdict.depth_by_width) > 1:
        yield "best depth by width: " + ", ".join(f"{width}: {_peak(found)}" for width, found in verdict.depth_by_width.items())
    slope = verdict.depth_slope
    if slope is not None and slope.low is not None and slope.high is not None:
        trade = "the wider, the shallower" if slope.high < 0 else "the wider, the deeper" if slope.low > 0 else "no trade between width and depth was seen"
        yield f"each further agent side by side moves the best depth by {slope.value:+.2f} ({slope.low:+.2f} to {slope.high:+.2f}): {trade}"


def _peak(found: Peak) -> str:
    return f"{found.setting}" if found.low == found.high == found.setting else f"{found.setting} ({found.low} to {found.high})"
