"""Which limits make sense, whoever gives them: a flag, a run file or a program."""

from math import isfinite

from multigraft.budget.amount import Limits
from multigraft.errors import InputError

LARGEST_LIMIT = 1e30
"""More than any machine can spend; a larger one is a slip of the pen."""

INTEGRAL_KINDS = ("tokens", "calls")


def check_limit_values(limits: Limits) -> None:
    """Check that every limit is a number one can stop at.

    Args:
        limits: to check; None is no limit.

    Raises:
        InputError: a limit is zero, negative, not finite, beyond `LARGEST_LIMIT`, or a fraction of a token or call.
    """
    for kind, value in limits._asdict().items():
        if value is None:
            continue
        if not isfinite(value) or not 0 < value <= LARGEST_LIMIT:
            message = f"a limit of {value} {kind} is no limit to stop at; give a positive number, or leave it out for no limit"
            raise InputError(message, field=kind)
        if kind in INTEGRAL_KINDS and not isinstance(value, int):
            message = f"a limit of {value} {kind} is not whole; give a whole number"
            raise InputError(message, field=kind)
