"""Making puzzles: the same family, difficulty, seed and number give the same puzzle on every machine and with every version of Python."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multigraft.errors import InputError
from multigraft.puzzles.item import Family, Item
from multigraft.puzzles.table import FAMILIES, family_of
from multigraft.randomness import Draws

_TRIES = 200
"""Draws of one puzzle until it differs from all before it."""


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A puzzle and where it comes from."""

    family: str
    difficulty: int
    seed: int
    number: int
    """0, 1, 2 ... within its family, difficulty and seed."""
    item: Item
    example: Item
    """Another of the same family and difficulty, the same for all of them, to be shown with its solution."""

    @property
    def name(self) -> str:
        """Say which it is, such as `extract3/seed0/17`."""
        return f"{self.family}{self.difficulty}/seed{self.seed}/{self.number}"


def puzzles_of(family: Family, difficulty: int, seed: int) -> Iterator[Puzzle]:
    """Make puzzles of one family, one after the other, all different and different from the example.

    Args:
        family: of the table.
        difficulty: between the family's least and most.
        seed: any integer.

    Yields:
        Puzzle 0, 1, 2 ...

    Raises:
        InputError: the family does not come in this size, or has no more different puzzles of it.
    """
    if not family.least <= difficulty <= family.most:
        message = f"puzzles '{family.name}' come in difficulties {family.least} to {family.most} ({family.counts}), not {difficulty}"
        raise InputError(message, field="difficulty")
    example = family.make(Draws("puzzle", family.name, difficulty, "example"), difficulty)
    seen = {example.question}
    number = 0
    while True:
        for attempt in range(_TRIES):
            item = family.make(Draws("puzzle", family.name, difficulty, seed, number, attempt), difficulty)
            if item.question not in seen:
                break
        else:
            message = f"there are hardly more than {number} different puzzles '{family.name}' of difficulty {difficulty}; take fewer, or a greater difficulty"
            raise InputError(message, field="count")
        seen.add(item.question)
        yield Puzzle(family.name, difficulty, seed, number, item, example)
        number += 1


def generate(families: Sequence[str], count: int, seed: int, difficulty: int | None = None) -> list[Puzzle]:
    """Make puzzles of several families, in turn.

    Args:
        families: names; `all`: every one. A number at the end of a name is its difficulty: `extract4`.
        count: puzzles in all; >= 1.
        seed: any integer.
        difficulty: of names without a number; None: usual of each family.

    Returns:
        Exactly `count` puzzles: the first of each family, then the second of each, and so on.

    Raises:
        UnknownNameError: no such family.
        InputError: a size that a family does not come in.
    """
    names = [name for given in families for name in (FAMILIES if given == "all" else (given,))]
    chosen: dict[tuple[str, int], Iterator[Puzzle]] = {}
    for name in names:
        family, own = family_of(name)
        size = own or difficulty or family.usual
        chosen.setdefault((family.name, size), puzzles_of(family, size, seed))
    streams = list(chosen.values())
    return [next(streams[index % len(streams)]) for index in range(count)]
