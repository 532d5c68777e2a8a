"""The totals of a run as tables for people, and as JSON for programs."""

from collections.abc import Mapping
from dataclasses import fields

from rich.console import Console
from rich.table import Table
from rich.text import Text

from multigraft.analysis.summary import Scorer, Share, Summary
from multigraft.budget.amount import Amount
from multigraft.budget.describe import describe, flops_text, seconds_text, usd_text
from multigraft.cli.text import shown
from multigraft.types import Json


def print_summary(console: Console, title: str, summary: Summary) -> None:
    """Print the totals of a run."""
    console.print(Text(title, style="bold"))
    for name, value in _facts(summary):
        console.print(Text(f"  {name:<12}"), Text(value))
    if summary.models:
        console.print(_shares("model", {shown(name, 40): share for name, share in summary.models.items()}, summary))
        console.print(_shares("depth", {str(depth): share for depth, share in sorted(summary.depths.items())}, summary))
    if len(summary.scorers) > 1:
        print_scorers(console, summary.scorers)
    for name, counts in (("failures", summary.failures), ("attempts repeated", summary.repeated), ("responses without a reward", summary.unscored)):
        if counts:
            console.print(Text(f"  {name}: " + ", ".join(f"{kind} {count}" for kind, count in counts.most_common())))


def summary_json(summary: Summary) -> dict[str, Json]:
    """Return the totals as a JSON object."""
    result: dict[str, Json] = {}
    for name, value in ((found.name, getattr(summary, found.name)) for found in fields(summary)):
        if name in {"models", "depths"}:
            shares: Mapping[object, Share] = getattr(summary, name)
            result[name] = {str(key): _share_json(share) for key, share in shares.items()}
        elif name in {"spent", "wasted"}:
            result[name] = _amount_json(getattr(summary, name))
        elif name == "scorers":
            result[name] = {name: scorer_json(scorer) for name, scorer in summary.scorers.items()}
        elif not name.endswith("_sum"):
            result[name] = value
    result["mean_best"], result["mean_first"] = summary.mean_best, summary.mean_first
    return result


def _facts(summary: Summary) -> list[tuple[str, str]]:
    ends = ", ".join(f"{count} {reason}" for reason, count in summary.ends.most_common())
    facts = [
        ("prompts", f"{summary.prompts} ({ends})" if ends else "0"),
        ("responses", f"{summary.responses}, {summary.truncated} truncated, {summary.duplicates} duplicates, {sum(summary.failures.values())} failed calls"),
    ]
    if summary.mean_best is not None and summary.mean_first is not None:
        facts.append(("reward", f"best {summary.mean_best:.4g}, first response {summary.mean_first:.4g} (means over {summary.compared} prompts)"))
    if summary.concluded:
        facts.append(("answers", f"{summary.answered} of {summary.prompts} prompts, {summary.refined_wins} made from earlier responses"))
    else:
        facts.append(("refined", f"{summary.refined_wins} of {summary.prompts - summary.without_reward} best responses were made from an earlier one"))
    facts.append(("spent", describe(summary.spent)))
    facts += [("", f"of it for {shown(name, 40)}: {describe(scorer.spent)}") for name, scorer in summary.scorers.items() if scorer.spent.calls]
    if summary.wasted.calls:
        facts.append(("", f"of it at most for answers that a crash cut off: {describe(summary.wasted)}"))
    facts.append(("time", f"{seconds_text(summary.seconds)} in {summary.sessions} session{'s' if summary.sessions != 1 else ''}"))
    return facts


def print_scorers(console: Console, scorers: Mapping[str, Scorer]) -> None:
    """Print what scorers said, a line each."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  scorer")
    for name in ("scored", "mean", "unscored", "spent apart"):
        table.add_column(name, justify="right")
    for name, scorer in scorers.items():
        mean = "-" if scorer.mean is None else f"{scorer.mean:.4g}"
        reasons = ", ".join(f"{reason} {count}" for reason, count in scorer.unscored.most_common()) or "-"
        table.add_row(Text(f"  {shown(name, 40)}"), str(scorer.scored), mean, reasons, describe(scorer.spent_apart) if scorer.spent_apart.calls else "-")
    console.print(table)


def scorer_json(scorer: Scorer) -> dict[str, Json]:
    """Return what a scorer said as a JSON object."""
    return {
        "scored": scorer.scored,
        "mean": scorer.mean,
        "unscored": dict(scorer.unscored),
        "message": scorer.message,
        "spent": _amount_json(scorer.spent),
        "spent_apart": _amount_json(scorer.spent_apart),
    }


def _shares(what: str, shares: Mapping[str, Share], summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(f"  {what}")
    priced = summary.spent.usd > 0
    for name in ("calls", "share", "responses", "reward", "wins", "tokens", "FLOPs", *(["cost"] if priced else [])):
        table.add_column(name, justify="right")
    total = sum(share.calls for share in shares.values()) or 1
    for name, share in shares.items():
        mean = "-" if share.mean_reward is None else f"{share.mean_reward:.4g}"
        cells = [str(share.calls), f"{share.calls / total:.0%}", str(share.responses), mean, str(share.wins), f"{share.spent.tokens:,}"]
        cells.append(flops_text(share.spent.flops) if share.spent.flops else "-")
        table.add_row(Text(f"  {name}"), *cells, *([usd_text(share.spent.usd)] if priced else []))
    return table


def _share_json(share: Share) -> dict[str, Json]:
    return {
        "calls": share.calls,
        "responses": share.responses,
        "scored": share.scored,
        "mean_reward": share.mean_reward,
        "wins": share.wins,
        "spent": _amount_json(share.spent),
    }


def _amount_json(amount: Amount) -> dict[str, Json]:
    return {"flops": amount.flops, "tokens": amount.tokens, "usd": amount.usd, "calls": amount.calls}
