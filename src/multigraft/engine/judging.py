"""Judges that the search does not see: they score chosen responses of prompts that have ended, alongside a run or long after it.

What they say is recorded under their names and told to nobody, so that their word on the responses is independent of the reward that chose them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal, TypeAlias

from multigraft.engine.entry import Entry
from multigraft.engine.purchases import Purchases
from multigraft.engine.scoring import Scoring, ranked
from multigraft.records.log import RunLog
from multigraft.records.progress import best_so_far, doubling
from multigraft.records.reader import CallRecord, PromptRecord, RunRecord
from multigraft.records.rows import ScoreRow
from multigraft.types import Candidate, Completion, Ranking, Score

At: TypeAlias = Literal["doubling", "best", "all"] | tuple[int, ...]
"""Which responses of a prompt: the best so far by the reward when there were 1, 2, 4, ... and all; the best of all; every one; or the best so far at these
counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Juror:
    """One judge, and what it judges. A ranking always compares all responses of a prompt."""

    scoring: Scoring | Ranking
    at: At = "doubling"

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self.scoring.reward.name if isinstance(self.scoring, Scoring) else self.scoring.name

    @property
    def version(self) -> str:
        """Of the scorer."""
        return self.scoring.version

    def chosen(self, record: PromptRecord) -> list[int]:
        """Return the ids of the calls whose responses it judges, in their order."""
        made = [call_id for call_id, call in record.calls.items() if call.text is not None and call.told_sequence is not None]
        if self.at == "all" or not isinstance(self.scoring, Scoring):
            return made
        points = (len(made),) if self.at == "best" else doubling(len(made)) if self.at == "doubling" else self.at
        return sorted(set(best_so_far(record, points).values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """The judges of a run at work.

    Args:
        jurors: names distinct from each other and from the scorers of the reward.
        record: of the run, to read from.
        log: of the run, to write to.
        purchases: pays their calls, from the budget of their own.
    """

    jurors: Sequence[Juror]
    record: RunRecord
    log: RunLog
    purchases: Purchases

    async def judge(self, number: int) -> int:
        """Score what is missing of one prompt; what the log was given so far is durable.

        Args:
            number: of a prompt that has ended.

        Returns:
            How many scores were found.
        """
        record = self.record.prompt(number)
        entry = Entry(record.prompt, count(), number, record.replies)
        self.purchases.open(entry, self.purchases.ledger)
        try:
            found = await asyncio.gather(*[self._by(juror, record, number) for juror in self.jurors])
        finally:
            self.purchases.close(record.prompt.prompt_id)
        return sum(found)

    async def _by(self, juror: Juror, record: PromptRecord, number: int) -> int:
        chosen = juror.chosen(record)
        missing = [call_id for call_id in chosen if _is_missing(record.calls[call_id], juror.name)]
        candidates = {call_id: _candidate(record, call_id) for call_id in chosen}
        if not missing:
            return 0
        if isinstance(juror.scoring, Scoring):
            scoring = juror.scoring
            scores = await asyncio.gather(*[scoring.score(candidates[call_id]) for call_id in missing])
            return self._keep(juror, number, dict(zip(missing, scores, strict=True)))
        scores = await ranked(juror.scoring, list(candidates.values()))
        if self.purchases.halt.stopped and any(score.retryable for score in scores):
            return 0
        return self._keep(juror, number, dict(zip(chosen, scores, strict=True)))

    def _keep(self, juror: Juror, number: int, scores: Mapping[int, Score]) -> int:
        # What a stop cut short says nothing of the response; the next session asks again.
        kept = {call_id: score for call_id, score in scores.items() if not (self.purchases.halt.stopped and score.retryable)}
        for call_id, score in kept.items():
            self.log.append(ScoreRow(number, call_id, juror.name, juror.version, score))
        return len(kept)


def _is_missing(call: CallRecord, scorer: str) -> bool:
    found = call.scores.get(scorer)
    return found is None or found.score.retryable


def _candidate(record: PromptRecord, call_id: int) -> Candidate:
    call = record.calls[call_id]
    if not isinstance(call.sample, Completion):
        message = f"call {call_id} of prompt {record.number} has no response"
        raise TypeError(message)
    return Candidate(record.prompt, call.call, call.sample)
