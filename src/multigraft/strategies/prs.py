"""Preference-guided refine sampling (arXiv 2408.12163): one model answers, then refines its best answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from multigraft.strategies.random_sampling import chosen_model
from multigraft.strategies.staged import Place, StagedState, StagedStrategy


@dataclass(frozen=True, kw_only=True)
class Prs(StagedStrategy):
    """One model: floor(N/2) fresh answers, at least one, then refinements of the best of them. None of them scored: the rest are fresh, too.

    Args:
        model: its name; None: the first of the run.
    """

    may_substitute: ClassVar[bool] = False

    model: str | None = None

    def chains(self, prompt_id: str, models: tuple[str, ...], seed: int) -> list[list[list[str]]]:
        """Two stages: fresh, then refining."""
        model = chosen_model(self.model, models)
        num_fresh = max(1, self.num_responses // 2)
        stages = [[model] * num_fresh, [model] * (self.num_responses - num_fresh)]
        return [[stage for stage in stages if stage]]

    def shown(self, state: StagedState, place: Place, before: Sequence[int]) -> tuple[int, ...]:
        """The best of the fresh answers by reward, the earliest of equal ones."""
        scored = [(reward, -call_id) for call_id in before if (reward := state.rewards[call_id]) is not None]
        return (-max(scored)[1],) if scored else ()
