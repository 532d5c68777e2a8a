"""Limits from the text of a flag."""

from decimal import Decimal, InvalidOperation

from multigraft.budget.amount import Limits
from multigraft.budget.limits import INTEGRAL_KINDS, LARGEST_LIMIT, check_limit_values
from multigraft.errors import InputError, UnknownNameError

_EXAMPLE = "flops=2e13,usd=1,tokens=1e6,calls=500,seconds=600"


def parse_limits(text: str) -> Limits:
    """Read limits such as `flops=2e13,usd=1,tokens=1e6,calls=500,seconds=600`.

    Args:
        text: parts `kind=number`, separated by commas, each kind at most once.

    Returns:
        The limits; None for each kind not named.

    Raises:
        InputError: a part that cannot be read, or a limit that makes no sense; the message holds the part.
    """
    values: dict[str, float] = {}
    for part in text.split(","):
        kind, equals, number = (piece.strip() for piece in part.partition("="))
        if not equals or not kind or not number:
            message = f"the part '{part.strip()}' of the budget '{text}' is not of the form kind=number; write it like {_EXAMPLE}"
            raise InputError(message)
        if kind not in Limits._fields:
            what = "kind of limit"
            raise UnknownNameError(what, kind, Limits._fields)
        if kind in values:
            message = f"the budget '{text}' gives {kind} twice; give it once"
            raise InputError(message)
        values[kind] = _read(kind, number)
    limits = Limits(**values)  # type: ignore[arg-type]  # `_read` gives integers for the integral kinds
    check_limit_values(limits)
    return limits


def _read(kind: str, number: str) -> float:
    try:
        value = Decimal(number)
    except InvalidOperation:
        message = f"'{kind}={number}': '{number}' is not a number; write it like {_EXAMPLE}"
        raise InputError(message) from None
    # Also keeps `int` away from an exponent that would fill the memory, and turns away NaN, which Decimal refuses to compare.
    if not value.is_finite() or not 0 < value <= Decimal(LARGEST_LIMIT):
        message = f"'{kind}={number}' is no limit to stop at; give a positive number, or leave it out for no limit"
        raise InputError(message)
    if kind not in INTEGRAL_KINDS:
        return float(value)
    if value != value.to_integral_value():
        message = f"'{kind}={number}' is not whole; give a whole number of {kind}"
        raise InputError(message)
    return int(value)
