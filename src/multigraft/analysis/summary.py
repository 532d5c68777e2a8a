"""Totals of a run: what was made, what it cost, which models and depths did it, and what went wrong."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from multigraft.budget.amount import NOTHING, Amount
from multigraft.records.lineage import Lineage
from multigraft.records.reader import CallRecord, PromptRecord, RunRecord
from multigraft.types import Completion, Score


@dataclass(slots=True)
class Share:
    """What one model, or one depth of the trees, contributed."""

    calls: int = 0
    """Calls with a recorded end."""
    responses: int = 0
    scored: int = 0
    reward_sum: float = 0.0
    wins: int = 0
    """Prompts whose best response it wrote."""
    spent: Amount = NOTHING

    @property
    def mean_reward(self) -> float | None:
        """Mean over its scored responses."""
        return self.reward_sum / self.scored if self.scored else None

    def add(self, call: CallRecord) -> None:
        """Count a call."""
        self.calls += 1
        self.responses += call.text is not None
        self.spent = self.spent.plus(call.spent)
        if call.reward is not None:
            self.scored += 1
            self.reward_sum += call.reward


@dataclass(slots=True)
class Scorer:
    """What one scorer said, and cost."""

    scored: int = 0
    """Responses with a value."""
    value_sum: float = 0.0
    unscored: Counter[str] = field(default_factory=Counter)
    """Responses it could not score, by reason."""
    message: str = ""
    """What it said of the first of them."""
    spent: Amount = NOTHING
    """From the run's budget."""
    spent_apart: Amount = NOTHING
    """From the budget of the judges that the search does not see; not part of the run's total."""

    @property
    def mean(self) -> float | None:
        """Mean over the responses with a value."""
        return self.value_sum / self.scored if self.scored else None

    def add(self, score: Score) -> None:
        """Count a score."""
        if score.value is not None:
            self.scored += 1
            self.value_sum += score.value
            return
        self.unscored[score.reason or "not scored yet"] += 1
        self.message = self.message or score.message


@dataclass(slots=True)
class Summary:
    """Totals of a run."""

    prompts: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    """Prompts by why they ended; `unfinished` for those that have not."""
    without_reward: int = 0
    """Prompts none of whose responses has a reward; where the strategy says itself which response is the answer, those whose answer has none."""
    concluded: int = 0
    """Prompts of a strategy that says itself which response is the answer."""
    answered: int = 0
    """Those of them that have an answer."""
    responses: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """Failed calls by kind."""
    failure_message: str = ""
    """What the first of them said."""
    repeated: Counter[str] = field(default_factory=Counter)
    """Failed attempts that were repeated, by kind."""
    unscored: Counter[str] = field(default_factory=Counter)
    """Responses without a reward, by kind."""
    unscored_message: str = ""
    """What was said of the first of them."""
    truncated: int = 0
    """Responses cut off by their token limit."""
    duplicates: int = 0
    """Responses whose text an earlier response to the same prompt has as well."""
    models: dict[str, Share] = field(default_factory=dict)
    depths: dict[int, Share] = field(default_factory=dict)
    """0: answers afresh; 1: made from one of these; and so on."""
    scorers: dict[str, Scorer] = field(default_factory=dict)
    refined_wins: int = 0
    """Prompts whose best response was made from an earlier one."""
    best_sum: float = 0.0
    first_sum: float = 0.0
    compared: int = 0
    """Prompts with a reward of their first response: those that `best_sum` and `first_sum` are about."""
    interrupted: int = 0
    """Calls cut off and not made again yet."""
    wasted: Amount = NOTHING
    """Upper bound of what calls cut off by crashes may have cost."""
    spent: Amount = NOTHING
    """Everything: calls, failed attempts, scorings, and what crashes cut off."""
    seconds: float = 0.0
    sessions: int = 0
    """Processes that worked on the run."""

    @property
    def mean_best(self) -> float | None:
        """Mean over prompts of the best reward."""
        return self.best_sum / self.compared if self.compared else None

    @property
    def mean_first(self) -> float | None:
        """Mean over the same prompts of the first response's reward."""
        return self.first_sum / self.compared if self.compared else None


def summarise(record: RunRecord) -> Summary:
    """Add a run up, one prompt in memory at a time."""
    summary = summary_of(record.prompts())
    summary.seconds, summary.sessions = record.seconds(), record.num_sessions()
    return summary


def summary_of(prompts: Iterable[PromptRecord]) -> Summary:
    """Add prompts up."""
    summary = Summary()
    for prompt in prompts:
        _add_prompt(summary, prompt)
    return summary


def _add_prompt(summary: Summary, prompt: PromptRecord) -> None:
    summary.prompts += 1
    summary.ends[prompt.ended or "unfinished"] += 1
    summary.spent = summary.spent.plus(prompt.spent())
    summary.wasted = summary.wasted.plus(prompt.wasted)
    summary.interrupted += len(prompt.interrupted)
    lineage = Lineage(prompt)
    texts: set[str] = set()
    for call_id, call in prompt.calls.items():
        summary.models.setdefault(call.call.model, Share()).add(call)
        summary.depths.setdefault(lineage.depth(call_id), Share()).add(call)
        _add_call(summary, call)
        summary.duplicates += call.text in texts
        texts |= {call.text} if call.text is not None else set()
    best = prompt.best()
    summary.concluded += prompt.concludes
    summary.answered += prompt.concludes and best is not None
    summary.without_reward += best is None or best.reward is None
    if best is None:
        return
    summary.models[best.call.model].wins += 1
    summary.depths[lineage.depth(best.call.call_id)].wins += 1
    summary.refined_wins += bool(best.call.parents)
    first = next((call for call in prompt.calls.values() if call.text is not None), None)
    if best.reward is not None and first is not None and first.reward is not None:
        summary.compared += 1
        summary.best_sum += best.reward
        summary.first_sum += first.reward


def _add_call(summary: Summary, call: CallRecord) -> None:
    summary.repeated.update(call.attempts)
    for scorer, found in call.scores.items():
        summary.scorers.setdefault(scorer, Scorer()).add(found.score)
    for scorer, spent in call.judging.items():
        named = summary.scorers.setdefault(scorer, Scorer())
        named.spent = named.spent.plus(spent)
    for scorer, spent in call.judging_apart.items():
        named = summary.scorers.setdefault(scorer, Scorer())
        named.spent_apart = named.spent_apart.plus(spent)
    if not isinstance(call.sample, Completion):
        summary.failures[call.sample.kind] += 1
        summary.failure_message = summary.failure_message or call.sample.message
        return
    summary.responses += 1
    summary.truncated += call.sample.finish == "length"
    if call.reward is None:
        summary.unscored[call.reason or "not scored yet"] += 1
        said = next((found.score.message for found in call.scores.values() if found.score.value is None), "")
        summary.unscored_message = summary.unscored_message or said or str(call.reason or "not scored yet")
