"""What a run looks like while it is being made: a bar with time left and cost on a terminal, a line now and then elsewhere."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from multigraft.budget.describe import describe
from multigraft.cli.text import shown
from multigraft.engine.campaign import Campaign

if TYPE_CHECKING:  # bars are only drawn on a terminal, and slow to import
    from rich.progress import Progress, TaskID

LINE_INTERVAL_S = 30.0


@asynccontextmanager
async def watched(console: Console, campaign: Campaign, num_prompts: int, num_responses: int, *, quiet: bool) -> AsyncIterator[None]:
    """Show a campaign's progress while the block runs.

    Args:
        console: on stderr.
        campaign: the run.
        num_prompts: still to be worked on.
        num_responses: wanted for each.
        quiet: show nothing.
    """
    if quiet:
        yield
        return
    watching = asyncio.create_task(_draw(console, campaign, num_prompts * num_responses) if console.is_terminal else _lines(console, campaign, num_prompts))
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _draw(console: Console, campaign: Campaign, total: int) -> None:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[facts]}", markup=False), console=console, transient=True) as progress:
        task = progress.add_task("responses", total=total, facts="")
        while True:
            tally = campaign.tally
            progress.update(task, completed=tally.responses, facts=_facts(campaign))
            await asyncio.sleep(0.25)


async def _lines(console: Console, campaign: Campaign, num_prompts: int) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(LINE_INTERVAL_S)
        tally = campaign.tally
        line = f"{time.monotonic() - began:.0f} s: {tally.prompts_ended} of {num_prompts} prompts, {tally.responses} responses, {_facts(campaign)}"
        console.print(Text(line), soft_wrap=True)


def _facts(campaign: Campaign) -> str:
    failures = f", {campaign.tally.failures} failed" if campaign.tally.failures else ""
    return f"{describe(campaign.ledger.spent)}{failures}"


class FetchBars:
    """Shows weights arriving: a bar each on a terminal, a line each elsewhere. Satisfies `models.local.progress.Progress`.

    Args:
        console: on stderr.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def waiting(self, name: str) -> None:
        """Say that another process is fetching the same weights."""
        self._console.print(Text(f"{shown(name)}: another process is fetching these weights; waiting for it"))

    def licence(self, name: str, terms: str) -> None:
        """Show the terms of weights that are about to be fetched."""
        self._console.print(Text(f"{shown(name)}: fetching weights once. {terms}"))

    def begin(self, name: str, total_bytes: int | None, done_bytes: int) -> None:
        """Begin a bar."""
        if not self._console.is_terminal:
            size = "" if total_bytes is None else f" ({total_bytes / 1e6:.0f} MB)"
            self._console.print(Text(f"{shown(name)}: downloading{size}"))
            return
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=self._console, transient=True)
        self._progress.start()
        self._task = self._progress.add_task(shown(name), total=total_bytes, completed=done_bytes)

    def advance(self, num_bytes: int) -> None:
        """Move the bar."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task, num_bytes)

    def end(self, name: str) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        self._console.print(Text(f"{shown(name)}: download ended"))
