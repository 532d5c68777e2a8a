"""Random sampling: one model answers N times. The baseline called Rand in arXiv 2412.17061."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from multigraft.errors import UnknownNameError
from multigraft.strategies.staged import Place, StagedState, StagedStrategy


@dataclass(frozen=True, kw_only=True)
class RandomSampling(StagedStrategy):
    """One model answers afresh, N times.

    Args:
        model: its name; None: the first of the run.
    """

    guided: ClassVar[bool] = False

    may_substitute: ClassVar[bool] = False

    model: str | None = None

    def chains(self, prompt_id: str, models: tuple[str, ...], seed: int) -> list[list[list[str]]]:
        """One stage of N places."""
        return [[[chosen_model(self.model, models)] * self.num_responses]]

    def shown(self, state: StagedState, place: Place, before: Sequence[int]) -> tuple[int, ...]:
        """Nothing: there is no second stage."""
        return ()


def chosen_model(name: str | None, models: tuple[str, ...]) -> str:
    """Return the model of a strategy that uses one.

    Args:
        name: what its setting says; None: the first.
        models: the models of the run.

    Raises:
        UnknownNameError: the run has no such model.
    """
    if name is None:
        return models[0]
    if name not in models:
        raise UnknownNameError(what="model", name=name, known=models)
    return name
