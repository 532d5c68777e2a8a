"""Numbers that a judge writes: which count as a grade, and on what scale."""

import re
from collections.abc import Sequence

NUMBER = r"[-+]?\d+(?:\.\d+)?"
"""A regular expression for what may be a grade."""
_GOES_ON = re.compile(r"\s?(?:[-\u2013]|to|or)\s?\d|[\w,.]?\w")


def goes_on(rest: str) -> bool:
    """Whether what follows a number makes it no single grade: a range such as 7-8, a decimal comma, a letter."""
    return _GOES_ON.match(rest) is not None


def check_scale(scale: Sequence[float], name: str) -> tuple[float, float]:
    """Return the ends of a scale.

    Args:
        scale: the lowest and the highest grade.
        name: of the judge.

    Raises:
        ValueError: not two numbers, or not in order.
    """
    if len(scale) != 2 or not scale[0] < scale[1]:
        message = f"scale of {name} must go from a lower to a higher grade, not {' to '.join(map(str, scale))}"
        raise ValueError(message)
    return scale[0], scale[1]
