"""Code as a user would write it; it is type-checked against the installed package, strictly, and never run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from multigraft.budget.amount import Amount, Limits
from multigraft.budget.ledger import Ledger
from multigraft.budget.shortage import Shortage
from multigraft.records.reader import RunRecord
from multigraft.rewards.rules.reward import Rules
from multigraft.strategies.base import Plan, PlannedStrategy, State
from multigraft.strategies.table import strategy_from
from multigraft.testing.reward_suite import RewardSuite
from multigraft.types import Candidate, Completion, Failure, Finish, Message, Model, Request, Reward, Role, Sample, Sampling, Score, Usage


class Echo:
    """A model of one's own."""

    name = "echo"

    async def generate(self, request: Request) -> Sequence[Sample]:
        return [Completion(request.messages[-1].content, Finish.STOP, Usage()) for _ in request.seeds]


class Length:
    """A reward of one's own."""

    name = "length"
    version = "1"
    max_batch = 8

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        return [Score(float(len(candidate.completion.text))) for candidate in candidates]


@dataclass(frozen=True, kw_only=True)
class Twice(PlannedStrategy[State]):
    """A strategy of one's own."""

    def start(self, prompt_id: str, models: tuple[str, ...], seed: int) -> State:
        return State(prompt_id, models, seed)

    def plan(self, state: State) -> Plan | None:
        return Plan(state.models[0], (), Role.ANSWER) if len(state.calls) < 2 else None


class TestLength(RewardSuite):
    def reward(self) -> Reward:
        return Length()


async def ask(model: Model, reward: Reward) -> str | None:
    for sample in await model.generate(Request((Message("user", "Hello"),), Sampling(max_tokens=8), (1, 2))):
        if isinstance(sample, Failure):
            return sample.message
        return sample.text
    return reward.name


def spend(ledger: Ledger) -> int | None:
    held = ledger.reserve(Amount(tokens=10, calls=1))
    if isinstance(held, Shortage):
        return None
    held.settle(Amount(tokens=4, calls=1))
    return ledger.spent.tokens


def winners(folder: Path) -> list[tuple[str, float | None]]:
    with RunRecord(folder) as record:
        return [(best.call.model, best.reward) for prompt in record.prompts() if (best := prompt.best()) is not None]


model: Model = Echo()
rewards: list[Reward] = [Length(), Rules()]
state = Twice(num_responses=2).init("p", ["a"], 0)
limits = Limits(tokens=100)
name: str = type(strategy_from("toa", {"tau": 0.1})).__name__
