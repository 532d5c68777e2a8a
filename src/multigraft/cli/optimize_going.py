"""Run a graph search in its folder, with progress shown and interruptions heeded, and write down what it found."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

from multigraft.build.optimize import SearchPlan, search_plan_of
from multigraft.build.optimize_run import Outcome, SearchRun, opened_search
from multigraft.cli.going import Ending, in_a_loop
from multigraft.cli.json_line import json_line
from multigraft.cli.optimize_output import print_outcome, report_of, write_outcome
from multigraft.cli.optimize_progress import SearchWatch, watched_search
from multigraft.cli.optimize_settings import of_the_results, sized
from multigraft.cli.pilot_sharing import PILOT_NAME, refuse_mixing
from multigraft.cli.progress import FetchBars
from multigraft.cli.prompts_of import note, read_questions
from multigraft.cli.settings import resolved
from multigraft.cli.signals import heeded
from multigraft.cli.text import shown
from multigraft.errors import InputError, boundary
from multigraft.optimize.pilot.pilot_file import Told, told_by
from multigraft.records.disk import on_disk
from multigraft.records.folder import PILOT_SETTINGS_NAME, SETTINGS_NAME, read_settings, refuse_changes, write_settings
from multigraft.records.owner import owned

if TYPE_CHECKING:
    from multigraft.config import RunFile


def go_on(folder: Path, run_file: "RunFile", *, as_json: bool, quiet: bool, test: bool = True) -> None:
    """Search, or go on with a search.

    Args:
        folder: of the search.
        run_file: with `[optimize]`.
        as_json: print what was found as JSON.
        quiet: show no progress.
        test: whether what was found is compared on questions of their own.

    Raises:
        MultigraftError: what stopped it, unless it was an interruption.
    """
    errors = Console(stderr=True, highlight=False)
    prompts = read_questions(run_file)
    told = _told(folder, run_file)
    num_seen = sum(prompt.prompt_id in told.questions for prompt in prompts) if told else 0
    run_file = sized(run_file, len(prompts), num_seen, test=test)
    plan = search_plan_of(run_file, prompts, told, FetchBars(errors))
    if plan.optimiser is not None and plan.table.optimizer is None:
        note(f"the optimiser model is '{plan.optimiser}', the last of the pool; --optimizer names another one")
    with on_disk(f"making {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    with owned(folder):
        kept = resolved(run_file)
        if (folder / SETTINGS_NAME).is_file():
            refuse_changes(folder, kept, of_the_results)
        if (folder / PILOT_SETTINGS_NAME).is_file():
            refuse_mixing(folder, read_settings(folder, PILOT_SETTINGS_NAME), kept)
            if not (folder / PILOT_NAME).is_file():
                note(f"the pilot in {folder} is not finished, and tells nothing; another folder (-o) leaves it free to be finished")
        _keep_pilot(folder, run_file)
        write_settings(folder, kept)
        outcome, ending = in_a_loop(_go(plan, folder, errors, quiet=quiet))
        if outcome.found is not None:
            write_outcome(folder, plan, outcome)
    if as_json:
        typer.echo(json_line(report_of(plan, outcome) | {"folder": str(folder), "cut_short": ending.reason}))
    else:
        print_outcome(Console(highlight=False), folder, plan, outcome)
    if ending.reason is not None:
        typer.echo(f"stopped: {shown(ending.reason, 400)}. Go on with: multigraft resume {folder}", err=True)
    if ending.exit_code:
        raise typer.Exit(ending.exit_code)
    if outcome.whole and (outcome.found is None or outcome.found.best is None):
        typer.echo("error: no graph has a score", err=True)
        raise typer.Exit(1)


async def _go(plan: SearchPlan, folder: Path, console: Console, *, quiet: bool) -> tuple[Outcome, Ending]:
    running: list[SearchRun] = []
    this = asyncio.current_task()

    def stop(reason: str) -> None:
        if running:
            running[0].halt.stop(reason)
        elif this is not None:
            this.cancel()  # weights are being fetched, or servers started: nothing is in flight

    outcome = Outcome(None, None, (), whole=False)
    with heeded(stop, lambda line: console.print(Text(line))) as interruption:
        try:
            async with opened_search(plan, folder) as run:
                running.append(run)
                watch = SearchWatch(run)
                async with watched_search(console, watch, quiet=quiet):
                    outcome = await run.run(watch.notice)
        except asyncio.CancelledError:
            if interruption.exit_code is None:
                raise
            return outcome, Ending("interrupted", interruption.exit_code)
    if outcome.whole:
        return outcome, Ending(None, 0)
    if interruption.exit_code is not None:
        return outcome, Ending("interrupted", interruption.exit_code)
    halt = running[0].halt
    # Money or time that is spent is an end that was asked for; a model that takes no calls is none.
    return outcome, Ending(halt.reason, 0 if halt.out_of_time or plan.once.out_of_money else 1)


def _told(folder: Path, run_file: "RunFile") -> Told | None:
    text = _pilot_text(folder, run_file)
    return None if text is None else told_by(text, run_file.optimize.pilot if run_file.optimize else None)


def _pilot_text(folder: Path, run_file: "RunFile") -> str | None:
    """Read the pilot: the copy in the folder, where there is one, so that a search goes on as it began."""
    named, copy = run_file.optimize.pilot if run_file.optimize else None, folder / PILOT_NAME
    kept = [copy] if copy.is_file() else []
    # A pilot that was named once may be gone by now.
    new = [Path(named)] if named and (not kept or Path(named).is_file()) else []
    texts = [_text(path) for path in (*kept, *new)]
    if len(set(texts)) > 1:
        message = f"is not the pilot that the search in {folder} was started with; take another folder (-o)"
        raise InputError(message, field="--pilot")
    return texts[0] if texts else None


def _text(path: Path) -> str:
    with boundary(InputError, f"reading {path}", OSError, UnicodeDecodeError):
        return path.read_text("utf-8")


def _keep_pilot(folder: Path, run_file: "RunFile") -> None:
    copy, text = folder / PILOT_NAME, _pilot_text(folder, run_file)
    if text is not None and not copy.is_file():
        with on_disk(f"writing {copy}"):
            copy.write_text(text, "utf-8")
