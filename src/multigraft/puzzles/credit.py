"""How near a wrong answer came: arithmetic shared by the families."""

from collections.abc import Sequence

_LONGEST = 400
"""Entries of a sequence that are looked at: longer ones are no answers to these puzzles, and comparing takes the product of both lengths."""


def sequence_credit(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the length of the longest common subsequence over the length of the longer sequence: right entries in the right order, of all that were named.

    Args:
        found: of the answer.
        wanted: of the solution; not empty.

    Returns:
        A value in [0, 1]; 1 exactly when both are equal.
    """
    seen = found[:_LONGEST]
    before = [0] * (len(wanted) + 1)
    for entry in seen:
        row = [0]
        for position, other in enumerate(wanted):
            row.append(before[position] + 1 if entry == other else max(before[position + 1], row[position]))
        before = row
    return before[-1] / max(len(found), len(wanted))


def digit_credit(found: int, wanted: int) -> float:
    """Return the share of equal digits at equal places, counted from the units; a wrong sign halves it.

    Returns:
        A value in [0, 1]; 1 exactly when both are equal.
    """
    one, other = str(abs(found)), str(abs(wanted))
    equal = sum(left == right for left, right in zip(reversed(one), reversed(other), strict=False))
    share = equal / max(len(one), len(other))
    return share if (found < 0) == (wanted < 0) else share / 2


def nearness(found: int, wanted: int) -> float:
    """Return the smaller over the larger of two counts that are >= 0; 1 exactly when both are equal."""
    return 1.0 if found == wanted else min(found, wanted) / max(found, wanted)
