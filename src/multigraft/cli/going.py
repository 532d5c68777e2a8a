"""Run a campaign to its end in an event loop, with progress shown and interruptions heeded."""

import asyncio
import gc
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from multigraft.build.graphs import refuse_blind_choice
from multigraft.build.run import Plan, opened
from multigraft.cli.progress import watched
from multigraft.cli.scorers_of import of_the_search
from multigraft.cli.settings import resolved
from multigraft.cli.signals import heeded
from multigraft.config import RunFile
from multigraft.engine.campaign import Campaign, Tally
from multigraft.records.disk import on_disk
from multigraft.records.folder import SETTINGS_NAME, refuse_changes, write_settings
from multigraft.records.owner import owned
from multigraft.types import Prompt

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    reason: str | None
    """Why it stopped before its prompts were finished; None: it did not."""
    exit_code: int
    """0 unless it was interrupted or no model takes calls."""


def carried_out(
    folder: Path,
    run_file: RunFile,
    plan: Plan,
    prompts: Sequence[Prompt],
    console: Console,
    *,
    quiet: bool,
    changed: bool = False,
    tally: Tally | None = None,
) -> Ending:
    """Make a run in its folder, or go on with the one that is there.

    Args:
        folder: of the run.
        run_file: its settings, which the folder keeps.
        plan: made of them.
        prompts: all of them.
        console: for progress, on stderr.
        quiet: show none.
        changed: the settings may differ from those that the folder has.
        tally: what is to count the steps; None: nobody looks at each.

    Raises:
        InputError: no response could ever be chosen.
        MultigraftError: what stopped the run, unless it was an interruption.
    """
    refuse_blind_choice(plan.strategy, plan.rewards, prompts)
    with on_disk(f"making {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    with owned(folder):
        kept = resolved(run_file)
        if (folder / SETTINGS_NAME).is_file() and not changed:
            refuse_changes(folder, kept, of_the_search)
        write_settings(folder, kept)
        return go(plan, folder, prompts, console, quiet=quiet, tally=tally)


def go(plan: Plan, folder: Path, prompts: Sequence[Prompt], console: Console, *, quiet: bool, tally: Tally | None = None) -> Ending:
    """Work through the prompts of a run whose folder is owned.

    Args:
        plan: of the run.
        folder: of the run.
        prompts: all of them.
        console: for progress, on stderr.
        quiet: show none.
        tally: what is to count the steps; None: nobody looks at each.

    Raises:
        MultigraftError: what stopped the run, unless it was an interruption.
    """
    return in_a_loop(_go(plan, folder, prompts, console, quiet=quiet, tally=tally))


def in_a_loop(work: Coroutine[None, None, Result]) -> Result:
    """Run a coroutine in a fast event loop, with as many open files as the system allows."""
    # A run makes many small objects and hardly any cycles: looking for cycles rarely saves a sixth of its CPU time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    _open_files_freely()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work)


async def _go(plan: Plan, folder: Path, prompts: Sequence[Prompt], console: Console, *, quiet: bool, tally: Tally | None) -> Ending:
    running: list[Campaign] = []
    this = asyncio.current_task()

    def stop(reason: str) -> None:
        if running:
            running[0].halt.stop(reason)
        elif this is not None:
            this.cancel()  # weights are being fetched, or servers started: nothing is in flight

    with heeded(stop, lambda line: console.print(Text(line))) as interruption:
        try:
            async with opened(plan, folder) as run:
                running.append(run.campaign)
                run.campaign.tally = tally or run.campaign.tally
                open_prompts = sum(prompt.prompt_id not in run.campaign.resumption.finished for prompt in prompts)
                async with watched(console, run.campaign, open_prompts, plan.strategy.num_responses, quiet=quiet):
                    await run.campaign.run(prompts, run.unscored)
        except asyncio.CancelledError:
            if interruption.exit_code is None:
                raise
            return Ending("interrupted", interruption.exit_code)
    halt = running[0].halt
    if interruption.exit_code is not None:
        return Ending("interrupted", interruption.exit_code)
    return Ending(halt.reason, 0 if halt.reason is None or halt.out_of_time else 1)


def _open_files_freely() -> None:
    """Raise the soft limit of open files, each connection being one, to what the system allows."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in {soft, resource.RLIM_INFINITY}:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return uvloop's where it is installed: it halves the cost of a request."""
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
