"""The queue of a reward server: how batches form, when it is full, who is let go, and when it is well."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from multigraft.rewards.scores import scored, unscored
from multigraft.rewards.scripted import Scripted
from multigraft.server.batching import Batcher, ClosedError, FullError
from multigraft.testing.reward_suite import candidate
from multigraft.types import Candidate, FailureKind, Score


class Held(Scripted):
    """Scores by length, when it is let; raises at a text that says so. It lives in another thread, so it is held by what threads have."""

    def __init__(self, *, max_batch: int = 8) -> None:
        super().__init__(lambda one: float(len(one.completion.text)), max_batch=max_batch)
        self.gate = threading.Event()
        self.gate.set()
        self.failing = False
        self.closed = False

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        await asyncio.to_thread(self.gate.wait)
        if any("raise" in one.completion.text for one in candidates):
            message = "a text said so"
            raise RuntimeError(message)
        if self.failing:
            return [unscored(FailureKind.CONNECTION, "gone", retryable=True)] * len(candidates)
        return await super().score(candidates)

    async def close(self) -> None:
        self.closed = True


@asynccontextmanager
async def started(
    reward: Held, *, max_waiting: int = 100, max_batch: int | None = None, max_wait_s: float = 0.0, stall_s: float = 60.0
) -> AsyncIterator[Batcher]:
    batcher = Batcher(reward, max_batch=max_batch, max_waiting=max_waiting, max_wait_s=max_wait_s, stall_s=stall_s)
    await batcher.start()
    reward.batches.clear()  # without that of the probe at the start
    yield batcher
    reward.gate.set()
    assert await batcher.close(5.0)


def texts(*lengths: int) -> list[Candidate]:
    return [candidate("x" * length, ordinal=index) for index, length in enumerate(lengths)]


async def soon(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5.0):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.005)


async def test_requests_in_flight_share_batches() -> None:
    reward = Held()
    async with started(reward) as batcher:
        reward.gate.clear()
        first = asyncio.create_task(batcher.scores(texts(1)))
        await soon(lambda: batcher._since is not None)
        others = [asyncio.create_task(batcher.scores(texts(10 * n, 10 * n + 1))) for n in range(1, 6)]
        await soon(lambda: batcher.waiting == 10)
        reward.gate.set()
        assert [score.value for score in await first] == [1.0]
        assert [[score.value for score in await task] for task in others] == [[10.0 * n, 10.0 * n + 1.0] for n in range(1, 6)]
        assert reward.batches == [1, 8, 2]
        assert (batcher.counts.scored, batcher.counts.batches, batcher.counts.largest_batch) == (11, 3, 8)


async def test_a_lone_request_does_not_wait_unless_asked_to() -> None:
    reward = Held()
    async with started(reward, max_wait_s=30.0, max_batch=3) as batcher:
        waiting = asyncio.create_task(batcher.scores(texts(1)))
        await asyncio.sleep(0.05)
        assert reward.batches == []
        more = asyncio.create_task(batcher.scores(texts(2, 3)))
        assert [score.value for score in [*await waiting, *await more]] == [1.0, 2.0, 3.0]
        assert reward.batches == [3]
    async with started(reward, max_wait_s=0.05) as batcher:
        assert [score.value for score in await batcher.scores(texts(4))] == [4.0]


async def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    reward = Held()
    async with started(reward, max_waiting=4) as batcher:
        reward.gate.clear()
        scoring = asyncio.create_task(batcher.scores(texts(1)))
        await soon(lambda: batcher._since is not None)
        waiting = asyncio.create_task(batcher.scores(texts(1, 2, 3)))
        await soon(lambda: batcher.waiting == 3)
        with pytest.raises(FullError) as full:
            await batcher.scores(texts(1, 2))
        assert 1.0 <= full.value.retry_after_s <= 60.0
        assert batcher.waiting == 3
        last = asyncio.create_task(batcher.scores(texts(9)))
        await soon(lambda: batcher.waiting == 4)
        reward.gate.set()
        assert [score.value for score in await last] == [9.0]
        await asyncio.gather(scoring, waiting)
        assert batcher.counts.refused == 2


async def test_who_leaves_gives_the_places_back() -> None:
    reward = Held()
    async with started(reward, max_waiting=4) as batcher:
        reward.gate.clear()
        scoring = asyncio.create_task(batcher.scores(texts(1)))
        await soon(lambda: batcher._since is not None)
        leaving = asyncio.create_task(batcher.scores(texts(1, 2, 3, 4)))
        await soon(lambda: batcher.waiting == 4)
        leaving.cancel()
        await asyncio.wait({leaving})
        assert (batcher.waiting, batcher.counts.given_up) == (0, 4)
        scoring.cancel()
        await asyncio.wait({scoring})
        staying = asyncio.create_task(batcher.scores(texts(7)))
        reward.gate.set()
        assert [score.value for score in await staying] == [7.0]
        assert reward.batches == [1, 1]


async def test_one_bad_candidate_does_not_spoil_its_batch(caplog: pytest.LogCaptureFixture) -> None:
    reward = Held()
    async with started(reward) as batcher:
        good, bad, too = await batcher.scores([candidate("xx"), candidate("raise", ordinal=1), candidate("xxx", ordinal=2)])
        assert (good.value, too.value) == (2.0, 3.0)
        assert (bad.value, bad.reason, bad.retryable) == (None, FailureKind.SERVER, True)
        assert "a text said so" not in bad.message
        assert "a text said so" in caplog.text
        assert await batcher.healthy()


async def test_health_follows_what_scoring_did_last() -> None:
    reward = Held()
    async with started(reward, stall_s=0.05) as batcher:
        assert await batcher.healthy()
        reward.failing = True
        await batcher.scores(texts(1))
        assert not await batcher.healthy()
        reward.failing = False
        assert await batcher.healthy(), "a probe finds that it works again"
        reward.gate.clear()
        hanging = asyncio.create_task(batcher.scores(texts(1)))
        await asyncio.sleep(0.2)
        assert not await batcher.healthy()
        reward.gate.set()
        await hanging
        assert await batcher.healthy()
    assert not await batcher.healthy()
    assert reward.closed


async def test_a_wrong_number_of_scores_is_a_failure() -> None:
    class Short(Held):
        async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
            return [scored(1.0)] * (1 if len(candidates) == 1 else len(candidates) - 1)

    async with started(Short()) as batcher:
        assert [score.value for score in await batcher.scores(texts(1, 2, 3))] == [1.0] * 3


async def test_closing_ends_whoever_waits() -> None:
    reward = Held()
    batcher = Batcher(reward)
    await batcher.start()
    reward.gate.clear()
    tasks = [asyncio.create_task(batcher.scores(texts(1))) for _ in range(20)]
    await soon(lambda: batcher.waiting > 0)
    closing = asyncio.create_task(batcher.close(5.0))
    await asyncio.sleep(0.05)
    reward.gate.set()
    assert await closing
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, ClosedError) for result in results)
    with pytest.raises(ClosedError):
        await batcher.scores(texts(1))


def test_settings_out_of_range_are_refused() -> None:
    for settings in ({"max_batch": 0}, {"max_waiting": 0}, {"stall_s": 0.0}):
        with pytest.raises(ValueError, match="must be at least 1"):
            Batcher(Scripted(), **settings)
