"""`extract`: the distinct numbers of a sentence, as an ascending JSON list."""

from collections.abc import Mapping

from multigraft.puzzles.credit import sequence_credit
from multigraft.puzzles.facts import entries
from multigraft.puzzles.item import Family, Item, Verdict, verdict
from multigraft.puzzles.reading import last_list
from multigraft.puzzles.words import NAMES, THINGS
from multigraft.randomness import Draws
from multigraft.types import Json

_VERBS = ("counted", "found", "sold", "packed", "lost", "bought")


def _make(draws: Draws, size: int) -> Item:
    numbers = draws.shuffled(range(2, max(99, 10 * size)))[:size]
    parts = [
        f"{NAMES[draws.below(len(NAMES))]} {_VERBS[draws.below(len(_VERBS))]} {number} {THINGS[draws.below(len(THINGS))]}" for number in numbers
    ]  # fmt: skip
    text = f"{', '.join(parts[:-1])} and {parts[-1]}." if size > 1 else f"{parts[0]}."
    question = f"Write all numbers of this sentence as a JSON list in ascending order. Reply with the list only.\n\n{text}"
    wanted = sorted(numbers)
    return Item(question, str(wanted), {"numbers": list(wanted)})


def _check(facts: Mapping[str, Json], response: str) -> Verdict:
    wanted = entries(facts, "numbers")
    found = last_list(response)
    if found is None:
        return verdict(None, "no JSON list", right=False, credit=0.0)
    # A number in quotes or with a fraction is another value: 7, not "7" or 7.0.
    named = [str(entry) if isinstance(entry, int) and not isinstance(entry, bool) else repr(entry) for entry in found]
    right = named == wanted
    return verdict(f"[{', '.join(named)}]"[:200], "the list is right" if right else "the list differs", right=right, credit=sequence_credit(named, wanted))


EXTRACT = Family(
    name="extract", asks="the numbers of a sentence, ascending, as a JSON list", counts="numbers", least=1, most=60, usual=3, make=_make, check=_check
)  # fmt: skip
