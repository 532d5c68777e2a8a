"""What a graph search, or a pilot, looks like while it goes on: a bar with the best so far on a terminal, a line now and then elsewhere."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from rich.console import Console
from rich.text import Text

from multigraft.budget.describe import describe, seconds_text
from multigraft.build.optimize_run import SearchRun
from multigraft.build.pilot import PilotRun
from multigraft.cli.text import shown
from multigraft.optimize.loop.archive import Entry
from multigraft.optimize.loop.explanation import depth_of, models_of, width_of
from multigraft.optimize.loop.paired import estimated_mean
from multigraft.optimize.loop.search import SearchEvent

LINE_INTERVAL_S = 30.0


class Followed(Protocol):
    """Something whose progress is shown."""

    unit: str
    """What is counted."""
    lines: list[str]
    """What happened and was not shown yet."""

    @property
    def total(self) -> int:
        """How many there are at most."""
        ...

    @property
    def done(self) -> int:
        """How many of them are done."""
        ...

    def facts(self) -> str:
        """Say how far it is, in a line."""
        ...


class SearchWatch:
    """Follows one search.

    Args:
        run: the search.
    """

    unit = "graphs"

    def __init__(self, run: SearchRun) -> None:
        self._run = run
        self._first: tuple[float, int] | None = None
        """When the first new graph of this process was done, and how many there were."""
        self.lines: list[str] = []
        """What happened and was not shown yet."""

    @property
    def total(self) -> int:
        """Graphs that may be evaluated."""
        return self._run.plan.table.evaluations

    @property
    def done(self) -> int:
        """Graphs that were."""
        return self._run.archive.num_evaluations

    def notice(self, event: SearchEvent) -> None:
        """Take note of what happened."""
        if event.kind == "best" and event.best is not None:
            self.lines.append(f"{event.num_evaluations} of {event.max_evaluations} graphs: {self.best()}")

    def best(self) -> str:
        """Describe the best so far in a line."""
        entry = self._run.archive.best
        return "no graph is scored yet" if entry is None else f"best so far {_described(entry)}"

    def facts(self) -> str:
        """Say how far it is, in a line."""
        run, watch = self._run, self._run.models.evaluator.watch
        trials = f", {watch.trials_ended}/{watch.trials_wanted} answers of this step" if watch.trials_wanted else ""
        apart = run.plan.once.purchases.ledger_apart.spent
        optimiser = f" (optimiser model {apart.tokens:,} tokens of it)" if apart.calls else ""
        left = run.plan.table.evaluations - run.archive.num_evaluations
        left_s = self._left_s(left)
        eta = "" if left_s is None else f", at most {seconds_text(left_s)} to go"
        return f"{self.best()}; {left} evaluations left{trials}, {describe(run.plan.once.purchases.ledger.spent)}{optimiser}{eta}"

    def _left_s(self, left: int) -> float | None:
        done, now = self._run.archive.num_evaluations, time.monotonic()
        if self._first is None or done < self._first[1]:
            self._first = (now, done)
        new = done - self._first[1]
        return None if not new else left * (now - self._first[0]) / new


class PilotWatch:
    """Follows one pilot.

    Args:
        run: the pilot.
    """

    unit = "answers"

    def __init__(self, run: PilotRun) -> None:
        self._run = run
        self._began_s = time.monotonic()
        self._began = run.run.plan.once.purchases.ledger.spent.calls
        self.lines: list[str] = []
        """What happened and was not shown yet."""

    @property
    def total(self) -> int:
        """Graphs times questions."""
        return self._run.trials

    @property
    def done(self) -> int:
        """Those with a result."""
        return self._run.trials_ended

    def facts(self) -> str:
        """Say how far it is, in a line."""
        spent, most = self._run.run.plan.once.purchases.ledger.spent, self._run.job.expense.calls
        new, left = spent.calls - self._began, most - spent.calls
        eta = f", at most {seconds_text(left * (time.monotonic() - self._began_s) / new)} to go" if new > 0 and left > 0 else ""
        return f"{self.done} of {self.total} answers of graphs, {describe(spent)}{eta}"


@asynccontextmanager
async def watched_search(console: Console, watch: Followed, *, quiet: bool) -> AsyncIterator[None]:
    """Show the progress of a search, or of a pilot, while the block runs.

    Args:
        console: on stderr.
        watch: told what happens.
        quiet: show nothing.
    """
    if quiet:
        yield
        return
    watching = asyncio.create_task(_draw(console, watch) if console.is_terminal else _lines(console, watch))
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _draw(console: Console, watch: Followed) -> None:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[facts]}", markup=False), console=console, transient=True) as progress:
        task = progress.add_task(watch.unit, total=watch.total, facts="")
        while True:
            for line in watch.lines:
                progress.console.print(Text(line))
            watch.lines.clear()
            progress.update(task, completed=watch.done, facts=watch.facts())
            await asyncio.sleep(0.25)


async def _lines(console: Console, watch: Followed) -> None:
    began, latest = time.monotonic(), time.monotonic()
    try:
        while True:
            await asyncio.sleep(0.5)
            _print_lines(console, watch)
            if time.monotonic() - latest >= LINE_INTERVAL_S:
                latest = time.monotonic()
                console.print(Text(f"{latest - began:.0f} s: {watch.facts()}"), soft_wrap=True)
    finally:
        _print_lines(console, watch)


def _print_lines(console: Console, watch: Followed) -> None:
    for line in watch.lines:
        console.print(Text(line), soft_wrap=True)
    watch.lines.clear()


def _described(entry: Entry) -> str:
    evaluation = entry.validation if entry.validation is not None and entry.validation.scores else entry.train
    where = "validation" if evaluation is entry.validation else "training"
    estimate = estimated_mean(evaluation.scores)
    score = "not scored" if estimate is None else f"{estimate.value:.3f}"
    if estimate is not None and estimate.low is not None and estimate.high is not None:
        score += f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    models = " + ".join(f"{count} x {shown(name, 40)}" for name, count in models_of(entry.graph).items())
    return f"{score} in {where}: {models}, {width_of(entry.graph)} wide, {depth_of(entry.graph)} deep"
