"""Punctuation that must not occur."""

from multigraft.rewards.rules.check import Check, compare


def no_comma(response: str) -> Check:
    """No comma; credit of a failure falls with every comma: 1/2, 1/3, ..."""
    return compare(response.count(","), "less than", 1, "commas")
