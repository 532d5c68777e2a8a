"""Parallel ensemble: every model answers equally often. The baseline of that name in arXiv 2412.17061."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from multigraft.randomness import Draws
from multigraft.strategies.staged import Place, StagedState, StagedStrategy


@dataclass(frozen=True, kw_only=True)
class Parallel(StagedStrategy):
    """Each of K models answers afresh N/K times, in a random order. Where K does not divide N, models drawn at random answer once more."""

    guided: ClassVar[bool] = False

    def chains(self, prompt_id: str, models: tuple[str, ...], seed: int) -> list[list[list[str]]]:
        """One stage of N places in a random order."""
        each, left_over = divmod(self.num_responses, len(models))
        draws = Draws(seed, prompt_id, "order")
        return [[draws.shuffled([*models * each, *draws.sample(models, left_over)])]]

    def shown(self, state: StagedState, place: Place, before: Sequence[int]) -> tuple[int, ...]:
        """Nothing: there is no second stage."""
        return ()
