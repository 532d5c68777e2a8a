"""A pilot as it goes on: like a search, a generator of `Evaluate` steps, so that the same drivers and the same record serve it."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from multigraft.graphs.graph import Graph, Node
from multigraft.optimize.pilot.plan import PilotPlan
from multigraft.optimize.problem import Evaluate, Evaluation, Run, Split

PilotSteps: TypeAlias = Generator[Evaluate, Any, "PilotRuns"]
"""What `pilot` returns: answered like any search."""


@dataclass(frozen=True, slots=True)
class MixRuns:
    """One mix of models, in several graphs."""

    counts: Mapping[str, int]
    evaluations: tuple[Evaluation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotRuns:
    """Everything a pilot ran; as `PilotPlan` has it."""

    block_model: str
    sink: Node
    singles: Mapping[str, Evaluation]
    copies: Mapping[tuple[str, int], Evaluation]
    grid: Mapping[tuple[int, int], Evaluation]
    mixes: tuple[MixRuns, ...]
    mix_nodes: int
    num_mixes: int


def pilot(plan: PilotPlan, split: Split = "train") -> PilotSteps:
    """Run a pilot.

    Args:
        plan: its graphs.
        split: where the questions come from, from its beginning.

    Returns:
        A generator of `Evaluate` steps that ends with all that was run.
    """
    evaluations: list[Evaluation] = []
    for step in plan.steps:
        evaluations += cast("tuple[Evaluation, ...]", (yield Evaluate(runs_of_graphs(plan, step, split))))
    return results_of(plan, evaluations)


def runs_of_graphs(plan: PilotPlan, graphs: Sequence[Graph], split: Split = "train") -> tuple[Run, ...]:
    """Have graphs run on every question of a pilot."""
    return tuple(Run(graph, split, tuple(range(plan.num_questions))) for graph in graphs)


def results_of(plan: PilotPlan, evaluations: Sequence[Evaluation]) -> PilotRuns:
    """Put results in their places.

    Args:
        plan: of the pilot.
        evaluations: one of each of `plan.graphs`, in order; without trials where nothing is known.
    """
    left = iter(evaluations)
    return PilotRuns(
        block_model=plan.block_model,
        sink=plan.sink,
        singles={model: next(left) for model in plan.singles},
        copies={key: next(left) for key in plan.copies},
        grid={cell: next(left) for cell in plan.grid},
        mixes=tuple(MixRuns(mix.counts, tuple(next(left) for _ in mix.graphs)) for mix in plan.mixes),
        mix_nodes=plan.mix_nodes,
        num_mixes=plan.num_mixes,
    )
