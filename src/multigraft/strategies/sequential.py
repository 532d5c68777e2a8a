"""Sequential refinement (arXiv 2408.03314), as the baseline of that name in arXiv 2412.17061: in each round every model once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from multigraft.randomness import Draws
from multigraft.strategies.staged import Place, StagedState, StagedStrategy


@dataclass(frozen=True, kw_only=True)
class Sequential(StagedStrategy):
    """N/K rounds, concurrent. In each, every model once in a fresh random order: the first answers, each next one refines the response just before it.

    Where K does not divide N, a last, shorter round takes the rest.
    """

    guided: ClassVar[bool] = False

    def chains(self, prompt_id: str, models: tuple[str, ...], seed: int) -> list[list[list[str]]]:
        """A round is a chain, and each of its stages has one place."""
        rounds, left_over = divmod(self.num_responses, len(models))
        lengths = [len(models)] * rounds + [left_over] * (left_over > 0)
        orders = (Draws(seed, prompt_id, "round", index).shuffled(models)[:length] for index, length in enumerate(lengths))
        return [[[model] for model in order] for order in orders]

    def shown(self, state: StagedState, place: Place, before: Sequence[int]) -> tuple[int, ...]:
        """The response just before."""
        return tuple(before)
