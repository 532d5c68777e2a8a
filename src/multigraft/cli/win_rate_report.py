"""Win rates as tables for people, and as JSON for programs."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from multigraft.analysis.intervals import Estimate
from multigraft.analysis.standing import Standing
from multigraft.analysis.win_rate import LengthControlled
from multigraft.cli.curve_report import estimate_json, plain_table
from multigraft.cli.text import shown
from multigraft.types import Json

_WIDTH = 40


def print_standing(console: Console, standing: Standing, scorer: str, versions: Sequence[str]) -> None:
    """Print win rates, and the ranking of several runs.

    Args:
        console: to print to.
        standing: of the runs.
        scorer: that compared them.
        versions: of the scorer, all that are in the records.
    """
    console.print(Text(f"win rate over the baseline, by {shown(scorer, _WIDTH)}", style="bold"))
    table = plain_table("run", "prompts", "win rate", "at equal length", "length term")
    for name, found in standing.win_rates.items():
        controlled = found.length_controlled
        cells = (
            percent_text(found.win_rate),
            "-" if controlled is None else percent_text(controlled.win_rate),
            "-" if controlled is None else f"{controlled.length:+.2f}",
        )
        table.add_row(Text(f"  {shown(name, _WIDTH)}"), str(found.win_rate.count), *map(Text, cells))
    console.print(table)
    for name, found in standing.win_rates.items():
        if found.reason:
            console.print(Text(f"  {shown(name, _WIDTH)}: no win rate at equal length: {found.reason}"))
        if standing.num_missing[name]:
            console.print(Text(f"  {shown(name, _WIDTH)}: {standing.num_missing[name]} prompts left out, their best response is not compared"))
    if len(versions) > 1:
        console.print(Text(f"  not all was compared in the same way: the records hold {len(versions)} versions of the scorer", style="yellow"))
    if standing.ranking:
        table = plain_table("rank", "rating", "beats the baseline", "battles")
        for rank in standing.ranking:
            rating = f"{rank.rating.value:.0f}" + (
                "" if rank.rating.low is None or rank.rating.high is None else f" [{rank.rating.low:.0f}, {rank.rating.high:.0f}]"
            )
            table.add_row(Text(f"  {shown(rank.name, _WIDTH)}"), Text(rating), Text(percent_text(rank.win_rate)), str(rank.num_battles))
        console.print(table)


def percent_text(estimate: Estimate) -> str:
    """Write a share with its interval in percent."""
    interval = "" if estimate.low is None or estimate.high is None else f" [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    return f"{100 * estimate.value:.1f}%{interval}"


def standing_json(standing: Standing, scorer: str, versions: Sequence[str]) -> dict[str, Json]:
    """Return win rates and ranking as a JSON object."""
    return {
        "scorer": scorer,
        "versions": list(versions),
        "runs": {
            name: {
                "win_rate": estimate_json(found.win_rate),
                "standard_error": found.standard_error,
                "length_controlled": _controlled_json(found.length_controlled),
                "reason": found.reason,
                "missing": standing.num_missing[name],
            }
            for name, found in standing.win_rates.items()
        },
        "ranking": [
            {"name": rank.name, "rating": estimate_json(rank.rating), "win_rate": estimate_json(rank.win_rate), "battles": rank.num_battles}
            for rank in standing.ranking
        ],
    }


def _controlled_json(found: LengthControlled | None) -> Json:
    if found is None:
        return None
    return {
        "win_rate": estimate_json(found.win_rate),
        "standard_error": found.standard_error,
        "model": found.model,
        "length": found.length,
        "difficulty": found.difficulty,
        "penalty": found.penalty,
    }
