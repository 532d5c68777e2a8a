"""One step of a prompt: render the calls, buy the responses, record them, score them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import groupby

import orjson

from multigraft.budget.amount import NOTHING, Amount
from multigraft.budget.shortage import Shortage
from multigraft.engine.entry import Entry
from multigraft.engine.halt import UNSENT, is_down
from multigraft.engine.purchases import Purchases
from multigraft.engine.scoring import Scoring, ranked, scores_of
from multigraft.knowledge import REWARD, Knowledge
from multigraft.prompting.render import Templates, render
from multigraft.records.log import RunLog
from multigraft.records.rows import OutcomeRow, ResponseRow, ScoreRow, SentRow
from multigraft.rewards.combine import Combination, names
from multigraft.types import Call, Candidate, Completion, Ranking, Request, Sample, Sampling, Score


@dataclass(frozen=True, slots=True)
class Contestant:
    """How one model takes part in the run."""

    sampling: Sampling
    system: str | None = None
    """System text of its own."""
    together: bool = False
    """Several samples of the same messages may be asked in one request."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """What came of one call: a sample with its scores, or why it was not sent."""

    call: Call
    sample: Sample | Shortage
    spent: Amount = NOTHING
    scores: Mapping[str, Score] = field(default_factory=dict)
    """By scorer; empty for a failed call."""
    unrecorded: ResponseRow | None = None
    """Its row where the sample says that the model is down: it is recorded when it is told, and may stay untold (see `halt`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What every step needs: the run's models, rewards, templates, budget and record."""

    contestants: Mapping[str, Contestant]
    purchases: Purchases
    scorings: Sequence[Scoring]
    combination: Combination
    templates: Templates
    log: RunLog
    ranking: Ranking | None = None
    """Scores the responses of a prompt against each other when it has all of them; then nothing else scores them."""

    @property
    def guiding(self) -> frozenset[str]:
        """Names of the scorers that make the reward."""
        return frozenset(names(self.combination))

    async def make(self, entry: Entry, calls: Sequence[Call], texts: Mapping[int, str]) -> list[Stepped]:
        """Carry out calls that ask the same of the same model.

        Args:
            entry: what they belong to.
            calls: equal but for id and seed.
            texts: responses of the prompt so far, by call id.

        Returns:
            One result for each call, in order; its sample and its scores are on their way into the record, unless a stop kept it from being sent.
        """
        first, contestant = calls[0], self.contestants[calls[0].model]
        prompt = entry.prompt
        messages = render(prompt, first, texts, self.templates, contestant.system)
        request = Request(messages, contestant.sampling, tuple(call.seed for call in calls))

        async def sending(bound: Amount) -> None:
            number = entry.enter(self.log)
            for call in calls:
                self.log.append(SentRow(number, call, bound if call is first else NOTHING))
            await self.log.durable()  # whatever happens next, the record knows that this may have been paid

        bought = await self.purchases.buy(self.purchases.ledger_of(prompt.prompt_id), first.model, request, sending)
        if isinstance(bought, Shortage):
            return [Stepped(call, bought) for call in calls]
        digest = digest_of(request)
        made = []
        for call, sample, spent in zip(calls, bought.samples, bought.spent, strict=True):
            if sample is UNSENT:
                made.append(Stepped(call, sample))
                continue
            row = ResponseRow(entry.enter(self.log), call, digest, sample, spent, bought.attempts if call is first else ())
            unrecorded = row if is_down(sample) else None
            if unrecorded is None:
                self.log.append(row)
            made.append(Stepped(call, sample, spent, unrecorded=unrecorded))
        # The next call waits for all rows before its own, so nothing is paid for on the strength of a response that is not on disk.
        self.log.durable_soon()
        if len(made) == 1:  # spares a task, which costs as much as half a request
            return [await self.score(entry, made[0], {})]
        return list(await asyncio.gather(*[self.score(entry, step, {}) for step in made]))

    async def score(self, entry: Entry, step: Stepped, known: Mapping[str, Score]) -> Stepped:
        """Score a step's response by every scorer that has not spoken yet.

        Args:
            entry: what the response belongs to.
            step: a call with its recorded sample.
            known: scores recorded before, by scorer; one that failed for a passing reason is asked for again.
        """
        if not isinstance(step.sample, Completion):
            return step
        candidate, number = Candidate(entry.prompt, step.call, step.sample), entry.enter(self.log)
        kept = {name: score for name, score in known.items() if not score.retryable}
        found = await scores_of(self.scorings, candidate, known)
        for scoring in self.scorings:
            if (score := found.get(scoring.reward.name)) is not None:
                self.log.append(ScoreRow(number, step.call.call_id, scoring.reward.name, scoring.version, score))
        return replace(step, scores=kept | found)

    async def rank(self, entry: Entry, steps: Sequence[Stepped]) -> list[Stepped]:
        """Score the responses of a prompt against each other.

        Args:
            entry: the prompt.
            steps: its calls, in the order of their ids, each with its recorded sample.

        Returns:
            Each response with its score, which is on its way to the record; none where nothing ranks, or a stop kept the ranking from its end.
        """
        made = [(step, Candidate(entry.prompt, step.call, step.sample)) for step in steps if isinstance(step.sample, Completion)]
        if self.ranking is None or not made:
            return []
        name, version = self.ranking.name, self.ranking.version
        scores = await ranked(self.ranking, [candidate for _, candidate in made])
        if self.purchases.halt.stopped and any(score.retryable for score in scores):
            return []
        for (step, _), score in zip(made, scores, strict=True):
            self.log.append(ScoreRow(entry.enter(self.log), step.call.call_id, name, version, score))
        return [replace(step, scores={name: score}) for (step, _), score in zip(made, scores, strict=True)]

    def reward_later(self, entry: Entry, step: Stepped, found: Mapping[str, Score], knowledge: Knowledge) -> Score:
        """Give a told response the reward that it lacked; it counts in the data, but no strategy is told it.

        Args:
            entry: the prompt.
            step: the response with all its scores.
            found: those of its scores that are new.
            knowledge: of the run; learns them.

        Returns:
            The reward, or why there is still none.
        """
        self.combination.learn(found, step.call.model, knowledge)
        score = self.combination.value(step.scores, step.call.model, knowledge)
        if score.value is not None:
            knowledge.add(REWARD, score.value)
        self.log.append(OutcomeRow(entry.enter(self.log), step.call.call_id, score.value, score.reason, None))
        return score


def groups_of(calls: Sequence[Call], contestants: Mapping[str, Contestant]) -> list[list[Call]]:
    """Put together the calls that ask the same of a model which takes several samples in one request."""
    groups: list[list[Call]] = []
    for (model, _, _), same in groupby(sorted(calls, key=_likeness), key=_likeness):
        members = list(same)
        groups.extend([members] if contestants[model].together else [[call] for call in members])
    return sorted(groups, key=lambda group: group[0].call_id)


def digest_of(request: Request) -> str:
    """Hash what a model is asked, seeds apart: two calls with one digest asked the same."""
    return blake2b(orjson.dumps([request.messages, request.sampling]), digest_size=12).hexdigest()


def _likeness(call: Call) -> tuple[str, tuple[int, ...], str]:
    return call.model, call.parents, call.role
