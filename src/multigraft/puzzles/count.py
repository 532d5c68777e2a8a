"""`count`: how often a word occurs in a list of words."""

from collections.abc import Mapping

from multigraft.puzzles.credit import nearness
from multigraft.puzzles.facts import integer
from multigraft.puzzles.item import Family, Item, Verdict, verdict
from multigraft.puzzles.reading import last_integer
from multigraft.puzzles.words import NOUNS
from multigraft.randomness import Draws
from multigraft.types import Json


def _make(draws: Draws, size: int) -> Item:
    wanted, *others = draws.shuffled(NOUNS)[:5]
    times = 1 + draws.below(size)
    rest = [others[draws.below(len(others))] for _ in range(size + 4 - times)]
    words = draws.shuffled([wanted] * times + rest)
    question = f'How many times does the word "{wanted}" occur? Reply with the number only.\n\n{" ".join(words)}'
    return Item(question, str(times), {"number": times})


def _check(facts: Mapping[str, Json], response: str) -> Verdict:
    wanted = integer(facts, "number")
    found = last_integer(response)
    if found is None or found < 0:
        return verdict(None, "no count", right=False, credit=0.0)
    right = found == wanted
    return verdict(str(found), f"{found}, wanted {wanted}" if not right else f"{found} is right", right=right, credit=nearness(found, wanted))


COUNT = Family(name="count", asks="how often a word occurs", counts="times at most", least=2, most=100, usual=4, make=_make, check=_check)
