"""`multigraft score`: further scorers for a run that is there."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.early import leaving_at_once
from multigraft.cli.errors import reported


@reported
@leaving_at_once
def score(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    scorers: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            help="A scorer: its name in `[judge]` of the run or of -c, `task` or task:MODEL for the graders of the run's task, or rules, "
            "judge:MODEL, classifier:FOLDER, remote:URL; may be repeated. Default: all of `[judge]`.",
        ),
    ] = None,
    run_file: Annotated[Path | None, typer.Option("-c", "--config", help="File with `[judge]` and `[[models]]` that the run did not have.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name in the record for the scorer of a single --with.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Which responses: doubling, best, all, or numbers such as 1,4,16; default: as in [judge], or all.")
    ] = None,
    budget: Annotated[str | None, typer.Option("--budget", help='The most all judges of the run may spend: "usd=1,calls=500".')] = None,
    unsafe_no_sandbox: Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run generated code without walls around it; noted in the record.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the totals as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Score a run by further scorers, which the search never saw.

    Only what is missing is scored, so the same command again goes on where it was stopped.

    Example: multigraft score runs/first --with judge:qwen2.5-coder-0.5b --name external --at doubling
    """
    from rich.console import Console

    from multigraft.analysis.summary import summarise
    from multigraft.cli.json_line import json_line
    from multigraft.cli.judging import go_judging
    from multigraft.cli.judging_settings import judging_of
    from multigraft.cli.report import print_scorers, scorer_json
    from multigraft.cli.text import shown
    from multigraft.records.owner import owned
    from multigraft.records.reader import RunRecord

    chosen = judging_of(run, scorers or [], run_file, name=name, at=at, budget=budget, unsafe_no_sandbox=unsafe_no_sandbox)
    with owned(run):
        ending = go_judging(chosen, run, Console(stderr=True, highlight=False), quiet=quiet)
    with RunRecord(run) as record:
        found = summarise(record).scorers
    said = {scorer: found[scorer] for part in chosen.judge.parts if (scorer := part.name or part.kind) in found}
    if as_json:
        typer.echo(json_line({"run": str(run), "scorers": {scorer: scorer_json(standing) for scorer, standing in said.items()}}))
    else:
        print_scorers(Console(highlight=False), said)
    for scorer, standing in said.items():
        if standing.message:
            typer.echo(f"note: {shown(scorer, 40)} could not score every response; of the first it said: {shown(standing.message, 300)}", err=True)
    if ending.reason is not None:
        typer.echo(f"stopped: {shown(ending.reason)}. The same command goes on from here", err=True)
    if ending.exit_code:
        raise typer.Exit(ending.exit_code)
