"""How long a server asks to be left alone."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from math import isfinite

CAP_S = 120.0
"""The longest wait a call is asked to sit out; an endpoint that asks for more is left alone by everybody."""


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read what a response says about when to come back.

    A date is measured against the `Date` header of the same response, so that the two clocks need not agree; without one it says nothing.

    Args:
        headers: of the response; names in any case if the mapping does not care, else lower case.

    Returns:
        Seconds, finite and >= 0, not capped; None when nothing usable is said.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000.0
    said = headers.get("retry-after")
    seconds = _seconds(said)
    if seconds is not None or said is None:
        return seconds
    asked, now = _moment(said), _moment(headers.get("date"))
    return None if asked is None or now is None or asked < now else asked - now


def _seconds(text: str | None) -> float | None:
    if text is None or not text.isascii() or "_" in text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if isfinite(seconds) and seconds >= 0.0 else None


def _moment(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
