"""What is given to the sandbox to be judged, and what comes back."""

from collections.abc import Sequence
from dataclasses import dataclass

from multigraft.types import Json


@dataclass(frozen=True, slots=True)
class Run:
    """One program that ran."""

    stdout: str
    """Bytes that are no UTF-8 written out as `\\xff`."""
    stderr: str
    exit_code: int
    """Negative, or above 128: ended by a signal."""
    timed_out: bool
    truncated: bool
    """More was written than is kept."""
    wall_s: float
    """From the moment the walls stood to the death of the last process."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The sandbox itself could not do it; says nothing of the code."""

    message: str


@dataclass(frozen=True, slots=True)
class Case:
    """One call and what it should return, as JSON holds them."""

    input: Sequence[Json]
    """The arguments."""
    expected: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """A submission and how it is tested."""

    sources: Sequence[str]
    """Readings of one answer, likeliest first; the first that is a program counts. Hostile."""
    entry_point: str
    """Name of the function tested."""
    prelude: str = ""
    """Code of the prompt, from which the tests may take helpers; the data set's."""
    tests: str = ""
    """Python with a function `check(candidate)`, or bare assertions; the data set's."""
    cases: Sequence[Case] = ()
    """Instead of `tests`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge found."""

    passed: bool
    """Every test held."""
    cases: tuple[bool, ...] = ()
    """Whether each case held; empty for `tests`. Cases not reached do not hold."""
    reason: str = ""
    """`assertion`, `exception`, `syntax`, `memory`, `timeout`, `refused` (returned what is no plain value), `ended` (its process died), `uncalled` (the tests
    never call the function, so they say nothing); empty when passed."""
    message: str = ""
    """For people; parts of it are hostile text, shortened."""
