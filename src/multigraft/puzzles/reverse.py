"""`reverse`: a list of words from its end to its beginning."""

from multigraft.puzzles.item import Family, Item
from multigraft.puzzles.sort import check_order
from multigraft.puzzles.words import NOUNS
from multigraft.randomness import Draws
from multigraft.types import Json


def _make(draws: Draws, size: int) -> Item:
    words = draws.shuffled(NOUNS)[:size]
    question = f"Write these words in reverse order, the last one first. Reply with the words only, separated by commas.\n\n{', '.join(words)}"
    return Item(question, ", ".join(reversed(words)), {"words": list[Json](reversed(words))})


REVERSE = Family(name="reverse", asks="a list of words backwards", counts="words", least=2, most=100, usual=6, make=_make, check=check_order)
