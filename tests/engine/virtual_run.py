"""Whole campaigns without a network, a disk or a wait: scripted models on a clock that jumps from event to event."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from multigraft.budget.amount import NO_LIMITS, Limits
from multigraft.budget.cost import ModelCost
from multigraft.budget.ledger import Ledger
from multigraft.engine.campaign import Campaign, Tally
from multigraft.engine.halt import Halt
from multigraft.engine.judging import Judging
from multigraft.engine.purchases import Purchases
from multigraft.engine.replay import Resumption
from multigraft.engine.scoring import Scoring
from multigraft.engine.step import Contestant, Workshop
from multigraft.prompting.library import load_templates
from multigraft.records.log import RunLog
from multigraft.records.reader import PromptRecord
from multigraft.records.rows import Row
from multigraft.rewards.combine import Combination, Part, alone
from multigraft.strategies.base import Strategy
from multigraft.types import Message, Model, Prompt, Ranking, Reward, Sampling
from multigraft.wire.retry import RetryPolicy

T = TypeVar("T")
TEMPLATES = load_templates()


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still while anything is to be done, and jumps to the next timer when nothing is."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0

    def time(self) -> float:
        return self._now_s

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]  # private to asyncio
            self._now_s = max(self._now_s, self._scheduled[0]._when)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def virtually(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on a clock that jumps."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work())


class MemoryLog(RunLog):
    """A record that is kept in memory; its commits take two virtual milliseconds."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.error = None

    def append(self, row: Row) -> int:
        self.rows.append(row)
        return len(self.rows)

    async def durable(self) -> None:
        if self.error is not None:
            raise self.error
        await asyncio.sleep(0.002)

    def durable_soon(self) -> None:
        """It is in memory."""

    def close(self) -> None:
        """Nothing is open."""


@dataclass(kw_only=True)
class VirtualRun:
    """What a campaign is made of; see `Campaign` and `Purchases`."""

    strategy: Strategy[Any]
    models: Sequence[Model]
    """Those that answer; `judges` are for the reward alone."""
    reward_of: Callable[[Purchases], Reward]
    judges: Sequence[Model] = ()
    more_rewards: Sequence[Reward] = ()
    """Added to the first, all of them normalised over the run."""
    costs: dict[str, ModelCost] = field(default_factory=dict)
    limits: Limits = NO_LIMITS
    prompt_limits: Limits = NO_LIMITS
    max_tokens: int = 64
    max_in_flight: int = 64
    prompts_in_flight: int = 8
    max_attempts: int = 3
    together: bool = False
    seed: int = 0
    resumption: Resumption = field(default_factory=Resumption)
    log: RunLog = field(default_factory=MemoryLog)
    purchases_class: type[Purchases] = Purchases
    ranking: Ranking | None = None
    """In place of the reward."""
    judging_of: Callable[[Purchases, Halt], Judging | None] = lambda _purchases, _halt: None

    def __post_init__(self) -> None:
        every = [*self.models, *self.judges]
        self.halt = Halt([model.name for model in self.models])
        retry = RetryPolicy(max_attempts=self.max_attempts)
        self.purchases = self.purchases_class(
            models={model.name: model for model in every},
            costs={model.name: self.costs.get(model.name, ModelCost()) for model in every},
            ledger=Ledger(self.limits, spent=self.resumption.spent),
            retry=retry,
            halt=self.halt,
            places={model.name: self.max_in_flight for model in every},
            max_in_flight=self.max_in_flight,
        )
        self.purchases.log = None if isinstance(self.log, MemoryLog) else self.log
        rewards: tuple[Reward, ...] = (self.reward_of(self.purchases), *self.more_rewards)
        self.combination = Combination(parts=tuple(Part(name=reward.name, normalise="run" if self.more_rewards else "none") for reward in rewards))
        if self.ranking is not None:
            rewards, self.combination = (), alone(self.ranking.name)
        sampling = Sampling(max_tokens=self.max_tokens)
        self.campaign = Campaign(
            strategy=self.strategy,
            models=[model.name for model in self.models],
            seed=self.seed,
            workshop=Workshop(
                contestants={model.name: Contestant(sampling, together=self.together) for model in self.models},
                purchases=self.purchases,
                scorings=tuple(Scoring(reward, retry, self.halt) for reward in rewards),
                combination=self.combination,
                templates=TEMPLATES,
                log=self.log,
                ranking=self.ranking,
            ),
            resumption=self.resumption,
            halt=self.halt,
            prompts_in_flight=self.prompts_in_flight,
            prompt_limits=self.prompt_limits,
            judging=self.judging_of(self.purchases, self.halt),
        )

    async def run(self, prompts: Sequence[Prompt], rescored: Iterable[PromptRecord] = ()) -> Tally:
        return await self.campaign.run(prompts, rescored)


def prompts_of(count: int, *, words: Callable[[int], int] = lambda _: 5) -> list[Prompt]:
    """Prompts with so many words each."""
    return [Prompt(f"p{number}", (Message("user", " ".join(itertools.repeat(f"word{number}", words(number)))),)) for number in range(count)]
