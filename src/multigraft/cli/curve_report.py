"""The curves of a run as tables for people, and as JSON for programs."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from multigraft.analysis.curve import Curve, Series
from multigraft.analysis.hacking import Hacking
from multigraft.analysis.intervals import Estimate
from multigraft.analysis.votes import WAYS, Votes
from multigraft.budget.describe import flops_text, usd_text
from multigraft.cli.text import shown
from multigraft.types import Json

_WIDTH = 30


def print_curve(console: Console, title: str, curve: Curve, votes: Sequence[Votes], by: str | None) -> None:
    """Print the curves of a run."""
    left_out = [f"{curve.num_unfinished} unfinished"] * bool(curve.num_unfinished)
    left_out += [f"{curve.num_without_response} without a response"] * bool(curve.num_without_response)
    console.print(Text(title, style="bold"), Text(f"{curve.num_prompts} prompts" + (f"; left out: {', '.join(left_out)}" if left_out else "")))
    _print_series(console, curve)
    console.print(_cost_table(curve))
    for series in (curve.reward, *curve.scorers.values()):
        if series.num_missing:
            what = "no reward" if series is curve.reward else "no score of the chosen response"
            console.print(Text(f"  {shown(series.name, _WIDTH)}: {series.num_missing} of {curve.num_prompts} prompts left out, {what} at one of the points"))
    for found in curve.hacking.values():
        console.print(Text(f"  {hacking_text(found)}", style="yellow" if found.verdict == "falls" else ""))
    if not curve.scorers:
        console.print(Text("  only the guiding reward has scored this run; add a judge: multigraft score RUN --with NAME", style="dim"))
    for each in votes:
        _print_votes(console, each)
    if by is not None:
        _print_groups(console, curve, by)


def hacking_text(found: Hacking) -> str:
    """Say in one line what became of a judge while the reward rose."""
    name = shown(found.scorer, _WIDTH)
    if found.verdict == "unknown":
        return f"{name}: {found.num_prompts} prompts are too few to tell whether it falls while the reward rises"
    if found.onset is not None:
        return (
            f"{name} falls from {found.onset} responses on while the reward still rises: {_change(found.judge_change)} since {found.since}, "
            f"reward {_change(found.reward_change)}"
        )
    after = "" if found.judge_change is None else f" (highest at {found.peak}; from there to the last point {_change(found.judge_change)})"
    return f"{name}: no fall beyond chance while the reward rises{after}"


def estimate_text(estimate: Estimate | None) -> str:
    """Write a mean with its interval."""
    if estimate is None:
        return "-"
    return f"{estimate.value:.3g}" if estimate.low is None or estimate.high is None else f"{estimate.value:.3g} [{estimate.low:.3g}, {estimate.high:.3g}]"


def estimate_json(estimate: Estimate | None) -> Json:
    """Return a mean with its interval as JSON."""
    return None if estimate is None else {"value": estimate.value, "low": estimate.low, "high": estimate.high, "prompts": estimate.count}


def curve_json(curve: Curve, votes: Sequence[Votes]) -> dict[str, Json]:
    """Return the curves as a JSON object."""
    return {
        "points": list(curve.points),
        "prompts": curve.num_prompts,
        "unfinished": curve.num_unfinished,
        "without_response": curve.num_without_response,
        "reached": {str(point): count for point, count in curve.reached.items()},
        "reward": _series_json(curve.reward),
        "scorers": {name: _series_json(series) for name, series in curve.scorers.items()},
        "oracles": {name: _series_json(series) for name, series in curve.oracles.items()},
        "costs": {str(point): {"flops": cost.flops, "tokens": cost.tokens, "usd": cost.usd, "calls": cost.calls} for point, cost in curve.costs.items()},
        "hacking": {name: _hacking_json(found) for name, found in curve.hacking.items()},
        "votes": {each.grader: _votes_json(each) for each in votes},
        "groups": {group.name: {"prompts": group.num_prompts, **_estimates_json(group.estimates)} for group in curve.groups},
    }


def plain_table(first: str, *columns: str) -> Table:
    """Make an empty table with a column of names and columns of numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(f"  {first}")
    for column in columns:
        table.add_column(Text(column), justify="right")
    return table


def print_wide(console: Console, first: Sequence[str], rows: Sequence[Sequence[str]], columns: Mapping[str, Sequence[str]]) -> None:
    """Print columns beside each other, as many as fit, and the rest below.

    Args:
        console: to print to.
        first: headings of the columns that every part begins with.
        rows: their cells, row by row.
        columns: cells of the others by heading, one a row.
    """
    room = console.width - sum(2 + max(map(len, (heading, *(row[place] for row in rows)))) for place, heading in enumerate(first)) - 2
    parts: list[list[str]] = [[]]
    for heading, cells in columns.items():
        width = 2 + max(map(len, (heading, *cells)))
        if parts[-1] and width > room - sum(2 + max(map(len, (other, *columns[other]))) for other in parts[-1]):
            parts.append([])
        parts[-1].append(heading)
    for part in parts:
        table = plain_table(first[0], *first[1:], *part)
        for number, row in enumerate(rows):
            table.add_row(Text(f"  {row[0]}"), *row[1:], *(Text(columns[heading][number], no_wrap=True) for heading in part))
        console.print(table)


def _print_series(console: Console, curve: Curve) -> None:
    named = {"reward": curve.reward} | {shown(name, _WIDTH): series for name, series in curve.scorers.items()}
    named |= {f"{shown(name, _WIDTH)}, oracle": series for name, series in curve.oracles.items()}
    columns = {name: [estimate_text(series.estimates.get(point)) for point in curve.points] for name, series in named.items()}
    print_wide(console, ("responses", "prompts"), [(str(point), str(curve.reached[point])) for point in curve.points], columns)


def _cost_table(curve: Curve) -> Table:
    priced, counted = (any(cost.usd for cost in curve.costs.values()), any(cost.flops for cost in curve.costs.values()))
    table = plain_table("responses", "calls", "tokens", *["FLOPs"] * counted, *["cost"] * priced)
    for point, cost in curve.costs.items():
        table.add_row(f"  {point}", f"{cost.calls:.3g}", f"{cost.tokens:,.0f}", *[flops_text(cost.flops)] * counted, *[usd_text(cost.usd)] * priced)
    return table


def _print_groups(console: Console, curve: Curve, by: str) -> None:
    names = [curve.reward.name, *curve.scorers]
    columns = {shown(name, _WIDTH): [estimate_text(group.estimates.get(name)) for group in curve.groups] for name in names}
    print_wide(console, (shown(by, _WIDTH), "prompts"), [(shown(group.name, _WIDTH), str(group.num_prompts)) for group in curve.groups], columns)


def _print_votes(console: Console, votes: Votes) -> None:
    name = shown(votes.grader, _WIDTH)
    missing = f"; {votes.num_missing} left out: not all responses graded, or no reward" if votes.num_missing else ""
    unanswered = f"; {votes.num_unanswered} without any answer" if votes.num_unanswered else ""
    console.print(Text(f"  votes by the answers that {name} read, {votes.num_prompts} prompts{missing}{unanswered}"))
    if not votes.rows:
        return
    columns = {way: [estimate_text(row.grades.get(way)) for row in votes.rows] for way in WAYS}
    print_wide(console, ("responses",), [(str(row.point),) for row in votes.rows], columns)
    gains = ", ".join(f"{way} {_change(gain)}" for way, gain in votes.rows[-1].gains.items())
    console.print(Text(f"  against chosen, at {votes.rows[-1].point} responses: {gains}"))


def _change(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    interval = "" if estimate.low is None or estimate.high is None else f" [{estimate.low:+.3g}, {estimate.high:+.3g}]"
    return f"{estimate.value:+.3g}{interval}"


def _series_json(series: Series) -> Json:
    means = {str(point): estimate_json(estimate) for point, estimate in series.estimates.items()}
    return {"prompts": series.num_prompts, "missing": series.num_missing, "means": means}


def _estimates_json(estimates: Mapping[str, Estimate]) -> dict[str, Json]:
    return {"means": {name: estimate_json(estimate) for name, estimate in estimates.items()}}


def _hacking_json(found: Hacking) -> Json:
    return {
        "verdict": found.verdict,
        "prompts": found.num_prompts,
        "peak": found.peak,
        "onset": found.onset,
        "since": found.since,
        "judge_change": estimate_json(found.judge_change),
        "reward_change": estimate_json(found.reward_change),
    }


def _votes_json(votes: Votes) -> Json:
    rows: dict[str, Json] = {
        str(row.point): {
            "grades": {way: estimate_json(estimate) for way, estimate in row.grades.items()},
            "gains": {way: estimate_json(estimate) for way, estimate in row.gains.items()},
        }
        for row in votes.rows
    }
    return {"prompts": votes.num_prompts, "missing": votes.num_missing, "unanswered": votes.num_unanswered, "points": rows}
