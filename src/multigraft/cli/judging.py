"""Have a finished run judged, with progress shown and interruptions heeded."""

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.text import Text

from multigraft.budget.describe import describe
from multigraft.build.judging import opened_judging
from multigraft.cli.going import Ending, in_a_loop
from multigraft.cli.progress import FetchBars
from multigraft.cli.signals import heeded
from multigraft.config import RunFile
from multigraft.engine.judging import Judging

PROMPTS_IN_FLIGHT = 32


def go_judging(run_file: RunFile, folder: Path, console: Console, *, quiet: bool) -> Ending:
    """Score what is missing of a run whose folder is owned.

    Args:
        run_file: of the run, with the judges in `[judge]`.
        folder: of the run.
        console: for progress, on stderr.
        quiet: show none.

    Raises:
        MultigraftError: what stopped it, unless it was an interruption.
    """
    return in_a_loop(_go(run_file, folder, console, quiet=quiet))


async def _go(run_file: RunFile, folder: Path, console: Console, *, quiet: bool) -> Ending:
    running: list[Judging] = []
    this = asyncio.current_task()

    def stop(reason: str) -> None:
        if running:
            running[0].purchases.halt.stop(reason)
        elif this is not None:
            this.cancel()  # weights are being loaded: nothing is in flight

    with heeded(stop, lambda line: console.print(Text(line))) as interruption:
        try:
            async with opened_judging(run_file, folder, FetchBars(console)) as judging:
                running.append(judging)
                await _judge_all(judging, console, quiet=quiet)
        except asyncio.CancelledError:
            if interruption.exit_code is None:
                raise
    if interruption.exit_code is not None:
        return Ending("interrupted", interruption.exit_code)
    reason = running[0].purchases.halt.reason
    return Ending(reason, 0 if reason is None else 1)


async def _judge_all(judging: Judging, console: Console, *, quiet: bool) -> None:
    numbers = iter(range(judging.record.num_prompts()))
    bar = _Bar(console, judging, shown=not quiet and console.is_terminal)
    with bar:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(PROMPTS_IN_FLIGHT):
                tasks.create_task(_work(judging, numbers, bar))
    await judging.log.durable()


async def _work(judging: Judging, numbers: Iterator[int], bar: "_Bar") -> None:
    for number in numbers:
        if judging.purchases.halt.stopped:
            return
        await judging.judge(number)
        bar.advance()


class _Bar:
    """Prompts judged, time left and cost, on a terminal."""

    def __init__(self, console: Console, judging: Judging, *, shown: bool) -> None:
        self._judging = judging
        self._progress = None
        if shown:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn(), TimeRemainingColumn())
            self._progress = Progress(*columns, TextColumn("{task.fields[facts]}", markup=False), console=console, transient=True)
            self._task = self._progress.add_task("prompts judged", total=judging.record.num_prompts(), facts="")

    def __enter__(self) -> None:
        (self._progress or nullcontext()).__enter__()

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self) -> None:
        """Count one prompt."""
        if self._progress is not None:
            self._progress.update(self._task, advance=1, facts=describe(self._judging.purchases.ledger_apart.spent))
