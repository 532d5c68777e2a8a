"""Calls that wait for an endpoint, first come first served."""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

from multigraft.types import Failure, FailureKind
from multigraft.wire.exchange import Exchanged
from multigraft.wire.lane import Lane, Place


@dataclass(frozen=True, slots=True)
class _Waiting:
    path: str
    since: float
    place: "asyncio.Future[Place | Failure]"


class WaitingLine:
    """Who goes next, and where to.

    Args:
        lanes: the endpoints.
        name: of the model or scorer, for messages.
        give_up_s: how long a call waits while no endpoint works.
        first_contact_s: the same as long as none has answered at all.
    """

    def __init__(self, lanes: Sequence[Lane], *, name: str, give_up_s: float, first_contact_s: float) -> None:
        self._lanes = lanes
        self._name = name
        self._give_up_s = give_up_s
        self._first_contact_s = first_contact_s
        self._waiting: deque[_Waiting] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._down_since: float | None = None
        self._answered = False
        self._turn = 0

    def at_once(self, path: str) -> Place | None:
        """Give a call a place without waiting, if nobody waits and an endpoint takes it."""
        if self._waiting:
            return None
        now = time.monotonic()
        lane = self._least_loaded(path, now)
        return None if lane is None else lane.admit(now)

    async def turn(self, path: str) -> Place | Failure:
        """Wait for a place.

        Returns:
            A place, or why there will be none.
        """
        future: asyncio.Future[Place | Failure] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(path, time.monotonic(), future))
        self.advance()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                place = future.result()
                if isinstance(place, Place):
                    place.lane.drop(place, time.monotonic())
            self.advance()
            raise

    def answered(self, done: Exchanged) -> None:
        """Take in the end of a call."""
        if not done.never_sent:
            self._answered = True
        if self._waiting:
            self.advance()

    def advance(self) -> None:
        """Give places to as many as there are places for, and set the clock for the next."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic()
        waiting = self._waiting
        while waiting:
            first = waiting[0]
            if first.place.done():  # cancelled
                waiting.popleft()
                continue
            answer = self._place_for(first, now)
            if answer is None:
                break
            waiting.popleft()
            first.place.set_result(answer)
        if waiting:
            wait_s = self._next_change_s(waiting[0], now)
            if isfinite(wait_s):
                self._timer = asyncio.get_running_loop().call_later(wait_s, self.advance)
        else:
            self._down_since = None

    def close(self) -> None:
        """Fail everybody who waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            first = self._waiting.popleft()
            if not first.place.done():
                first.place.set_result(Failure(FailureKind.UNAVAILABLE, f"the connections of '{self._name}' were closed"))

    def _place_for(self, waiting: _Waiting, now: float) -> Place | Failure | None:
        lane = self._least_loaded(waiting.path, now)
        if lane is not None:
            return lane.admit(now)
        reasons = [lane.closed_to(waiting.path) for lane in self._lanes]
        closed = [reason for reason in reasons if reason is not None]
        if len(closed) == len(self._lanes):
            return Failure(closed[0].kind, closed[0].message, endpoint=closed[0].endpoint)
        if any(lane.works(now) for lane in self._lanes):
            self._down_since = None
            return None
        if self._down_since is None:
            self._down_since = now
        return self._given_up() if now >= self._gives_up_at(waiting, self._down_since) else None

    def _next_change_s(self, waiting: _Waiting, now: float) -> float:
        opens_s = min(lane.opens_in_s(now) if lane.closed_to(waiting.path) is None else inf for lane in self._lanes)
        if self._down_since is not None:
            opens_s = min(opens_s, self._gives_up_at(waiting, self._down_since) - now)
        return max(opens_s, 0.0005)

    def _gives_up_at(self, waiting: _Waiting, down_since: float) -> float:
        return max(waiting.since, down_since) + (self._give_up_s if self._answered else self._first_contact_s)

    def _given_up(self) -> Failure:
        last = next((lane.last_failure for lane in self._lanes if lane.last_failure is not None), None)
        limit_s = self._give_up_s if self._answered else self._first_contact_s
        why = "" if last is None else f"; last: {last.message}"
        message = f"no endpoint of '{self._name}' worked for {limit_s:g} s{why}"
        return Failure(FailureKind.UNAVAILABLE, message, endpoint="" if last is None else last.endpoint)

    def _least_loaded(self, path: str, now: float) -> Lane | None:
        best: Lane | None = None
        lanes = self._lanes
        count = len(lanes)
        if count > 1:
            self._turn = (self._turn + 1) % count
        for index in range(count):
            lane = lanes[(self._turn + index) % count]
            if (best is None or lane.in_flight < best.in_flight) and lane.closed_to(path) is None and lane.opens_in_s(now) <= 0.0:
                best = lane
        return best
