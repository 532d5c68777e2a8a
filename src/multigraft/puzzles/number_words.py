"""`numwords`: a number in words, to be written in digits."""

from collections.abc import Mapping

from multigraft.puzzles.credit import digit_credit
from multigraft.puzzles.facts import integer
from multigraft.puzzles.item import Family, Item, Verdict, verdict
from multigraft.puzzles.numerals import MOST_DIGITS, in_words
from multigraft.puzzles.reading import last_integer
from multigraft.randomness import Draws
from multigraft.types import Json


def _make(draws: Draws, size: int) -> Item:
    least = 10 ** (size - 1)
    number = least + draws.below(9 * least)
    return Item(f"Write this number in digits. Reply with the digits only.\n\n{in_words(number)}", str(number), {"number": number})


def check_number(facts: Mapping[str, Json], response: str) -> Verdict:
    """Compare the last whole number of an answer with `number` of the facts, digit by digit."""
    wanted = integer(facts, "number")
    found = last_integer(response)
    if found is None:
        return verdict(None, "no whole number", right=False, credit=0.0)
    right = found == wanted
    return verdict(str(found), f"{found}, wanted {wanted}" if not right else f"{found} is right", right=right, credit=digit_credit(found, wanted))


NUMBER_WORDS = Family(
    name="numwords", asks="a number in words, in digits", counts="digits", least=1, most=MOST_DIGITS, usual=5, make=_make, check=check_number
)  # fmt: skip
