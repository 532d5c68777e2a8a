"""`multigraft win-rate`: how often runs beat a baseline set of answers, whatever the length."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.errors import reported


@reported
def win_rate(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs over the same prompts.")],
    scorer: Annotated[str, typer.Option("--scorer", help="Name of the pairwise scorer that compared their best responses with the baseline.")],
    strong_weight: Annotated[float, typer.Option("--strong-weight", help="Battles that a verdict of 'much better' counts for in the ranking.", min=0.0)] = 3.0,
    num_resamples: Annotated[int, typer.Option("--resamples", help="Resamples of the bootstrap.", min=100)] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show how often runs beat a baseline, raw and at equal length.

    Several runs are ranked as well, by Bradley-Terry. Every number has a 95% interval over prompts.

    Example: multigraft win-rate runs/toa runs/parallel --scorer pairwise
    """
    from rich.console import Console

    from multigraft.analysis.extra import check_extra
    from multigraft.cli.json_line import json_line

    check_extra("win rates")
    from multigraft.analysis.comparisons import compared
    from multigraft.analysis.intervals import Bootstrap
    from multigraft.analysis.standing import standing_of
    from multigraft.cli.win_rate_report import print_standing, standing_json
    from multigraft.errors import InputError
    from multigraft.records.reader import RunRecord

    names = [str(run) for run in runs]
    if len(set(names)) < len(names):
        message = "a run is named twice; its comparisons would count twice"
        raise InputError(message)
    found = {}
    for name, run in zip(names, runs, strict=True):
        with RunRecord(run) as record:
            found[name] = compared(record.prompts(), scorer, name)
    standing = standing_of(found, strong_weight=strong_weight, bootstrap=Bootstrap(num_resamples, seed))
    versions = sorted({version for each in found.values() for version in each.versions})
    if as_json:
        typer.echo(json_line(standing_json(standing, scorer, versions)))
        return
    print_standing(Console(highlight=False), standing, scorer, versions)
