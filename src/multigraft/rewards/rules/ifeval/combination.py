"""The prompt repeated first, or two answers in one."""

from itertools import takewhile
from operator import eq

from multigraft.rewards.rules.check import Check, exactly, fails, holds, verdict

_DIVIDER = "******"


def repeat_prompt(response: str, *, prompt_to_repeat: str) -> Check:
    """The answer starts with the request, in any case; credit: how much of the request its beginning repeats."""
    wanted, given = prompt_to_repeat.strip().lower(), response.strip().lower()
    repeated = sum(takewhile(bool, map(eq, wanted, given)))
    return verdict(f"{repeated} of the request's {len(wanted)} characters repeated first", passed=given.startswith(wanted), credit=repeated / len(wanted))


def two_responses(response: str) -> Check:
    """Exactly two different answers between six asterisks; credit: half for the number, a quarter less when they are the same."""
    parts = [part.strip() for part in response.split(_DIVIDER)]
    answers = [part for part in parts if part]
    counted = exactly(len(answers), 2, f"answers divided by {_DIVIDER}")
    if "" in parts[1:-1] or not counted.passed:
        return fails(counted.credit / 2, counted.message)
    if answers[0] == answers[1]:
        return fails(0.25, "two answers, but the same")
    return holds("two different answers")
