"""Rate-limited servers and a client of the throttle, in virtual time."""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Protocol

from multigraft.wire.throttle import Throttle


class RateServer(Protocol):
    rate: float

    def take(self, now: float) -> float | None:
        """Return None when the call is taken, else the seconds until one would be."""
        ...


@dataclass
class TokenBucket:
    rate: float
    burst: float
    tokens: float = field(init=False)
    at: float = 0.0

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def take(self, now: float) -> float | None:
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens >= 1:
            self.tokens -= 1
            return None
        return (1 - self.tokens) / self.rate


@dataclass
class SlidingWindow:
    rate: float
    window_s: float = 1.0
    taken: deque[float] = field(default_factory=deque)

    def take(self, now: float) -> float | None:
        while self.taken and self.taken[0] <= now - self.window_s:
            self.taken.popleft()
        if len(self.taken) < self.rate * self.window_s:
            self.taken.append(now)
            return None
        return self.taken[0] + self.window_s - now


@dataclass
class Log:
    accepted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    too_soon: int = 0

    def share_refused(self, start: float, end: float) -> float:
        bad = sum(start <= at < end for at in self.refused)
        good = sum(start <= at < end for at in self.accepted)
        return bad / max(1, bad + good)

    def goodput(self, start: float, end: float) -> float:
        return sum(start <= at < end for at in self.accepted) / (end - start)


def asks_whole_seconds(wait_s: float) -> float | None:
    return float(ceil(wait_s))


def asks_exactly(wait_s: float) -> float | None:
    return wait_s


def asks_nothing(wait_s: float) -> float | None:
    return None


def simulate(
    server: RateServer,
    *,
    until_s: float,
    latency_s: float = 0.1,
    asks: Callable[[float], float | None] = asks_whole_seconds,
    changes: tuple[tuple[float, float], ...] = (),
    throttle: Throttle | None = None,
) -> Log:
    """Run a client that always has another call to send."""
    throttle = throttle or Throttle()
    log = Log()
    pending: list[tuple[float, float, bool, float | None]] = []
    rates = deque(changes)
    now, quiet_until = 0.0, 0.0
    while now < until_s:
        while rates and rates[0][0] <= now:
            server.rate = rates.popleft()[1]
        while pending and pending[0][0] <= now:
            _, sent_at, good, asked = heapq.heappop(pending)
            in_flight = len(pending) + 1
            if good:
                throttle.succeeded()
            else:
                throttle.refused(now, sent_at, in_flight, asked)
                if asked is not None:
                    quiet_until = max(quiet_until, now + asked)
        wait_s = throttle.opens_in_s(now, len(pending))
        if wait_s == 0.0:
            throttle.sent(now, len(pending) + 1)
            log.too_soon += now < quiet_until - 1e-9
            wait = server.take(now)
            if wait is None:
                log.accepted.append(now)
                heapq.heappush(pending, (now + latency_s, now, True, None))
            else:
                log.refused.append(now)
                heapq.heappush(pending, (now + 0.01, now, False, asks(wait)))
            continue
        now = min(now + wait_s, pending[0][0] if pending else inf) + 1e-9
    return log
