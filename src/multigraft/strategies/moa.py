"""Mixture-of-Agents (Wang et al., arXiv 2406.04692): layers of models, each shown the responses of the layer before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from multigraft.randomness import Draws
from multigraft.strategies.staged import Place, StagedState, StagedStrategy
from multigraft.types import Role


@dataclass(frozen=True, kw_only=True)
class Moa(StagedStrategy):
    """N/(K*L) blocks, concurrent, of L layers; in a layer every model answers once, from the second on with the layer before in sight.

    Where K*L does not divide N, a last block takes the rest, layer by layer; the models of its last, shorter layer are drawn at random.

    Args:
        num_layers: L; >= 1. The default is that of arXiv 2406.04692, section 3.1; its MoA-Lite has 2.
        num_aggregation: responses of the layer before that are shown, drawn at random for each call; >= 1. None: all.

    Raises:
        ValueError: a setting out of its range.
    """

    guided: ClassVar[bool] = False

    later_role: ClassVar[Role] = Role.AGGREGATE

    num_layers: int = 3
    num_aggregation: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("num_layers", self.num_layers), ("num_aggregation", self.num_aggregation)):
            if value is not None and value < 1:
                message = f"{name} must be at least 1, not {value}"
                raise ValueError(message)

    def chains(self, prompt_id: str, models: tuple[str, ...], seed: int) -> list[list[list[str]]]:
        """A block is a chain, a layer a stage."""
        num_full, left_over = divmod(self.num_responses, len(models))
        layers = [list(models)] * num_full
        if left_over:
            layers.append(Draws(seed, prompt_id, "last layer").sample(models, left_over))
        return [layers[first : first + self.num_layers] for first in range(0, len(layers), self.num_layers)]

    def shown(self, state: StagedState, place: Place, before: Sequence[int]) -> tuple[int, ...]:
        """The layer before, or some of it, in the order of its models."""
        if self.num_aggregation is None or self.num_aggregation >= len(before):
            return tuple(before)
        return tuple(Draws(state.seed, state.prompt_id, "shown", *place).sample(before, self.num_aggregation))
