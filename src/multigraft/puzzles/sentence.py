"""`sentence`: a sentence of a few small-letter words with given words in it, no comma, and a given last word."""

import re
from collections.abc import Mapping

from multigraft.puzzles.facts import entries, integer, text
from multigraft.puzzles.item import Family, Item, Verdict, verdict
from multigraft.puzzles.words import NOUNS
from multigraft.randomness import Draws
from multigraft.types import Json

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_JOINTS = ("near", "and", "with", "under", "or", "behind")


def _make(draws: Draws, size: int) -> Item:
    last, *given = draws.shuffled(NOUNS)[: size + 1]
    least, most = 2 * size + 2, 2 * size + 5
    joined = [word for noun in given for word in (_JOINTS[draws.below(len(_JOINTS))], noun)][1:]
    solution = " ".join(["we", "saw", *joined, "by", "the", *(["old"] if draws.below(2) else []), last])
    question = (
        f"Write one sentence of {least} to {most} words in small letters, without any comma, that contains the words {', '.join(given)}"
        f' and ends with the word "{last}". Reply with the sentence only.'
    )
    return Item(question, solution, {"given": list[Json](given), "last": last, "least": least, "most": most}, only_solution=False)


def _check(facts: Mapping[str, Json], response: str) -> Verdict:
    least, most, given, last = max(1, integer(facts, "least")), integer(facts, "most"), entries(facts, "given"), text(facts, "last")
    words = _WORD.findall(response)
    if not words:
        return verdict(None, "no word", right=False, credit=0.0)
    commas, capitals = response.count(","), sum(word != word.lower() for word in words)
    lowered = [word.lower() for word in words]
    shares = {
        "length": 1.0 if least <= len(words) <= most else min(len(words) / least, most / len(words)),
        "given words": sum(word in lowered for word in given) / len(given),
        "last word": float(lowered[-1] == last) or 0.5 * (last in lowered),
        "commas": 1.0 if not commas else 0.5 / commas,
        "small letters": 1.0 - capitals / len(words),
    }
    failed = [name for name, share in shares.items() if share < 1.0]
    message = f"not kept: {', '.join(failed)}" if failed else "all is kept"
    return verdict(None, message, right=not failed, credit=sum(shares.values()) / len(shares))


SENTENCE = Family(
    name="sentence", asks="a sentence with given words and a given end", counts="given words", least=1, most=20, usual=3, make=_make, check=_check
)  # fmt: skip
