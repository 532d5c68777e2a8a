import asyncio
from collections.abc import Sequence

import pytest
from tests.engine.virtual_run import MemoryLog, VirtualRun, prompts_of, virtually

from multigraft.errors import DiskFullError
from multigraft.models.scripted import ScriptedModel
from multigraft.records.rows import EndRow, OutcomeRow, ResponseRow, ScoreRow, SentRow
from multigraft.rewards.scripted import Scripted
from multigraft.strategies.table import strategy_from
from multigraft.types import Candidate, Completion, Failure, FailureKind, Request, Sample, Score

PARALLEL = {"num_responses": 4, "max_parallel": 4}


class Slow:
    """A model that takes a second, and fails as it is told."""

    def __init__(self, name: str = "m0", failures: int = 0, seconds: float = 1.0) -> None:
        self.name = name
        self.failures = failures
        self.seconds = seconds
        self.began_s: list[float] = []
        self.log: Safe | None = None
        self.unknown = 0
        """Calls that were sent before the record knew of them."""

    async def generate(self, request: Request) -> Sequence[Sample]:
        now_s = asyncio.get_running_loop().time()
        self.began_s.append(now_s)
        if self.log is not None:
            known = {row.call.seed for row in self.log.rows[: self.log.safe] if isinstance(row, SentRow)}
            self.unknown += not set(request.seeds) <= known
        await asyncio.sleep(self.seconds)
        if self.failures > 0:
            self.failures -= 1
            return [Failure(FailureKind.SERVER, "down for a moment", retryable=True)] * len(request.seeds)
        return await ScriptedModel(name=self.name).generate(request)


def run_of(model: Slow, reward: Scripted | None = None, **settings: object) -> VirtualRun:
    scorer = reward or Scripted()
    return VirtualRun(strategy=strategy_from("parallel", PARALLEL), models=[model], reward_of=lambda _: scorer, **settings)  # type: ignore[arg-type]


def kinds(run: VirtualRun, kind: type[object]) -> int:
    assert isinstance(run.log, MemoryLog)
    return sum(isinstance(row, kind) for row in run.log.rows)


async def stopped(run: VirtualRun, after_s: float, num_prompts: int = 4) -> None:
    asyncio.get_running_loop().call_later(after_s, run.halt.stop, "interrupted")
    await run.run(prompts_of(num_prompts))


def test_a_stop_lets_calls_in_flight_end_and_sends_nothing_more() -> None:
    model = Slow()
    run = run_of(model, max_in_flight=3)
    virtually(lambda: stopped(run, 0.5))
    assert len(model.began_s) == 3
    assert max(model.began_s) < 0.5
    # Thirteen calls waited for a place: they were never sent, and the record does not say so.
    assert kinds(run, SentRow) == kinds(run, ResponseRow) == kinds(run, OutcomeRow) == 3
    assert kinds(run, EndRow) == 0
    assert run.purchases.ledger.spent.calls == 3
    assert run.purchases.ledger.reserved.calls == 0


def test_a_call_that_waits_to_be_tried_again_stays_untold() -> None:
    model = Slow(failures=1)
    run = run_of(model, max_in_flight=1)
    virtually(lambda: stopped(run, 1.2, num_prompts=1))
    assert len(model.began_s) == 2  # the second call had taken the place when the stop came
    assert kinds(run, SentRow) == 2
    assert kinds(run, ResponseRow) == kinds(run, OutcomeRow) == 1
    assert run.purchases.ledger.spent.calls == 2  # what failed was paid for all the same


def test_a_response_that_cannot_be_scored_for_the_moment_stays_untold_when_the_run_stops() -> None:
    model = Slow()

    def busy(_: Candidate) -> Score:
        return Score(None, FailureKind.RATE_LIMIT, "busy", retryable=True)

    run = run_of(model, Scripted(faults=busy))
    virtually(lambda: stopped(run, 1.1, num_prompts=1))
    assert kinds(run, ResponseRow) == 4
    assert kinds(run, ScoreRow) == 4
    assert kinds(run, OutcomeRow) == 0
    assert run.campaign.tally.ends == {}


def test_no_answer_is_waited_for_longer_than_the_drain() -> None:
    model = Slow(seconds=100.0)
    run = run_of(model)
    run.campaign.drain_s = 0.3  # real seconds: the drain is for people

    async def wait() -> None:
        asyncio.get_running_loop().call_later(0.05, run.halt.stop, "interrupted")
        await run.run(prompts_of(1))

    asyncio.run(wait())
    assert kinds(run, SentRow) == 4
    assert kinds(run, ResponseRow) == 0
    assert run.purchases.ledger.spent.calls == 4  # their fate is unknown, so they count


def test_time_that_is_up_waits_for_its_calls_but_not_for_a_person() -> None:
    model = Slow(seconds=100.0)
    run = run_of(model)
    run.campaign.drain_s = 0.2

    async def wait() -> float:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        loop.call_later(0.05, run.halt.time_is_up)
        loop.call_later(0.8, run.halt.stop, "interrupted")
        await run.run(prompts_of(1))
        return loop.time() - began_s

    assert 0.9 <= asyncio.run(wait()) <= 4.0
    assert run.halt.reason == "the time budget is spent"


class Safe(MemoryLog):
    """A record that knows how much of it is safe, and is full at some point."""

    def __init__(self, room: int = 10**6) -> None:
        super().__init__()
        self.room = room
        self.safe = 0

    async def durable(self) -> None:
        wanted = len(self.rows)
        await asyncio.sleep(0.01)
        if wanted > self.room:
            self.error = DiskFullError("no space left")
        if self.error is not None:
            raise self.error
        self.safe = max(self.safe, wanted)


def test_the_record_knows_of_a_call_before_it_is_sent() -> None:
    model = Slow()
    model.log = log = Safe()
    run = run_of(model, log=log)
    virtually(lambda: run.run(prompts_of(5)))
    assert len(model.began_s) == 20
    assert model.unknown == 0


def test_nothing_is_sent_once_the_record_is_full() -> None:
    model = Slow(seconds=0.2)
    run = run_of(model, log=Safe(room=40), max_in_flight=4)
    full_s: list[float] = []

    async def fill() -> None:
        with pytest.raises(DiskFullError):
            await run.run(prompts_of(50))
        full_s.append(asyncio.get_running_loop().time())

    virtually(fill)
    assert model.began_s
    assert max(model.began_s) <= full_s[0]
    assert len(model.began_s) < 40  # every call takes at least a row
    assert kinds(run, SentRow) >= len(model.began_s)


async def test_completions_of_a_group_survive_the_failure_of_their_neighbours() -> None:
    class Half(Slow):
        async def generate(self, request: Request) -> Sequence[Sample]:
            self.began_s.append(0.0)
            samples = list(await ScriptedModel(name=self.name).generate(request))
            if len(samples) > 1:
                samples[1] = Failure(FailureKind.SERVER, "one of them failed", retryable=True)
            return samples

    model = Half()
    run = run_of(model, together=True)
    await asyncio.wait_for(stopped(run, 0.1, num_prompts=1), 20)
    assert isinstance(run.log, MemoryLog)
    responses = [row for row in run.log.rows if isinstance(row, ResponseRow)]
    assert all(isinstance(row.sample, Completion) for row in responses)
    assert len(responses) == 3  # the fourth was to be asked for again when the stop came
    assert kinds(run, OutcomeRow) == 3
