"""The families by name."""

import re
from collections.abc import Mapping

from multigraft.errors import UnknownNameError
from multigraft.puzzles.acronym import ACRONYM
from multigraft.puzzles.arithmetic import EXPRESSION
from multigraft.puzzles.count import COUNT
from multigraft.puzzles.date import DATE
from multigraft.puzzles.extract import EXTRACT
from multigraft.puzzles.fix_json import FIX_JSON
from multigraft.puzzles.item import Family
from multigraft.puzzles.lambda_function import LAMBDA
from multigraft.puzzles.number_words import NUMBER_WORDS
from multigraft.puzzles.reverse import REVERSE
from multigraft.puzzles.sentence import SENTENCE
from multigraft.puzzles.sort import SORT
from multigraft.puzzles.story import STORY

FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (EXTRACT, NUMBER_WORDS, FIX_JSON, SORT, REVERSE, SENTENCE, LAMBDA, COUNT, EXPRESSION, STORY, DATE, ACRONYM)
}  # fmt: skip
_NAME = re.compile(r"([a-z]+)(\d{0,4})")


def family_of(name: str) -> tuple[Family, int | None]:
    """Find a family.

    Args:
        name: of the table, with or without a difficulty: `extract` or `extract4`.

    Returns:
        The family, and the difficulty if the name holds one.

    Raises:
        UnknownNameError: no such family.
    """
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in FAMILIES:
        what = "family of puzzles"
        raise UnknownNameError(what, name, FAMILIES)
    return FAMILIES[match[1]], int(match[2]) if match[2] else None
