"""What a strategy decides on given rewards: no model, no cost."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from multigraft.knowledge import REWARD, Knowledge
from multigraft.strategies.base import PlannedStrategy, Signal
from multigraft.types import Outcome


@dataclass(frozen=True, slots=True)
class Decision:
    """One call a strategy asked for."""

    index: int
    """0, 1, 2 ... in the order of asking."""
    model: str
    parents: tuple[int, ...]
    """Indices of the responses shown."""


def dry_run(strategy: PlannedStrategy[Any], models: Sequence[str], rewards: Iterable[float | None], seed: int = 0) -> Iterator[Decision]:
    """Feed a strategy rewards, one call in flight, whatever its `max_parallel` says.

    Args:
        strategy: its settings.
        models: names, distinct.
        rewards: rewards in the order of asking; None: not scored.
        seed: the seed of the run.

    Yields:
        A decision for each reward, until the strategy is done or the rewards run out.
    """
    one_at_a_time = replace(strategy, max_parallel=1)
    state = one_at_a_time.init("dry run", models, seed)
    knowledge = Knowledge()
    for reward in rewards:
        call = one_at_a_time.ask(state)
        if isinstance(call, Signal):
            return
        yield Decision(call.call_id, call.model, call.parents)
        if reward is not None:
            knowledge.add(REWARD, reward)
        one_at_a_time.tell(state, call.call_id, Outcome(reward), knowledge)
