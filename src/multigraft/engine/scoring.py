"""Score responses in batches, whatever prompts they belong to, and repeat what failed for a passing reason."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from multigraft.engine.halt import Halt
from multigraft.rewards.scores import scored
from multigraft.types import Candidate, Failure, FailureKind, Ranking, Reward, Score
from multigraft.wire.retry import RetryPolicy, delay_s

_NOT_OF_THE_RESPONSE = frozenset(
    {
        *(FailureKind.AUTH, FailureKind.QUOTA, FailureKind.NOT_FOUND, FailureKind.UNAVAILABLE, FailureKind.BUDGET),
        *(FailureKind.RATE_LIMIT, FailureKind.SERVER, FailureKind.TIMEOUT, FailureKind.CONNECTION),
    }
)
"""Reasons that say nothing of a response: trying again at once would not help, but with the cause mended it is scored after all."""


class Scoring:
    """One reward at work: collects what is to be scored and hands it over in batches.

    Args:
        reward: the scorer.
        retry: when a failed scoring is repeated.
        halt: the run's stop; after it nothing is repeated.
    """

    def __init__(self, reward: Reward, retry: RetryPolicy, halt: Halt) -> None:
        self.reward = reward
        self._halt = halt
        self._retry = retry
        self._waiting: list[tuple[Candidate, asyncio.Future[Score]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._collecting = False

    @cached_property
    def version(self) -> str:
        """Of the scorer, asked for once: some look at files to tell it, and every score is recorded with it."""
        return self.reward.version

    async def score(self, candidate: Candidate) -> Score:
        """Score one response; the value is finite or None, and retryable where a later session may find one."""
        key = (candidate.call.seed, self.reward.name)
        attempt, started = 1, asyncio.get_running_loop().time()
        while True:
            score = checked(await self._join(candidate))
            if score.value is not None or not score.retryable:
                return _to_be_had_later(score)
            failure = Failure(score.reason or FailureKind.SERVER, score.message, retryable=True)
            wait_s = delay_s(self._retry, attempt, failure, elapsed_s=asyncio.get_running_loop().time() - started, key=key)
            if wait_s is not None:
                await self._halt.pause(wait_s)
            if wait_s is None or self._halt.stopped:
                return score
            attempt += 1

    async def _join(self, candidate: Candidate) -> Score:
        if self.reward.max_batch == 1:
            return (await self._batch([candidate]))[0]
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Score] = loop.create_future()
        self._waiting.append((candidate, future))
        if not self._collecting:
            self._collecting = True
            loop.call_soon(self._send)
        return await future

    def _send(self) -> None:
        self._collecting = False
        waiting, self._waiting = self._waiting, []
        for start in range(0, len(waiting), self.reward.max_batch):
            task = asyncio.ensure_future(self._deliver(waiting[start : start + self.reward.max_batch]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _deliver(self, waiting: Sequence[tuple[Candidate, asyncio.Future[Score]]]) -> None:
        try:
            scores = await self._batch([candidate for candidate, _ in waiting])
        except BaseException as error:
            for _, future in waiting:
                if not future.done():
                    future.set_exception(error) if isinstance(error, Exception) else future.cancel()
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), score in zip(waiting, scores, strict=True):
            if not future.done():
                future.set_result(score)

    async def _batch(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        scores = await self.reward.score(candidates)
        if len(scores) == len(candidates):
            return scores
        message = f"{self.reward.name} returned {len(scores)} scores for {len(candidates)} responses"
        return [Score(None, FailureKind.INVALID_SCORE, message)] * len(candidates)


async def scores_of(scorings: Sequence[Scoring], candidate: Candidate, known: Mapping[str, Score]) -> dict[str, Score]:
    """Score a response by every scorer that has not spoken yet, all at once.

    Args:
        scorings: the scorers at work.
        candidate: the response.
        known: scores recorded before, by scorer; one that failed for a passing reason is asked for again.

    Returns:
        What was found now, by scorer.
    """
    missing = [scoring for scoring in scorings if (old := known.get(scoring.reward.name)) is None or old.retryable]
    if len(missing) == 1:  # spares a task
        return {missing[0].reward.name: await missing[0].score(candidate)}
    found = await asyncio.gather(*[scoring.score(candidate) for scoring in missing])
    return {scoring.reward.name: score for scoring, score in zip(missing, found, strict=True)}


async def ranked(ranking: Ranking, candidates: Sequence[Candidate]) -> list[Score]:
    """Score the responses of a prompt against each other; none has a score where there is not one for each."""
    scores = await ranking.rank(candidates)
    if len(scores) == len(candidates):
        return [_to_be_had_later(checked(score)) for score in scores]
    message = f"{ranking.name} returned {len(scores)} scores for {len(candidates)} responses"
    return [Score(None, FailureKind.INVALID_SCORE, message)] * len(candidates)


def checked(score: Score) -> Score:
    """Turn a value that is no finite number into a missing one, and leave out details that are none; nothing that follows need think of NaN."""
    details = score.details
    if details and not all(scored(number).value is not None for number in details.values()):
        details = {name: number for name, number in details.items() if scored(number).value is not None}
    if score.value is None:
        return score if details is score.details else replace(score, details=details)
    # A scorer of somebody else's may return anything at all.
    sound = scored(score.value)
    if sound.value is None:
        return replace(score, value=None, reason=sound.reason, message=f"{sound.message}. {score.message}".strip(), details=details)
    return score if details is score.details and type(score.value) is float else replace(score, value=sound.value, details=details)


def _to_be_had_later(score: Score) -> Score:
    missed = score.value is None and not score.retryable and score.reason in _NOT_OF_THE_RESPONSE
    return replace(score, retryable=True) if missed else score
