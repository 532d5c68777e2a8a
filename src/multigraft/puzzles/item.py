"""What a puzzle is, what is said of an answer, and the contract of a family."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from multigraft.randomness import Draws
from multigraft.types import Json

_BEST_FAILURE = 0.99


class Verdict(NamedTuple):
    """What a checker says of an answer."""

    credit: float
    """[0, 1]; 1 exactly when the answer is right, below that how near it came."""
    answer: str | None
    """What was read as the answer, written so that equal answers are equal texts; None when nothing was found, or where many different answers are right."""
    message: str
    """For people; short."""


def verdict(answer: str | None, message: str, *, right: bool, credit: float) -> Verdict:
    """Make a verdict; a wrong answer never has full credit."""
    return Verdict(1.0 if right else min(max(credit, 0.0), _BEST_FAILURE), answer, message)


@dataclass(frozen=True, slots=True)
class Item:
    """One puzzle."""

    question: str
    solution: str
    """A right answer, as a model should write it."""
    facts: Mapping[str, Json]
    """What the checker needs to know."""
    only_solution: bool = True
    """Whether every right answer means the same as the solution."""
    tests: Mapping[str, Json] = field(default_factory=dict)
    """Where answers are programs: `entry_point` and `cases`, each with its `input` (a list of arguments) and what is `expected`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Puzzles of one kind."""

    name: str
    asks: str
    """What is asked, in a few words."""
    counts: str
    """What the difficulty counts."""
    least: int
    """Smallest difficulty; >= 1."""
    most: int
    """Greatest difficulty."""
    usual: int
    """Difficulty that models of a billion parameters solve sometimes."""
    make: Callable[[Draws, int], Item]
    """Makes a puzzle of a difficulty; all that is random in it comes from the draws."""
    check: Callable[[Mapping[str, Json], str], Verdict] | None
    """Judges an answer by the facts of its puzzle; None: it is a program, judged by its tests."""
