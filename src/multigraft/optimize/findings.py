"""What a pilot found out about a task: the numbers that an optimiser model is told, and that choices fall back on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Preference: TypeAlias = Literal["small-ensemble", "single-large", "undecided"]


class Measured(NamedTuple):
    """A mean score with its interval."""

    mean: float
    """[0, 1]."""
    low: float
    high: float
    questions: int
    """>= 1."""
    units: float | None = None
    """Cost of one answer; None: not known."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Several models side by side at one budget."""

    counts: Mapping[str, int]
    """Calls by model; >= 1 each."""
    measured: Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All of it; empty where a part was not measured."""

    singles: Mapping[str, Measured]
    """Each model alone."""
    mixes: tuple[Mix, ...] = ()
    """At about equal cost."""
    widths: Mapping[int, Measured]
    """By number of agents side by side, of one model."""
    depths: Mapping[int, Measured]
    """By length of one chain, of one model."""
    grid: Mapping[tuple[int, int], Measured]
    """By width and depth."""
    best_width: int | None = None
    """The smallest within one standard error of the best."""
    best_depth: int | None = None
    preference: Preference = "undecided"
