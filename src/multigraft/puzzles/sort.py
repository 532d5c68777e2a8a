"""`sort`: words in alphabetical order."""

from collections.abc import Mapping

from multigraft.puzzles.credit import sequence_credit
from multigraft.puzzles.facts import entries
from multigraft.puzzles.item import Family, Item, Verdict, verdict
from multigraft.puzzles.reading import listed_words
from multigraft.puzzles.words import NOUNS
from multigraft.randomness import Draws
from multigraft.types import Json


def _make(draws: Draws, size: int) -> Item:
    words = draws.shuffled(NOUNS)[:size]
    question = f"Sort these words alphabetically. Reply with the words only, separated by commas.\n\n{', '.join(words)}"
    return Item(question, ", ".join(sorted(words)), {"words": list[Json](sorted(words))})


def check_order(facts: Mapping[str, Json], response: str) -> Verdict:
    """Compare the words of an answer with `words` of the facts; other words do not count."""
    wanted = entries(facts, "words")
    found = listed_words(response, wanted)
    if not found:
        return verdict(None, "none of the words", right=False, credit=0.0)
    right = found == wanted
    return verdict(", ".join(found)[:2000], "the order is right" if right else "the order differs", right=right, credit=sequence_credit(found, wanted))


SORT = Family(name="sort", asks="words in alphabetical order", counts="words", least=2, most=100, usual=4, make=_make, check=check_order)
