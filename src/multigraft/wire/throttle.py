"""How many calls at once, and how many a second, one server takes: learnt from its 429s.

Two limits work together. The number in flight starts high and doubles every round trip until the user's maximum or a refusal, grows slowly after one, and
shrinks by a fifth with each episode of refusals that came while it was used. The rate is unlimited until the first refusal. From then on it follows the
shape of CUBIC (Ha, Rhee and Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", 2008; RFC 9438): drop below what was refused, return, hold, and then
probe, gently at first and ever faster when nothing is refused.
"""

from dataclasses import dataclass, field
from math import exp2, inf

DROP = 0.9
"""Part of the ceiling a rate restarts with after a refusal."""
MARGIN = 0.97
"""Part of the refused rate that is taken for the ceiling."""
GENTLE_GROWTH = 0.012
"""Growth while probing near the ceiling, of the ceiling a second."""
GENTLE_S = 8.0
"""How long probing is gentle before it turns fast."""
FAST_DOUBLING_S = 5.0
RETURN = 0.6
"""Time of the return to the ceiling, in holds."""
SHORTEST_HOLD_S = 8.0
LONGEST_HOLD_S = 10.0
"""How long a rate stays at its ceiling before it probes; longer where a refusal costs a longer wait."""
SHORTEST_PARK_S = 0.5
LONGEST_PARK_S = 30.0
"""How long nothing is sent after a refusal that names no time; doubles from the shortest."""
SHARE_WEIGHT = 1.0 / 32.0
CROWDED_SHARE = 0.2
"""Refusals begin to count as a limit above this running share: eight in a row, or one in five for a while."""
EARLY_UPTO = 8
"""After so many cuts that did not help, the rate is taken to be innocent."""
BURST_S = 0.005
"""Calls may catch up on this much time, since timers are coarse."""


@dataclass(slots=True)
class Throttle:
    """The limits of one endpoint. Times are monotonic seconds, given by the caller."""

    max_in_flight: int = 256
    start_in_flight: int = 64
    limit: float = field(init=False)
    """Calls at once."""
    rate: float = inf
    """Calls a second."""
    parked_until: float = 0.0
    """Nothing is sent before."""
    _ceiling: float = inf
    """The rate taken for what the server allows."""
    _phase_s: float = 0.0
    """Time spent sending at the learnt rate since the last refusal."""
    _next_at: float = 0.0
    _last_sent: float = 0.0
    _episode_until: float = 0.0
    """Refusals of calls sent before this moment belong to the last episode."""
    _episode_at: float = 0.0
    _accepted: int = 0
    """Calls that succeeded since the last refusal."""
    _since: float | None = None
    """When the count of accepted calls began."""
    _refusals: int = 0
    """Episodes without a success between them."""
    _growths: int = 0
    """Answers that may still raise the limit in flight, since it was made use of: one for each call of the last full round."""
    _share: float = 0.0
    """Running share of refusals among the last answers."""
    _early: int = 0
    """Episodes in a row that came before the rate had returned to its ceiling and probed."""
    _slow_start: bool = True
    _hold_s: float = SHORTEST_HOLD_S

    def __post_init__(self) -> None:
        self.limit = float(min(self.start_in_flight, self.max_in_flight))

    def opens_in_s(self, now: float, in_flight: int) -> float:
        """Seconds until a call may be sent: 0 at once, infinite if only the end of another call can make room."""
        if in_flight >= self.limit:
            return inf
        at = self.parked_until if self.rate == inf else max(self.parked_until, self._next_at)
        return max(0.0, at - now)

    def sent(self, now: float, in_flight: int) -> None:
        """Take in that a call is sent, after `opens_in_s` gave 0; `in_flight` counts it already."""
        if in_flight >= 0.8 * self.limit:
            self._growths = int(self.limit)
        if self._since is None:
            self._since = now
        if self.rate == inf:
            return
        interval = 1.0 / self.rate
        # Only time in which the limit was made use of teaches something about it.
        self._phase_s += min(max(0.0, now - self._last_sent), 2.0 * interval)
        self._last_sent = now
        self._next_at = max(self._next_at, now - BURST_S) + interval
        self.rate = self._curve()

    def succeeded(self) -> None:
        """Take in an answer."""
        self._accepted += 1
        self._refusals = 0
        self._share -= self._share * SHARE_WEIGHT
        if self._growths > 0 and self.limit < self.max_in_flight:
            self._growths -= 1
            self.limit = min(float(self.max_in_flight), self.limit + (1.0 if self._slow_start else 0.05))

    def refused(self, now: float, sent_at: float, in_flight: int, asked_s: float | None) -> None:
        """Take in a 429.

        Args:
            now: when it came.
            sent_at: when its call was sent.
            in_flight: calls at once, this one still counted.
            asked_s: what `Retry-After` says, None if nothing.
        """
        self._share += (1.0 - self._share) * SHARE_WEIGHT
        if asked_s is not None:
            self.parked_until = max(self.parked_until, now + asked_s)
        paced = self.rate < inf
        if not paced and self._share < CROWDED_SHARE:
            return  # a stray refusal among many answers says nothing of a limit
        if sent_at < self._episode_until:
            return
        if self._share >= CROWDED_SHARE:
            self._slow_start = False
            if in_flight >= 0.5 * self.limit:
                self.limit = max(1.0, 0.8 * min(self.limit, float(in_flight)))
        if asked_s is None:
            asked_s = min(SHORTEST_PARK_S * exp2(self._refusals), LONGEST_PARK_S)
            self.parked_until = max(self.parked_until, now + asked_s)
        self._refusals = min(self._refusals + 1, 10)
        self._learn(now, asked_s)

    def park(self, until: float) -> None:
        """Send nothing before a moment."""
        self.parked_until = max(self.parked_until, until)

    def _learn(self, now: float, asked_s: float) -> None:
        resumes = self.parked_until
        # What was accepted from one refusal to the next is what the server allows in that time, whatever burst it grants, since both find it exhausted.
        since = now if self._since is None else self._since
        span_s = (now if self._episode_at > 0.0 else resumes) - since
        accepted = self._accepted
        average = accepted / span_s if span_s > 0.0 else 0.0
        self._hold_s = min(max(SHORTEST_HOLD_S, 4.0 * asked_s), LONGEST_HOLD_S)
        probed_s = self._phase_s - self._gentle_from_s
        self._early = self._early + 1 if probed_s < 0.0 and self.rate < inf else 0
        self._episode_at, self._episode_until = now, resumes
        self._since, self._accepted = now, 0
        if self._early >= EARLY_UPTO:
            self._forget()
            return
        if self.rate == inf:
            # A first burst says little of the rate; what it had accepted is a low estimate to grow from at once.
            self._ceiling = average if average > 0.0 else 1.0 / max(asked_s, 0.1)
            self._phase_s = self._gentle_from_s + GENTLE_S
        else:
            lowest, highest = DROP * self.rate, MARGIN * self.rate
            if probed_s >= GENTLE_S or accepted <= 3:
                highest = lowest
            self._ceiling = max(min(average, highest) if probed_s < 0.0 else highest, lowest, 0.001)
            self._phase_s = 0.0
        self.rate = self._curve()
        self._next_at, self._last_sent = resumes, resumes

    def _forget(self) -> None:
        # Refusals that go on whatever the rate are not about the rate. If the limit fell instead, the next crowd of refusals teaches it anew.
        self.rate = self._ceiling = inf
        self._share, self._early, self._phase_s = 0.0, 0, 0.0

    @property
    def _gentle_from_s(self) -> float:
        return (1.0 + RETURN) * self._hold_s

    def _curve(self) -> float:
        return_s = RETURN * self._hold_s
        if self._phase_s < return_s:
            missing = 1.0 - self._phase_s / return_s
            return self._ceiling * (1.0 - (1.0 - DROP) * missing**3)
        probing_s = self._phase_s - self._gentle_from_s
        if probing_s <= 0.0:
            return self._ceiling
        doublings = min(max(0.0, probing_s - GENTLE_S) / FAST_DOUBLING_S, 20.0)
        return self._ceiling * (1.0 + GENTLE_GROWTH * min(probing_s, GENTLE_S)) * exp2(doublings)
