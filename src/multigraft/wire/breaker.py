"""Leaving a broken server alone, and noticing when it is back. Fed by real calls only, since health routes answer while an engine hangs."""

from dataclasses import dataclass
from enum import Enum, auto

FIRST_COOLDOWN_S = 1.0
LONGEST_COOLDOWN_S = 8.0
"""A server that came back is in use again after this and the time of one call."""


class Condition(Enum):
    """Whether an endpoint takes calls."""

    CLOSED = auto()
    """It works."""
    OPEN = auto()
    """It failed again and again; nothing is sent until the cool-down is over."""
    PROBING = auto()
    """One call is under way to see whether it works again."""


@dataclass(slots=True)
class Breaker:
    """The state of one endpoint. Times are monotonic seconds, given by the caller."""

    failures_to_open: int = 5
    """Consecutive failures that open it."""
    failing_s: float = 10.0
    """So long a time without any success between two or more failures opens it as well."""
    condition: Condition = Condition.CLOSED
    _failures: int = 0
    _first_failure: float = 0.0
    _cooldown_s: float = FIRST_COOLDOWN_S
    _retry_at: float = 0.0

    def opens_in_s(self, now: float) -> float:
        """Seconds until a call may be sent: 0 at once, infinite while a probe is under way."""
        if self.condition is Condition.CLOSED:
            return 0.0
        return max(0.0, self._retry_at - now) if self.condition is Condition.OPEN else float("inf")

    def sent(self) -> bool:
        """Take in that a call is sent, after `opens_in_s` gave 0.

        Returns:
            Whether this call is the probe.
        """
        if self.condition is not Condition.OPEN:
            return False
        self.condition = Condition.PROBING
        return True

    def succeeded(self) -> None:
        """Take in a sign of life: any answer that shows the server works."""
        self.condition = Condition.CLOSED
        self._failures = 0
        self._cooldown_s = FIRST_COOLDOWN_S

    def failed(self, now: float, *, probe: bool) -> None:
        """Take in a call that found the server broken.

        Args:
            now: when it ended.
            probe: what `sent` returned for it.
        """
        if self.condition is not Condition.CLOSED:
            if probe:
                self._cooldown_s = min(2.0 * self._cooldown_s, LONGEST_COOLDOWN_S)
                self._open(now)
            return  # a call sent before it opened says nothing new
        if self._failures == 0:
            self._first_failure = now
        self._failures += 1
        if self._failures >= self.failures_to_open or (self._failures > 1 and now - self._first_failure >= self.failing_s):
            self._open(now)

    def dropped(self, now: float, *, probe: bool) -> None:
        """Take in that a call ended without saying anything of the server, such as by being cancelled."""
        if probe and self.condition is Condition.PROBING:
            self._open(now - self._cooldown_s)

    def _open(self, now: float) -> None:
        self.condition = Condition.OPEN
        self._failures = 0
        self._retry_at = now + self._cooldown_s
