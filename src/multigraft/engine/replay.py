"""Resume: bring the state of every unfinished prompt, the knowledge of the run and its ledger back from the record.

A strategy's state is a function of its asks and tells. The record holds every telling with the number of calls asked before it, so asking that often and
telling in between gives the same state; what was in flight at the crash is in flight again, under the same ids and seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multigraft.budget.amount import NOTHING, Amount
from multigraft.errors import RecordError
from multigraft.knowledge import REWARD, Knowledge
from multigraft.records.reader import PromptRecord, RunRecord, Telling
from multigraft.rewards.combine import Combination, names
from multigraft.strategies.base import State, Strategy
from multigraft.types import Call, Failure, Outcome, Sample, Score

FINISHED = frozenset({"done", "failed", "overtime"})
"""Reasons to end that more budget or time would not change."""


@dataclass(slots=True)
class Restored:
    """An unfinished prompt as the record leaves it."""

    number: int
    state: State
    record: PromptRecord


@dataclass(slots=True)
class Resumption:
    """Where a run stands."""

    knowledge: Knowledge = field(default_factory=Knowledge)
    unfinished: dict[str, Restored] = field(default_factory=dict)
    """By prompt id."""
    finished: set[str] = field(default_factory=set)
    """Prompt ids."""
    ended: set[int] = field(default_factory=set)
    """Numbers of the finished prompts."""
    num_prompts: int = 0
    """Prompts started; the next one's number."""
    spent: Amount = NOTHING
    """From the run's budget."""
    spent_apart: Amount = NOTHING
    """From the budget of the judges that the search does not see."""
    seconds: float = 0.0
    session: int = 0
    """Of the process that resumes."""


def resume(
    record: RunRecord,
    strategy: Strategy[Any],
    models: Sequence[str],
    seed: int,
    combination: Combination,
    *,
    cost_unit: str | None = None,
) -> Resumption:
    """Replay a record.

    Args:
        record: of the run, no longer being written.
        strategy: the strategy the run was started with.
        models: likewise, in order.
        seed: likewise.
        combination: likewise.
        cost_unit: field of `Amount` that a strategy is told as cost; None: 0 is told.

    Raises:
        RecordError: the record does not fit the strategy: it was made by another version or under other settings.
    """
    found = Resumption(spent=record.spent(), spent_apart=record.spent_apart(), seconds=record.seconds(), session=record.num_sessions())
    by_number: dict[int, Restored] = {}
    for prompt_id, (number, ended) in record.by_id().items():
        found.num_prompts = max(found.num_prompts, number + 1)
        if ended in FINISHED:
            found.finished.add(prompt_id)
            found.ended.add(number)
            continue
        prompt_record = record.prompt(number)
        restored = Restored(number, strategy.init(prompt_id, models, seed), prompt_record)
        found.unfinished[prompt_id] = by_number[number] = restored
    for telling in record.tellings(names(combination)):
        learn(found.knowledge, combination, telling)
        restored_prompt = by_number.get(telling.number)
        if restored_prompt is not None and telling.asked is not None:
            _tell(strategy, restored_prompt, telling, found.knowledge, combination=combination, cost_unit=cost_unit)
    return found


def learn(knowledge: Knowledge, combination: Combination, telling: Telling) -> None:
    """Take one telling into the knowledge of the run."""
    if telling.scores:
        combination.learn(telling.scores, telling.model, knowledge)
    if telling.reward is not None:
        knowledge.add(REWARD, telling.reward)


def outcome_of(sample: Sample, reward: float | None, spent: Amount, cost_unit: str | None, answer: str | None = None) -> Outcome:
    """Say what a strategy is told of a call.

    Args:
        sample: what came of it.
        reward: finite, or None.
        spent: on the call.
        cost_unit: field of `Amount` that is told as cost; None: 0 is told.
        answer: what a scorer read from the response, see `answer_of`.
    """
    cost = float(getattr(spent, cost_unit)) if cost_unit else 0.0
    return Outcome(None, sample.kind, cost) if isinstance(sample, Failure) else Outcome(reward, None, cost, answer)


def answer_of(scores: Mapping[str, Score], combination: Combination) -> str | None:
    """Return the final answer that the first scorer of the reward to read one read.

    Args:
        scores: of one response, by scorer.
        combination: the reward; its order is that of the scorers.
    """
    return next((score.answer for name in names(combination) if (score := scores.get(name)) is not None and score.answer is not None), None)


def _tell(strategy: Strategy[Any], restored: Restored, telling: Telling, knowledge: Knowledge, *, combination: Combination, cost_unit: str | None) -> None:
    state = restored.state
    while len(state.calls) < (telling.asked or 0):
        call = strategy.ask(state)
        if not isinstance(call, Call):
            message = f"prompt {restored.number}: the record has {telling.asked} calls where the strategy asks {len(state.calls)}; {_REMEDY}"
            raise RecordError(message)
        _refuse_other(restored, call)
    recorded = restored.record.calls.get(telling.call_id)
    if recorded is None or telling.call_id not in state.in_flight:
        message = f"prompt {restored.number}, call {telling.call_id}: the record tells a call that was not in flight; {_REMEDY}"
        raise RecordError(message)
    outcome = outcome_of(recorded.sample, telling.reward, recorded.spent, cost_unit, answer_of(telling.scores, combination))
    strategy.tell(state, telling.call_id, outcome, knowledge)


def _refuse_other(restored: Restored, call: Call) -> None:
    recorded = restored.record.calls.get(call.call_id)
    if recorded is not None and recorded.call != call:
        message = f"prompt {restored.number}: the record has {recorded.call} where the strategy asks {call}; {_REMEDY}"
        raise RecordError(message)


_REMEDY = "it was made by another version or under other settings; start a new run"
