"""Whether and when a failed call is tried again: the one place where that is decided."""

from dataclasses import dataclass

from multigraft.randomness import Draws
from multigraft.types import Failure, FailureKind

_AT_ONCE = frozenset({FailureKind.AUTH, FailureKind.QUOTA, FailureKind.NOT_FOUND})
"""Retryable only when another endpoint takes calls, and that one need not be waited for."""
NEVER = frozenset(
    {
        FailureKind.BAD_REQUEST,
        FailureKind.CONTEXT,
        FailureKind.REFUSED,
        FailureKind.TOO_LARGE,
        FailureKind.PROMPT_TRUNCATED,
        FailureKind.UNAVAILABLE,
        FailureKind.BUDGET,
    }
)
"""The same request ends the same way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a call is tried."""

    max_attempts: int = 6
    """Attempts in all, the first included; >= 1."""
    total_timeout_s: float = 3600.0
    """No attempt begins later than this after the first; > 0."""
    base_s: float = 0.5
    """Wait before the second attempt; doubles with each; > 0."""
    max_s: float = 30.0
    """The longest wait of our own; what a server asks for may be longer."""

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            message = f"max_attempts must be at least 1, not {self.max_attempts}"
            raise ValueError(message)
        for name in ("total_timeout_s", "base_s", "max_s"):
            if not getattr(self, name) > 0.0:
                message = f"{name} must be above 0, not {getattr(self, name)}"
                raise ValueError(message)


def delay_s(policy: RetryPolicy, attempt: int, failure: Failure, *, elapsed_s: float = 0.0, key: tuple[str | int, ...] = ()) -> float | None:
    """Decide about another attempt.

    Args:
        policy: how often and how patiently.
        attempt: attempts made so far; >= 1.
        failure: how the last one ended.
        elapsed_s: time since the first began; >= 0.
        key: of the call, such as (seed, prompt id, call id): spreads the waits of many calls, the same way in every run.

    Returns:
        Seconds to wait before the next attempt; None: no other attempt.
    """
    if attempt >= policy.max_attempts or not failure.retryable or failure.kind in NEVER:
        return None
    if failure.kind in _AT_ONCE:
        wait_s = 0.0
    else:
        full_s = min(policy.max_s, policy.base_s * 2.0 ** min(attempt - 1, 60))
        wait_s = full_s * (0.75 + 0.25 * Draws("retry", attempt, *key).uniform())
        if failure.retry_after_s is not None:
            wait_s = max(failure.retry_after_s, wait_s if failure.kind is not FailureKind.RATE_LIMIT else 0.0)
    return None if elapsed_s + wait_s > policy.total_timeout_s else wait_s
