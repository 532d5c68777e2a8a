"""Rows of work under faults, with the retries a run would make."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from multigraft.types import Completion, FailureKind, Message, Model, Request, Sample, Sampling
from multigraft.wire.retry import RetryPolicy, delay_s

POLICY = RetryPolicy(max_attempts=6, total_timeout_s=600.0, base_s=0.1, max_s=2.0)


@dataclass
class Claim:
    """A bound, and whether it held."""

    text: str
    held: bool


@dataclass
class Outcome:
    """What one case measured."""

    numbers: dict[str, float | int | str]
    claims: list[Claim]


@dataclass
class Tally:
    """What came of many rows."""

    good: int = 0
    lost: list[Sample] = field(default_factory=list)
    kinds: Counter[FailureKind] = field(default_factory=Counter)
    attempts: list[int] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    longest_attempt_s: float = 0.0
    wall_s: float = 0.0


def request_of(number: int, text: str = "", *, max_tokens: int = 64) -> Request:
    return Request((Message("user", f"question {number} {text}"),), Sampling(max_tokens=max_tokens), (number,))


async def row(model: Model, request: Request, tally: Tally) -> Sample:
    """Sample once, trying again as the policy says."""
    started = time.monotonic()
    attempt = 0
    while True:
        attempt += 1
        began = time.monotonic()
        (sample,) = await model.generate(request)
        tally.longest_attempt_s = max(tally.longest_attempt_s, time.monotonic() - began)
        if isinstance(sample, Completion):
            tally.good += 1
            tally.attempts.append(attempt)
            tally.ends.append(time.monotonic())
            return sample
        tally.kinds[sample.kind] += 1
        wait_s = delay_s(POLICY, attempt, sample, elapsed_s=time.monotonic() - started, key=(request.seeds[0],))
        if wait_s is None:
            tally.attempts.append(attempt)
            tally.lost.append(sample)
            return sample
        await asyncio.sleep(wait_s)


async def work(model: Model, requests: Iterable[Request], *, at_once: int) -> Tally:
    """Do all rows, so many at once."""
    tally = Tally()
    line = iter(requests)
    started = time.monotonic()

    async def worker() -> None:
        for request in line:
            await row(model, request, tally)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(worker())
    tally.wall_s = time.monotonic() - started
    return tally


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
