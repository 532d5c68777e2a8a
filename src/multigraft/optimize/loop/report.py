"""What a search found: the best graph, how sure that is, and what it took to find it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from multigraft.analysis.intervals import Estimate
from multigraft.budget.amount import Amount
from multigraft.graphs.costs import Caps
from multigraft.optimize.loop.archive import Archive, Change, CurvePoint, Entry
from multigraft.optimize.loop.explanation import is_single
from multigraft.optimize.loop.paired import LEVEL, Paired, estimated_mean
from multigraft.optimize.loop.selection import Aligned, price_of, utility_or
from multigraft.optimize.problem import Objective, Problem

__all__ = ["REASONS", "Found", "Rival", "Stopped", "found_of", "is_single"]

Stopped: TypeAlias = Literal["evaluations", "patience", "method", "repeats", "interrupted"]

REASONS: Final[Mapping[Stopped, str]] = {
    "evaluations": "all evaluations of the budget were made",
    "patience": "no better graph was found for as many evaluations as patience allows",
    "method": "the method had nothing more to propose",
    "repeats": "the method proposed nothing new for too long",
    "interrupted": "it was interrupted",
}


@dataclass(frozen=True, slots=True)
class Rival:
    """Another graph, and the best compared with it on the validation questions."""

    entry: Entry
    paired: Paired | None
    """The best less the rival; None: no question that both have a score on."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search returns; also of a search cut short."""

    best: Entry | None
    """None: nothing was scored."""
    estimate: Estimate | None
    """Of the best's mean score in validation, by an interval that holds for all validated graphs at once; None: it is not validated."""
    runner_up: Rival | None
    """The next best in validation."""
    single: Rival | None
    """The best model alone; None: none was validated, or it is the best itself."""
    stopped: Stopped
    objective: Objective
    caps: Caps
    entries: tuple[Entry, ...]
    front: tuple[Entry, ...]
    """Validated graphs that no other beats in quality, cost and latency, by falling quality."""
    changes: tuple[Change, ...]
    curve: tuple[CurvePoint, ...]
    counts: Mapping[str, int]
    """How much was done, by name."""
    notes: Mapping[str, int]
    """What was repaired, fell back, was pruned or refused, by kind."""
    spent: Amount
    """By the graphs."""
    optimiser_spent: Amount
    """By the optimiser model; not in `spent`."""


def found_of(archive: Archive, problem: Problem, stopped: Stopped = "interrupted") -> Found:
    """Say what is known by now.

    Args:
        archive: of the search.
        problem: that was searched.
        stopped: why it ended.
    """
    best = archive.best
    validated = archive.validated
    others = [entry for entry in validated if best is not None and entry.number != best.number]
    ranked = sorted(others, key=lambda entry: (-utility_or(archive.objective, entry.validation), *price_of(entry), entry.number))
    singles = [entry for entry in ranked if is_single(entry.graph)]
    # The best was picked among all of these, so that each is one more look.
    level = LEVEL / max(len(others), 1)
    values = () if best is None or best.validation is None else best.validation.scores
    return Found(
        best=best,
        estimate=estimated_mean(values, at_once=max(len(validated), 1)),
        runner_up=_rival(archive.objective, best, ranked[:1], level),
        single=None if best is not None and is_single(best.graph) else _rival(archive.objective, best, singles[:1], level),
        stopped=stopped,
        objective=archive.objective,
        caps=problem.space.caps,
        entries=tuple(archive.entries),
        front=archive.front(),
        changes=tuple(archive.changes),
        curve=tuple(archive.curve),
        counts=archive.counts(),
        notes=dict(sorted(archive.notes.items())),
        spent=archive.spent,
        optimiser_spent=archive.optimiser_spent,
    )


def _rival(objective: Objective, best: Entry | None, rivals: list[Entry], level: float) -> Rival | None:
    if best is None or not rivals:
        return None
    (rival,) = rivals
    if best.validation is None or rival.validation is None:
        return None
    return Rival(rival, Aligned(objective, best.validation, rival.validation).paired(level))
