"""What a run made, over all its prompts: for the dataset card and for people."""

from collections import Counter
from dataclasses import dataclass, field

from multigraft.budget.amount import NOTHING, Amount
from multigraft.datasets.pick import reward_of
from multigraft.knowledge import Moments
from multigraft.records.reader import PromptRecord
from multigraft.types import Completion


@dataclass(slots=True)
class Statistics:
    """Totals of a run."""

    prompts: int = 0
    unfinished: int = 0
    """Prompts whose tree was still growing."""
    calls: int = 0
    """Calls with an outcome."""
    responses: int = 0
    scored: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """Failed calls by kind."""
    unscored: Counter[str] = field(default_factory=Counter)
    """Responses without a reward by reason."""
    rewards: Moments = field(default_factory=Moments)
    """Of all scored responses."""
    best_rewards: Moments = field(default_factory=Moments)
    """Of the best response of each prompt."""
    first_rewards: Moments = field(default_factory=Moments)
    """Of the earliest scored response of each prompt."""
    spent: Amount = NOTHING
    """Calls and their scoring."""

    def add(self, record: PromptRecord) -> None:
        """Take in one prompt."""
        self.prompts += 1
        self.unfinished += record.ended is None
        found: list[float] = []
        for call in record.calls.values():
            self.calls += 1
            self.spent = self.spent.plus(call.charged)
            if not isinstance(call.sample, Completion):
                self.failures[call.sample.kind.value] += 1
                continue
            self.responses += 1
            reward = reward_of(call)
            if reward is None:
                self.unscored[call.reason.value if call.reason else "not scored yet"] += 1
                continue
            self.scored += 1
            self.rewards.add(reward)
            found.append(reward)
        if found:
            self.first_rewards.add(found[0])
        best = record.best()
        best_reward = None if best is None else reward_of(best)
        if best_reward is not None:
            self.best_rewards.add(best_reward)
