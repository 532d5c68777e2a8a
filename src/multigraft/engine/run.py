"""One prompt, from its first call to its last: the whole flow on one screen."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from multigraft.budget.shortage import Shortage
from multigraft.engine.entry import Entry
from multigraft.engine.halt import Halt
from multigraft.engine.replay import answer_of, outcome_of
from multigraft.engine.step import Stepped, Workshop, groups_of
from multigraft.knowledge import REWARD, Knowledge
from multigraft.records.reader import CallRecord
from multigraft.records.rows import AnswerRow, EndRow, OutcomeRow
from multigraft.strategies.base import State, Strategy
from multigraft.types import Call, Completion, FailureKind, Score


@dataclass(slots=True, kw_only=True)
class PromptRun:
    """A prompt under way.

    Args:
        entry: the prompt, and its place in the record.
        strategy: decides what is called.
        state: fresh, or restored from the record.
        workshop: carries calls out.
        knowledge: of the run; told every outcome in the order of the record.
        halt: the run's stop; asked before anything is sent.
        recorded: calls of the record, by id: those not told yet are not sent again.
        cost_unit: see `replay.outcome_of`.
        limit_s: seconds of this process after which the prompt asks nothing more; None: no limit.
        noticed: called with every step told, for whoever counts.
    """

    entry: Entry
    strategy: Strategy[Any]
    state: State
    workshop: Workshop
    knowledge: Knowledge
    halt: Halt
    recorded: dict[int, CallRecord] = field(default_factory=dict)
    cost_unit: str | None = None
    noticed: Callable[[Stepped, Score | None], None] = lambda _step, _score: None
    limit_s: float | None = None
    texts: dict[int, str] = field(default_factory=dict)
    _steps: asyncio.Queue[list[Stepped]] = field(default_factory=asyncio.Queue)
    _told: dict[int, Stepped] = field(default_factory=dict)
    """Responses of this process that are still to be ranked."""
    _short: bool = False
    _answered: bool = False
    """Whether this process recorded which response is the answer."""
    _answer: int | None = None
    _began_s: float = field(default_factory=time.monotonic)

    async def finish(self) -> str | None:
        """Work until the strategy is done, the budget has no room, or the run halts.

        Returns:
            Why the prompt ended, as in `EndRow`; None when the run was halted before.
        """
        self.texts.update({call_id: call.text for call_id, call in self.recorded.items() if call.text is not None})
        pending = [self.state.calls[call_id] for call_id in sorted(self.state.in_flight)]
        async with asyncio.TaskGroup() as tasks:
            under_way = self._dispatch(tasks, pending)
            while True:
                if not self.halt.stopped and not self._short and not self._is_late():
                    under_way += self._dispatch(tasks, self._asks())
                if under_way == 0:
                    break
                told = await self._next_steps()
                under_way -= len(told)
                for steps in told:
                    for step in steps:
                        self._tell(step)
        if self.workshop.ranking is not None and not self.halt.stopped:
            await self._rank()
        return self._end()

    async def _rank(self) -> None:
        earlier = {call_id: Stepped(found.call, found.sample, found.spent) for call_id, found in self.recorded.items() if found.told_sequence is not None}
        steps = earlier | self._told
        for step in await self.workshop.rank(self.entry, [steps[call_id] for call_id in sorted(steps)]):
            self.workshop.reward_later(self.entry, step, step.scores, self.knowledge)

    def _is_late(self) -> bool:
        return self.limit_s is not None and time.monotonic() - self._began_s >= self.limit_s

    def _asks(self) -> list[Call]:
        calls = []
        while isinstance(call := self.strategy.ask(self.state), Call):
            calls.append(call)
        return calls

    def _dispatch(self, tasks: asyncio.TaskGroup, calls: Sequence[Call]) -> int:
        fresh = [call for call in calls if call.call_id not in self.recorded]
        old = [call for call in calls if call.call_id in self.recorded]
        groups = groups_of(fresh, self.workshop.contestants) if fresh and not self.halt.stopped else []
        for group in groups:
            tasks.create_task(self._make(group))
        for call in old:
            tasks.create_task(self._score(self.recorded[call.call_id]))
        return len(groups) + len(old)

    async def _make(self, calls: Sequence[Call]) -> None:
        self._steps.put_nowait(await self.workshop.make(self.entry, calls, self.texts))

    async def _score(self, recorded: CallRecord) -> None:
        step = Stepped(recorded.call, recorded.sample, recorded.spent)
        known = {name: found.score for name, found in recorded.scores.items()}
        self._steps.put_nowait([await self.workshop.score(self.entry, step, known)])

    async def _next_steps(self) -> list[list[Stepped]]:
        told = [await self._steps.get()]
        while not self._steps.empty():
            told.append(self._steps.get_nowait())
        return told

    def _tell(self, step: Stepped) -> None:
        call, sample = step.call, step.sample
        if isinstance(sample, Shortage):
            self._short = True
            return
        if self.halt.untold(call.model, sample) or (self.halt.stopped and any(score.retryable for score in step.scores.values())):
            return
        if step.unrecorded is not None:
            self.workshop.log.append(step.unrecorded)
        score: Score | None = None
        if isinstance(sample, Completion):
            self.texts[call.call_id] = sample.text
            if self.workshop.ranking is None:
                self.workshop.combination.learn(step.scores, call.model, self.knowledge)
                score = self.workshop.combination.value(step.scores, call.model, self.knowledge)
            else:
                self._told[call.call_id] = step
        reward = score.value if score else None
        reason: FailureKind | None = sample.kind if not isinstance(sample, Completion) else score.reason if score else None
        if reward is not None:
            self.knowledge.add(REWARD, reward)
        self.workshop.log.append(OutcomeRow(self.entry.enter(self.workshop.log), call.call_id, reward, reason, len(self.state.calls)))
        answer = answer_of(step.scores, self.workshop.combination)
        self.strategy.tell(self.state, call.call_id, outcome_of(sample, reward, step.spent, self.cost_unit, answer), self.knowledge)
        self._note_answer()
        self.noticed(step, score)

    def _note_answer(self) -> None:
        """Record which response is the answer, where the strategy says so itself and what it says changed; in one commit with the outcome it follows from."""
        if not getattr(self.strategy, "concludes", False):
            return
        answer = self.strategy.best(self.state)
        if not self._answered or answer != self._answer:
            self._answered, self._answer = True, answer
            self.workshop.log.append(AnswerRow(self.entry.enter(self.workshop.log), answer))

    def _end(self) -> str | None:
        if self._short:
            reason = "budget"
        elif not self.halt.stopped and isinstance(self.strategy.ask(self.state), Call):  # the state is of no use any more
            reason = "overtime"
        elif self.halt.out_of_time:
            reason = "seconds"
        elif self.halt.stopped:
            return None
        else:
            reason = "done" if self.state.rewards else "failed"
        if self.entry.number is not None:
            self.workshop.log.append(EndRow(self.entry.number, reason))
        return reason
