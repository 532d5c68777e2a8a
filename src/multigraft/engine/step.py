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
from multigraft.engine.scoring import Scoring
from multigraft.prompting.render import Templates, render
from multigraft.records.log import RunLog
from multigraft.records.rows import ResponseRow, ScoreRow, SentRow
from multigraft.rewards.combine import Combination
from multigraft.types import Call, Candidate, Completion, Request, Sample, Sampling, Score


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

    async def make(self, entry: Entry, calls: Sequence[Call], texts: Mapping[int, str]) -> list[Stepped]:
        """Carry out calls that ask the same of the same model.

        Args:
            entry: what they belong to.
            calls: equal but for id and seed.
            texts: responses of the prompt so far, by call id.

        Returns:
            One result for each call, in order; its sample is safe in the record, unless a stop kept it from being sent; its scores are on their way there.
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

        bought = await self.purchases.buy(prompt.prompt_id, first.model, request, sending)
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
        await self.log.durable()
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
        prompt, number = entry.prompt, entry.enter(self.log)
        candidate = Candidate(prompt, step.call, step.sample)
        scores = {name: score for name, score in known.items() if not score.retryable}
        missing = [scoring for scoring in self.scorings if scoring.reward.name not in scores]
        found = [await missing[0].score(candidate)] if len(missing) == 1 else await asyncio.gather(*[scoring.score(candidate) for scoring in missing])
        for scoring, score in zip(missing, found, strict=True):
            scores[scoring.reward.name] = score
            judged = self.purchases.judged(candidate, scoring.reward.name)
            self.log.append(ScoreRow(number, step.call.call_id, scoring.reward.name, scoring.reward.version, score, judged))
        return replace(step, scores=scores)


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
