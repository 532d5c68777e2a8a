"""What is spent, and what may be: amounts and limits of FLOPs, tokens, dollars, calls and seconds."""

from typing import NamedTuple


class Amount(NamedTuple):
    """What one call, or many, may cost or did cost. Seconds are not in it: time passes whether a call is sent or not."""

    flops: float = 0.0
    """Floating-point operations, a multiply-add counts as 2; >= 0."""
    tokens: int = 0
    """Prompt and completion tokens together; >= 0."""
    usd: float = 0.0
    """US dollars; >= 0."""
    calls: int = 0
    """Requests sent, failed ones and judge calls included; >= 0."""

    def plus(self, other: "Amount") -> "Amount":
        """Add component by component."""
        return Amount(self.flops + other.flops, self.tokens + other.tokens, self.usd + other.usd, self.calls + other.calls)


NOTHING = Amount()


class Limits(NamedTuple):
    """The most that may be spent; None: no limit of that kind."""

    flops: float | None = None
    tokens: int | None = None
    usd: float | None = None
    calls: int | None = None
    seconds: float | None = None
    """Wall-clock seconds a run has worked, over all its resumptions."""


NO_LIMITS = Limits()
