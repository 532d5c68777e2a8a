"""Run a pilot in its folder, with progress shown and interruptions heeded, and write down what it found."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from multigraft.budget.amount import Limits
from multigraft.budget.describe import calls_text
from multigraft.build.pilot import PilotJob, PilotRun, opened_pilot, pilot_job_of
from multigraft.cli.going import Ending, in_a_loop
from multigraft.cli.json_line import json_line
from multigraft.cli.optimize_progress import PilotWatch, watched_search
from multigraft.cli.pilot_output import pilot_json, plan_json, plan_lines, print_pilot, write_pilot
from multigraft.cli.pilot_settings import sized_pilot
from multigraft.cli.pilot_sharing import PILOT_NAME, refuse_another_pilot, refuse_mixing
from multigraft.cli.progress import FetchBars
from multigraft.cli.prompts_of import note, read_questions
from multigraft.cli.settings import resolved
from multigraft.cli.signals import heeded
from multigraft.cli.text import shown
from multigraft.errors import InputError
from multigraft.graphs.cost import Workload
from multigraft.optimize.pilot.runs import PilotRuns
from multigraft.optimize.pilot.verdict import verdict_of
from multigraft.records.disk import on_disk
from multigraft.records.folder import PILOT_SETTINGS_NAME, SETTINGS_NAME, read_settings, write_settings
from multigraft.records.owner import owned

if TYPE_CHECKING:
    from multigraft.config import RunFile

MANY_CALLS: Final = 10_000
"""More than these are not started unasked."""


class _Went(NamedTuple):
    """How far a pilot came."""

    runs: PilotRuns | None
    """None: it was stopped before anything was opened."""
    workload: Workload
    ending: Ending
    whole: bool


def go_on(folder: Path, run_file: "RunFile", *, as_json: bool, quiet: bool, dry_run: bool = False) -> None:
    """Run a pilot, or go on with one.

    Args:
        folder: of the pilot; a search may share it.
        run_file: with `[pilot]`.
        as_json: print what was found as JSON.
        quiet: show no progress.
        dry_run: only say what would be run.

    Raises:
        MultigraftError: what stopped it, unless it was an interruption.
    """
    errors = Console(stderr=True, highlight=False)
    prompts = read_questions(run_file)
    run_file = sized_pilot(run_file, len(prompts))
    job = pilot_job_of(run_file, prompts, FetchBars(errors))
    if dry_run:
        typer.echo(json_line(plan_json(job)) if as_json else "\n".join(shown(line, 400) for line in plan_lines(job)))
        return
    _refuse_many(job)
    with on_disk(f"making {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    with owned(folder):
        kept = resolved(run_file)
        refuse_another_pilot(folder, kept)
        if (folder / PILOT_SETTINGS_NAME).is_file():
            refuse_mixing(folder, read_settings(folder, PILOT_SETTINGS_NAME), kept)
        write_settings(folder, kept, PILOT_SETTINGS_NAME)
        if not quiet:
            for line in plan_lines(job):
                errors.print(Text(shown(line, 400)), soft_wrap=True)
        went = in_a_loop(_go(job, folder, errors, quiet=quiet))
        _tell(folder, job, went, as_json=as_json)
    if went.ending.reason is not None:
        again = f"multigraft resume {folder}" if not (folder / SETTINGS_NAME).is_file() else "the same command"
        typer.echo(f"stopped: {shown(went.ending.reason, 400)}. Go on with: {again}", err=True)
    if went.ending.exit_code:
        raise typer.Exit(went.ending.exit_code)
    if went.whole and went.runs is not None and not any(evaluation.scores for evaluation in went.runs.singles.values()):
        typer.echo("error: no answer has a score", err=True)
        raise typer.Exit(1)


def _refuse_many(job: PilotJob) -> None:
    calls, limits = job.expense.calls, job.search.limits
    if calls > MANY_CALLS and limits == Limits():
        message = (
            f"this pilot may ask for {calls_text(calls)}, which is not started unasked: say --spend calls={calls}, or another limit, "
            "or look at less with -n, --parts, --copies, --widths, --depths or --graphs-per-mix (--dry-run shows what each part takes)"
        )
        raise InputError(message, field="--spend")


def _tell(folder: Path, job: PilotJob, went: _Went, *, as_json: bool) -> None:
    if went.runs is None:
        return
    verdict = verdict_of(went.runs)
    if went.whole:
        missing = write_pilot(folder, job, went.runs, verdict, went.workload, kept=(folder / SETTINGS_NAME).is_file())
        if missing is not None:
            note(missing)
    if as_json:
        found = pilot_json(job, went.runs, verdict, went.workload)
        typer.echo(json_line(found | {"whole": went.whole, "folder": str(folder), "stopped": went.ending.reason}))
        return
    console = Console(highlight=False)
    if not went.whole:
        console.print(Text("not finished; so far, on the questions that were answered:"))
    print_pilot(console, job, went.runs, verdict)
    if went.whole:
        console.print(Text(f"written: {folder / PILOT_NAME}; a search in this folder (-o {folder}) goes by it"), soft_wrap=True)


async def _go(job: PilotJob, folder: Path, console: Console, *, quiet: bool) -> _Went:
    running: list[PilotRun] = []
    this = asyncio.current_task()

    def stop(reason: str) -> None:
        if running:
            running[0].run.halt.stop(reason)
        elif this is not None:
            this.cancel()  # weights are being fetched, or servers started: nothing is in flight

    with heeded(stop, lambda line: console.print(Text(line))) as interruption:
        try:
            async with opened_pilot(job, folder) as run:
                running.append(run)
                async with watched_search(console, PilotWatch(run), quiet=quiet):
                    runs = await run.go()
                found, workload = run.so_far() if runs is None else runs, run.workload()
        except asyncio.CancelledError:
            if interruption.exit_code is None:
                raise
            return _Went(None, Workload(0, 0), Ending("interrupted", interruption.exit_code), whole=False)
    if runs is not None:
        return _Went(found, workload, Ending(None, 0), whole=True)
    if interruption.exit_code is not None:
        return _Went(found, workload, Ending("interrupted", interruption.exit_code), whole=False)
    halt = running[0].run.halt
    # Money or time that is spent is an end that was asked for; a model that takes no calls is none.
    return _Went(found, workload, Ending(halt.reason, 0 if halt.out_of_time or job.search.once.out_of_money else 1), whole=False)
