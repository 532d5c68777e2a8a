"""`acronym`: the first letters of words."""

import re
from collections.abc import Mapping

from multigraft.puzzles.credit import sequence_credit
from multigraft.puzzles.facts import text
from multigraft.puzzles.item import Family, Item, Verdict, verdict
from multigraft.puzzles.words import NOUNS
from multigraft.randomness import Draws
from multigraft.types import Json

_CAPITALS = re.compile(r"(?<![^\W\d_])[A-Z](?:[.\s]?[A-Z])*(?![^\W\d_])")


def _make(draws: Draws, size: int) -> Item:
    words = draws.shuffled(NOUNS)[:size]
    question = f"Write the acronym of these words: their first letters, as capitals. Reply with the acronym only.\n\n{' '.join(word.title() for word in words)}"
    return Item(question, "".join(word[0] for word in words).upper(), {"letters": "".join(word[0] for word in words).upper()})


def _check(facts: Mapping[str, Json], response: str) -> Verdict:
    wanted = text(facts, "letters")
    runs = [re.sub(r"[.\s]", "", match[0]) for match in _CAPITALS.finditer(response)]
    # "I think it is ABC": a single letter of prose is passed over for what is longer.
    found = next((run for run in reversed(runs) if len(run) > 1), None)
    if found is None:
        return verdict(None, "no run of capitals", right=False, credit=0.0)
    right = found == wanted
    return verdict(found[:2000], "the acronym is right" if right else f"{found[:40]}, wanted {wanted}", right=right, credit=sequence_credit(found, wanted))


ACRONYM = Family(name="acronym", asks="the first letters of words", counts="words", least=2, most=60, usual=5, make=_make, check=_check)
