"""Making scores: only a finite number becomes a value, everything else a reason."""

from collections.abc import Mapping
from math import isfinite

from multigraft.types import NO_DETAILS, Failure, FailureKind, Json, Score

_MESSAGE_CHARACTERS = 300


def scored(value: Json, message: str = "", *, truncated: bool = False, answer: str | None = None, details: Mapping[str, float] = NO_DETAILS) -> Score:
    """Make a score of what a scorer returned.

    Args:
        value: anything at all; only an int or float that is finite counts, so neither NaN, infinity, None, a string of digits nor a bool.
        message: for people.
        truncated: the scorer saw only a part of the response.
        answer: see `Score`.
        details: see `Score`.

    Returns:
        The score, or one without a value whose reason is `INVALID_SCORE`.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return unscored(FailureKind.INVALID_SCORE, f"the score is no number but {value!r}")
    try:
        number = float(value)
    except OverflowError:
        return unscored(FailureKind.INVALID_SCORE, "the score is an integer beyond any float")
    if not isfinite(number):
        return unscored(FailureKind.INVALID_SCORE, f"the score is {number}")
    return Score(number, message=message[:_MESSAGE_CHARACTERS], truncated=truncated, answer=answer, details=details)


def unscored(reason: FailureKind, message: str, *, retryable: bool = False) -> Score:
    """Make a score without a value."""
    return Score(None, reason, message[:_MESSAGE_CHARACTERS], retryable=retryable)


def of_failure(failure: Failure) -> Score:
    """Make a score of a call that failed: no value, and the failure's own reason."""
    return unscored(failure.kind, failure.message, retryable=failure.retryable)
