"""Things an answer must contain: placeholders, a postscript."""

import re

from multigraft.rewards.rules.check import Check, compare, verdict

_PLACEHOLDER = re.compile(r"\[[^\[\]\n]*\]")
_POSTSCRIPTS = {"P.S.": re.compile(r"p\.\s?s\."), "P.P.S": re.compile(r"p\.\s?p\.\s?s")}


def number_placeholders(response: str, *, num_placeholders: int) -> Check:
    """At least so many placeholders in square brackets, such as [address]."""
    return compare(len(_PLACEHOLDER.findall(response)), "at least", num_placeholders, "placeholders")


def postscript(response: str, *, postscript_marker: str) -> Check:
    """The marker of a postscript occurs, in any case; the two usual ones may hold spaces after their stops."""
    lowered = response.lower()
    usual = _POSTSCRIPTS.get(postscript_marker)
    found = usual.search(lowered) is not None if usual else postscript_marker.lower() in lowered
    return verdict(f"postscript '{postscript_marker}' {'found' if found else 'missing'}", passed=found, credit=0.0)
