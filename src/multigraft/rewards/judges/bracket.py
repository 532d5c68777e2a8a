"""What the forms of a tournament share: entrants are numbers, and a round is a list of pairs with how each came out."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias


class Undecided(Enum):
    """A comparison that brought no verdict, and never will."""

    UNDECIDED = "undecided"


UNDECIDED = Undecided.UNDECIDED
Result: TypeAlias = float | Undecided
"""How much the first of a pair is preferred, in [0, 1]; 0.5 is a tie."""
Pair: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class Tally:
    """What one entrant has been through."""

    won: int = 0
    tied: int = 0
    lost: int = 0
    undecided: int = 0
    byes: int = 0

    @property
    def decided(self) -> int:
        """Comparisons with a verdict."""
        return self.won + self.tied + self.lost

    @property
    def points(self) -> float:
        """1 for a win, a half for a tie."""
        return self.won + 0.5 * self.tied

    def count(self, result: Result) -> None:
        """Take in a comparison, as this entrant sees it."""
        if result is UNDECIDED:
            self.undecided += 1
        elif result == 0.5:
            self.tied += 1
        elif result > 0.5:
            self.won += 1
        else:
            self.lost += 1


class Form(Protocol):
    """A form of tournament under way: `pairs`, then `tell`, until there are no pairs."""

    @property
    def tallies(self) -> Sequence[Tally]:
        """By entrant."""
        ...

    def pairs(self) -> Sequence[Pair]:
        """Return who meets in the next round; empty: the tournament is over."""
        ...

    def tell(self, results: Sequence[Result]) -> None:
        """Take in how the pairs of the round came out, in order."""
        ...

    def values(self) -> Sequence[float | None]:
        """Return the value of each entrant in [0, 1]; None: no comparison of it was decided."""
        ...


def turned(result: Result) -> Result:
    """Return a result as the second of the pair sees it."""
    return result if result is UNDECIDED else 1.0 - result


def rounds_for(entrants: int) -> int:
    """Return ceil(log2(entrants)): the rounds after which one entrant at most has won them all."""
    return max(0, entrants - 1).bit_length()
