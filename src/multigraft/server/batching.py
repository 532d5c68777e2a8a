"""One queue for the candidates of all requests, and batches made of whatever waits when the scorer is free.

No batch waits for company unless asked to (`max_wait_s`): while one is scored the next fills by itself, so batches grow with the load and a lone request is
not held up.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from multigraft.build.lifecycle import Closing, Starting
from multigraft.rewards.scores import unscored
from multigraft.server.worker import Worker
from multigraft.types import Call, Candidate, Completion, FailureKind, Finish, Message, Prompt, Reward, Role, Score, Usage

_LOG = logging.getLogger(__name__)
PROBE = Candidate(
    Prompt("probe", (Message("user", "What is 1 + 1?"),), reference="2", fields={"source": "What is 1 + 1?"}),
    Call(0, "probe", (), Role.ANSWER, 0),
    Completion("The answer is 2.", Finish.STOP, Usage(prompt_tokens=8, completion_tokens=6, context_tokens=8), mean_logprob=-0.5),
)
"""What is scored to see whether the scorer works: any score will do, and so will any reason that is not a passing one."""


class FullError(Exception):
    """There is no room for a request now.

    Args:
        retry_after_s: when there may be; > 0.
    """

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"the queue is full, or too much is being read at once; try again in {retry_after_s:.0f} s")
        self.retry_after_s = retry_after_s


class ClosedError(Exception):
    """The scorer takes no more work."""


@dataclass(slots=True)
class Counts:
    """What was done so far."""

    scored: int = 0
    """Candidates, those without a value included."""
    batches: int = 0
    largest_batch: int = 0
    refused: int = 0
    """Candidates the queue had no room for."""
    given_up: int = 0
    """Candidates whose client left before they were scored."""
    busy_s: float = 0.0
    """Time spent scoring."""


@dataclass(slots=True)
class _Waiting:
    candidate: Candidate
    score: "asyncio.Future[Score]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Batcher:
    """Feeds a scorer.

    Args:
        reward: the scorer; it is started, used and closed in a thread of its own.
        opened: what is to be started and closed with it, in order; None: the scorer alone.
        max_batch: candidates in a batch, if the scorer takes as many; None: what the scorer takes.
        max_waiting: candidates that may wait; >= 1.
        max_wait_s: how long a batch that is not full waits for more; >= 0.
        stall_s: a batch that takes longer makes the server unhealthy; > 0.

    Raises:
        ValueError: a setting out of its range.
    """

    def __init__(
        self,
        reward: Reward,
        *,
        opened: Sequence[object] | None = None,
        max_batch: int | None = None,
        max_waiting: int = 1024,
        max_wait_s: float = 0.0,
        stall_s: float = 120.0,
    ) -> None:
        if (max_batch is not None and max_batch < 1) or max_waiting < 1 or max_wait_s < 0.0 or stall_s <= 0.0:
            limits = f"{max_batch}, {max_waiting}, {max_wait_s} and {stall_s}"
            message = f"max_batch and max_waiting must be at least 1, max_wait_s at least 0 and stall_s above 0, not {limits}"
            raise ValueError(message)
        self.reward = reward
        self._opened = (reward,) if opened is None else tuple(opened)
        self.max_batch = min(reward.max_batch, max_batch or reward.max_batch)
        self.max_waiting = max_waiting
        self.counts = Counts()
        self._max_wait_s, self._stall_s = max_wait_s, stall_s
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = count()
        self._arrived = asyncio.Event()
        self._filled = asyncio.Event()
        self._worker = Worker()
        self._feeding: asyncio.Task[None] | None = None
        self._probing: asyncio.Task[bool] | None = None
        self._since: float | None = None
        """When the batch that is being scored began."""
        self._worked = False
        """Whether the last batch did."""

    @property
    def waiting(self) -> int:
        """Candidates in the queue."""
        return len(self._waiting)

    async def start(self) -> None:
        """Start the scorer, and score one candidate to see that it works.

        Raises:
            Exception: whatever the scorer raised.
        """
        self._worker.start()
        await self._worker.run(self._started())
        self._feeding = asyncio.create_task(self._feed())

    async def scores(self, candidates: Sequence[Candidate]) -> list[Score]:
        """Queue candidates and wait for their scores; cancelling gives their places back.

        Raises:
            FullError: there is no room for all of them.
            ClosedError: the scorer has ended.
        """
        if self._feeding is None or self._feeding.done() or not self._worker.alive:
            raise ClosedError
        if len(self._waiting) + len(candidates) > self.max_waiting:
            self.counts.refused += len(candidates)
            raise FullError(self._room_in_s())
        queued = {next(self._numbers): _Waiting(candidate) for candidate in candidates}
        self._waiting |= queued
        self._arrived.set()
        if len(self._waiting) >= self.max_batch:
            self._filled.set()
        try:
            return [await item.score for item in queued.values()]
        finally:
            for number, item in queued.items():
                if self._waiting.pop(number, None) is not None:
                    self.counts.given_up += 1
                item.score.cancel()

    async def healthy(self) -> bool:
        """Whether scores come out: the last batch worked, or, where it did not, a probe does now."""
        if self._feeding is None or self._feeding.done() or not self._worker.alive:
            return False
        if self._since is not None and time.monotonic() - self._since > self._stall_s:
            return False
        if self._worked:
            return True
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe())
        # Not cancelled with whoever asks first: others wait for the same probe.
        done, _ = await asyncio.wait({self._probing}, timeout=10.0)
        return bool(done) and self._probing.result()

    async def close(self, wait_s: float) -> bool:
        """Stop feeding and close the scorer.

        Args:
            wait_s: how long the scorer may take to end what it does.

        Returns:
            Whether it did.
        """
        if self._feeding is not None:
            self._feeding.cancel()
            await asyncio.wait({self._feeding}, timeout=wait_s)
        _end(self._waiting.values())
        ended = True
        if self._worker.alive:
            try:
                async with asyncio.timeout(wait_s):
                    await self._worker.run(self._ended())
            except TimeoutError:
                ended = False
        return await self._worker.close(wait_s if ended else 0.0)

    async def _started(self) -> None:
        for thing in self._opened:
            if isinstance(thing, Starting):
                await thing.start()
        (score,) = await self.reward.score([PROBE])
        self._worked = not score.retryable

    async def _ended(self) -> None:
        for thing in reversed(self._opened):
            if isinstance(thing, Closing):
                await thing.close()

    async def _feed(self) -> None:
        while True:
            await self._arrived.wait()
            if self._max_wait_s > 0.0 and len(self._waiting) < self.max_batch:
                self._filled.clear()
                await asyncio.wait({waiter := asyncio.ensure_future(self._filled.wait())}, timeout=self._max_wait_s)
                waiter.cancel()
            numbers = list(islice(self._waiting, self.max_batch))
            batch = [self._waiting.pop(number) for number in numbers]
            if not self._waiting:
                self._arrived.clear()
            if batch:
                await self._answer(batch)

    async def _answer(self, batch: Sequence[_Waiting]) -> None:
        try:
            scores = await self._scored([item.candidate for item in batch])
            for item, score in zip(batch, scores, strict=True):
                if not item.score.done():
                    item.score.set_result(score)
        finally:
            _end(batch)

    async def _scored(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        self._since = began = time.monotonic()
        counts = self.counts
        try:
            scores = await self._worker.run(self._tried(candidates))
        finally:
            self._since = None
            counts.busy_s += time.monotonic() - began
        counts.batches += 1
        counts.scored += len(candidates)
        counts.largest_batch = max(counts.largest_batch, len(candidates))
        self._worked = not all(score.retryable for score in scores)
        return scores

    async def _tried(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch; where that raises, each by itself, so that no request suffers for another's."""
        try:
            return self._checked(await self.reward.score(candidates), len(candidates))
        except Exception as error:  # noqa: BLE001 - the thread must outlive whatever a scorer of anybody's does
            _LOG.exception("the scorer failed on a batch of %d", len(candidates))
            if len(candidates) == 1:
                return [unscored(FailureKind.SERVER, f"the scorer failed: {type(error).__name__}; the server's log tells more", retryable=True)]
        return [(await self._tried([candidate]))[0] for candidate in candidates]

    def _checked(self, scores: Sequence[Score], wanted: int) -> Sequence[Score]:
        if len(scores) != wanted:
            message = f"{self.reward.name} returned {len(scores)} scores for {wanted} candidates"
            raise ValueError(message)
        return scores

    async def _probe(self) -> bool:
        try:
            (score,) = await self.scores([PROBE])
        except (FullError, ClosedError):
            return False
        return not score.retryable

    def _room_in_s(self) -> float:
        """Guess from the pace so far when the queue will have emptied."""
        pace_s = self.counts.busy_s / self.counts.scored if self.counts.scored else 0.05
        return min(max(1.0, pace_s * len(self._waiting)), 60.0)


def _end(items: Iterable[_Waiting]) -> None:
    """Tell whoever still waits that no score will come."""
    for item in items:
        if not item.score.done():
            item.score.set_exception(ClosedError())
