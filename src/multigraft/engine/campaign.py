"""A whole run: many prompts side by side, one budget, one record, one stop."""

import asyncio
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from multigraft.budget.amount import NO_LIMITS, Limits
from multigraft.budget.ledger import Ledger
from multigraft.engine.entry import Entry
from multigraft.engine.halt import Halt
from multigraft.engine.judging import Judging
from multigraft.engine.replay import Restored, Resumption
from multigraft.engine.run import PromptRun
from multigraft.engine.step import Stepped, Workshop
from multigraft.errors import MultigraftError, RecordError
from multigraft.records.reader import CallRecord, PromptRecord
from multigraft.records.rows import SessionRow
from multigraft.strategies.base import Strategy
from multigraft.types import Completion, Prompt, Score

PATIENCE_S = 60.0
"""How long calls in flight are waited for when the time budget is spent: long enough for most answers, which are paid for, but not for a dead endpoint."""
SESSION_INTERVAL_S = 5.0
"""How often the seconds worked are recorded."""


@dataclass(slots=True)
class Tally:
    """What has happened so far in this process, for whoever watches."""

    prompts_ended: int = 0
    responses: int = 0
    failures: int = 0
    unscored: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    """Prompts ended, by reason."""

    def notice(self, step: Stepped, score: Score | None) -> None:
        """Count one step; a response that is still to be ranked has no score yet."""
        if not isinstance(step.sample, Completion):
            self.failures += 1
            return
        self.responses += 1
        self.unscored += score is not None and score.value is None


@dataclass(slots=True, kw_only=True)
class Campaign:
    """Many prompts under one budget.

    Args:
        strategy: decides what is called.
        models: names, in the order of the run file.
        seed: of the run.
        workshop: carries calls out.
        resumption: where the run stands; a fresh one for a new run.
        halt: the run's stop.
        prompts_in_flight: prompts under way at once at most; >= 1.
        prompt_limits: what each prompt may spend.
        cost_unit: see `replay.outcome_of`.
        drain_s: seconds that calls in flight get to end after a stop, before they are cut off.
        judging: the judges that the search does not see; they score chosen responses of every prompt that has ended.
    """

    strategy: Strategy[Any]
    models: Sequence[str]
    seed: int
    workshop: Workshop
    resumption: Resumption
    halt: Halt
    prompts_in_flight: int
    prompt_limits: Limits = NO_LIMITS
    cost_unit: str | None = None
    drain_s: float = 8.0
    judging: Judging | None = None
    tally: Tally = field(default_factory=Tally)
    began_s: float = field(default_factory=time.monotonic)
    _numbers: Iterator[int] = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = itertools.count(self.resumption.num_prompts)

    @property
    def ledger(self) -> Ledger:
        """The run's."""
        return self.workshop.purchases.ledger

    @property
    def elapsed_s(self) -> float:
        """Seconds worked on the run, earlier processes included."""
        return self.resumption.seconds + time.monotonic() - self.began_s

    async def run(self, prompts: Iterable[Prompt], rescored: Iterable[PromptRecord] = ()) -> Tally:
        """Work through the prompts.

        Args:
            prompts: all of the run, in any order; finished ones are passed over, unfinished ones of the record come first.
            rescored: finished prompts of the record some of whose responses lack a reward for a passing reason; read one by one.

        Raises:
            RecordError: the record cannot be written; what it holds is safe.
        """
        queue = self._order(prompts, rescored)
        workers = [asyncio.create_task(self._work(queue), name=f"prompts {index}") for index in range(self.prompts_in_flight)]
        clock = asyncio.create_task(self._clock(), name="clock")
        try:
            await self._finish(workers)
        finally:
            clock.cancel()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(clock, *workers, return_exceptions=True)
            self._note_session()
        await self.workshop.log.durable()
        return self.tally

    async def _finish(self, workers: Sequence[asyncio.Task[None]]) -> None:
        grace_s: float | None = None
        until_s = 0.0
        pending = set(workers)
        while pending:
            done, pending = await asyncio.wait(pending, timeout=0.2, return_when=asyncio.FIRST_EXCEPTION)
            for worker in done:
                _raise_first(worker)
            if self.halt.stopped:
                allowed_s = PATIENCE_S if self.halt.patient else self.drain_s
                if grace_s != allowed_s:  # just stopped, or interrupted while it waited for its last calls
                    grace_s, until_s = allowed_s, time.monotonic() + allowed_s
                if time.monotonic() > until_s:
                    return

    def _order(self, prompts: Iterable[Prompt], rescored: Iterable[PromptRecord]) -> Iterator[PromptRecord | Restored | Prompt | int]:
        # Those whose rewards are still to be found are judged after that, as which of their responses is the best may change.
        ended = set(self.resumption.ended)
        for record in rescored:
            ended.discard(record.number)
            yield record
        unfinished = dict(self.resumption.unfinished)
        yield from unfinished.values()
        for prompt in prompts:
            if prompt.prompt_id not in unfinished and prompt.prompt_id not in self.resumption.finished:
                yield prompt
        if self.judging is not None:
            yield from sorted(ended)

    async def _work(self, queue: Iterator[PromptRecord | Restored | Prompt | int]) -> None:
        for waiting in queue:
            if self.halt.stopped:
                return
            if isinstance(waiting, int):
                await self._judge(waiting)
                continue
            if isinstance(waiting, PromptRecord):
                entry = Entry(waiting.prompt, self._numbers, waiting.number, waiting.replies)
                self.workshop.purchases.open(entry, Ledger(self.prompt_limits, self.ledger, waiting.spent(), scope="prompt"))
                await self._rescore(waiting)
                self.workshop.purchases.close(waiting.prompt.prompt_id)
                await self._judge(waiting.number)
                continue
            run = self._prompt_run(waiting)
            reason = await run.finish()
            if isinstance(waiting, Restored) and self.workshop.ranking is None:  # a ranking has just compared everything
                await self._rescore(waiting.record)
            self.workshop.purchases.close(run.entry.prompt.prompt_id)
            if reason is not None and run.entry.number is not None:
                await self._judge(run.entry.number)
            if reason is not None:
                self.tally.prompts_ended += 1
                self.tally.ends[reason] = self.tally.ends.get(reason, 0) + 1

    def _prompt_run(self, waiting: Restored | Prompt) -> PromptRun:
        recorded: dict[int, CallRecord] = {}
        if isinstance(waiting, Restored):
            entry, state = Entry(waiting.record.prompt, self._numbers, waiting.number, waiting.record.replies), waiting.state
            recorded = waiting.record.calls
            ledger = Ledger(self.prompt_limits, self.ledger, waiting.record.spent(), scope="prompt")
        else:
            entry, state = Entry(waiting, self._numbers), self.strategy.init(waiting.prompt_id, self.models, self.seed)
            ledger = Ledger(self.prompt_limits, self.ledger, scope="prompt")
        self.workshop.purchases.open(entry, ledger)
        return PromptRun(
            entry=entry,
            strategy=self.strategy,
            state=state,
            workshop=self.workshop,
            knowledge=self.resumption.knowledge,
            halt=self.halt,
            recorded=recorded,
            cost_unit=self.cost_unit,
            limit_s=self.prompt_limits.seconds,
            noticed=self.tally.notice,
        )

    async def _judge(self, number: int) -> None:
        if self.judging is not None and not self.halt.stopped:
            await self.workshop.log.durable()
            await self.judging.judge(number)

    async def _rescore(self, record: PromptRecord) -> None:
        """Score what was told without a reward for a passing reason; such rewards count in the data, but no strategy is told them."""
        entry, knowledge = Entry(record.prompt, self._numbers, record.number, record.replies), self.resumption.knowledge
        told = [call for call in record.calls.values() if call.told_sequence is not None]
        waiting = [call for call in told if any(found.score.retryable for name, found in call.scores.items() if name in self.workshop.guiding)]
        if self.workshop.ranking is not None and waiting:
            for step in await self.workshop.rank(entry, [Stepped(call.call, call.sample, call.spent) for call in told]):
                self.workshop.reward_later(entry, step, step.scores, knowledge)
            return
        for call in waiting:
            if self.halt.stopped:
                return
            known = {name: found.score for name, found in call.scores.items() if name in self.workshop.guiding}
            step = await self.workshop.score(entry, Stepped(call.call, call.sample, call.spent), known)
            found = {name: score for name, score in step.scores.items() if name not in known or known[name].retryable}
            self.workshop.reward_later(entry, step, found, knowledge)

    async def _clock(self) -> None:
        """Record the seconds worked, and stop the run when they are spent."""
        while not self.halt.stopped:
            self._note_session()
            rest_s = SESSION_INTERVAL_S
            limit_s = self.ledger.limits.seconds
            if limit_s is not None:
                rest_s = min(rest_s, limit_s - self.elapsed_s)
                if rest_s <= 0:
                    self.halt.time_is_up()
                    return
            await asyncio.sleep(rest_s)

    def _note_session(self) -> None:
        self.workshop.log.append(SessionRow(self.resumption.session, time.monotonic() - self.began_s))


def _raise_first(worker: asyncio.Task[None]) -> None:
    """Raise what a worker failed of; of several failures the record's own comes first, as the others follow from it."""
    error = worker.exception()
    if error is None:
        return
    leaves = list(_leaves(error))
    for wanted in (RecordError, MultigraftError):
        for leaf in leaves:
            if isinstance(leaf, wanted):
                raise leaf
    raise leaves[0]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
