"""Reading what the processes behind the walls report."""

import json

from multigraft.sandbox.inside.boot import READY
from multigraft.sandbox.outcomes import Fault, Verdict

_MOST_TEXT = 300


def verdict_in(report: bytes | bytearray, nonce: str, num_cases: int, *, ended: bool = False, timed_out: str = "") -> Verdict | Fault | None:
    """Find the verdict in a judge's report.

    Args:
        report: all that came so far.
        nonce: of this judge; a line without it counts for nothing.
        num_cases: 0: the tests are no cases.
        ended: nothing more will come.
        timed_out: nothing more is waited for; says why.

    Returns:
        None when there is no verdict yet.
    """
    passed: list[bool] = []
    for line in bytes(report).partition(READY)[2].split(b"\n")[:-1]:
        try:
            news = json.loads(line)
        except ValueError:
            continue
        if not isinstance(news, dict) or news.get("nonce") != nonce:
            continue
        if "case" in news:
            passed.append(news["case"] is True)
        else:
            cases = _filled(passed, num_cases)
            return Verdict(news.get("passed") is True and all(cases), cases, str(news.get("reason", "")), shortened(str(news.get("message", ""))))
    if timed_out:
        return Verdict(passed=False, cases=_filled(passed, num_cases), reason="timeout", message=timed_out)
    return Fault("the judge ended without a verdict") if ended else None


def shortened(text: str, most: int = _MOST_TEXT) -> str:
    """Make hostile text fit for one line of a message: what cannot be printed is written out, and the rest is cut."""
    words = " ".join(text[: 2 * most].split())
    clean = "".join(character if character.isprintable() else character.encode("unicode_escape").decode("ascii") for character in words)
    return clean if len(clean) <= most else f"{clean[: most - 1]}\u2026"


def _filled(passed: list[bool], num_cases: int) -> tuple[bool, ...]:
    return tuple(passed[:num_cases] + [False] * (num_cases - len(passed)))
