"""`date`: the date so many days before or after another."""

import re
from collections.abc import Mapping

from multigraft.puzzles.calendar_days import Day, date_of, days_of
from multigraft.puzzles.facts import FactsError, text
from multigraft.puzzles.item import Family, Item, Verdict, verdict
from multigraft.randomness import Draws
from multigraft.types import Json

_DATE = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_FIRST, _LAST = days_of(Day(1950, 1, 1)), days_of(Day(2100, 1, 1))


def _make(draws: Draws, size: int) -> Item:
    start = date_of(_FIRST + draws.below(_LAST - _FIRST))
    least = 10 ** (size - 1)
    days = least + 1 + draws.below(9 * least - 1)
    before = draws.below(2) == 1
    wanted = date_of(days_of(start) + (-days if before else days))
    question = f"Which date is {days} days {'before' if before else 'after'} {start}? Reply with the date only, as YYYY-MM-DD."
    return Item(question, str(wanted), {"date": str(wanted)})


def _check(facts: Mapping[str, Json], response: str) -> Verdict:
    wanted = text(facts, "date")
    if _DATE.fullmatch(wanted) is None:
        message = f"'{wanted}' is no date as YYYY-MM-DD"
        raise FactsError(message)
    found = _DATE.findall(response)
    if not found:
        return verdict(None, "no date", right=False, credit=0.0)
    parts = [int(part) for part in found[-1]]
    equal = sum(part == int(other) for part, other in zip(parts, wanted.split("-"), strict=True))
    answer = str(Day(*parts))
    return verdict(answer, f"{answer}, wanted {wanted}" if equal < 3 else f"{answer} is right", right=equal == 3, credit=equal / 3)


DATE = Family(name="date", asks="the date so many days from another", counts="digits of the days", least=1, most=5, usual=2, make=_make, check=_check)
