"""Numbers that a judge writes: which count as a grade, and on what scale."""

import re
from collections.abc import Sequence
from math import inf

NUMBER = r"[-+]?\d+(?:\.\d+)?"
"""A regular expression for what may be a grade."""
_GOES_ON = re.compile(r"\s?(?:[-\u2013]|to|or)\s?\d|[\w,.]?\w")


def goes_on(rest: str) -> bool:
    """Whether what follows a number makes it no single grade: a range such as 7-8, a decimal comma, a letter."""
    return _GOES_ON.match(rest) is not None


def check_scale(scale: object, name: str) -> tuple[float, float]:
    """Return the ends of a scale.

    Args:
        scale: the lowest and the highest grade.
        name: of the judge.

    Raises:
        ValueError: not two finite numbers, or not in order.
    """
    ends = [end for end in scale if isinstance(end, int | float) and not isinstance(end, bool)] if isinstance(scale, Sequence) else []
    if not isinstance(scale, Sequence) or len(ends) != 2 or len(scale) != 2 or not -inf < ends[0] < ends[1] < inf:
        message = f"scale of {name} must go from a lower to a higher grade, as in [1, 5], not {scale!r}"
        raise ValueError(message)
    return ends[0], ends[1]
