"""Read the record of a run, while it is being written or afterwards. Readers never hold up the writer."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from multigraft.budget.amount import NOTHING, Amount
from multigraft.errors import RecordError, boundary
from multigraft.records.folder import LOG_NAME, SEARCH_NAME, read_settings
from multigraft.records.schema import COLUMNS, FIRST_WITH_ANSWERS, SCHEMA_VERSION, UPGRADES, prompt_of, sample_of, score_of
from multigraft.types import Call, Completion, FailureKind, Json, Prompt, Role, Sample, Score

_SAME = "number = j.number AND call_id = j.call_id AND scorer = j.scorer AND digest = j.digest AND sequence > j.sequence"
_UNANSWERED_JUDGING = (
    f"judging j WHERE ifnull((SELECT min(sequence) FROM replies WHERE {_SAME}), 1e18) > ifnull((SELECT min(sequence) FROM judging WHERE {_SAME}), 1e17)"  # noqa: S608 - fixed texts
)
"""Calls of a judge that were followed by the same call before a reply, or by nothing."""


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """One scorer's word on a response."""

    scorer: str
    version: str
    score: Score


@dataclass(slots=True)
class CallRecord:
    """A call with all that became of it."""

    sequence: int
    """Place of its response in the record."""
    call: Call
    sample: Sample
    spent: Amount
    """The call's own; judges have theirs."""
    attempts: tuple[FailureKind, ...]
    digest: str
    reward: float | None = None
    """The reward that counts: told to the strategy, or found later."""
    reason: FailureKind | None = None
    """Why it failed, or has no reward."""
    asked: int | None = None
    """As in `OutcomeRow`; None while it was not told."""
    told_sequence: int | None = None
    """Place of the telling in the record."""
    scores: dict[str, ScoreRecord] = field(default_factory=dict)
    """By scorer; the latest counts."""
    judging: dict[str, Amount] = field(default_factory=dict)
    """What judging it cost, by scorer, from the run's own budget."""
    judging_apart: dict[str, Amount] = field(default_factory=dict)
    """The same, from the budget of the judges that the search does not see."""

    @property
    def charged(self) -> Amount:
        """What the run's budget paid for it: the call, and judging its response."""
        return reduce(Amount.plus, self.judging.values(), self.spent)

    @property
    def text(self) -> str | None:
        """The answer, None for a failed call."""
        return self.sample.text if isinstance(self.sample, Completion) else None


@dataclass(frozen=True, slots=True)
class Telling:
    """An outcome in the order of the record, with the scores that came with it."""

    number: int
    call_id: int
    model: str
    reward: float | None
    reason: FailureKind | None
    asked: int | None
    """As in `OutcomeRow`."""
    scores: Mapping[str, Score]
    """By scorer, since the call was last told or rewarded; empty for a failed call."""


@dataclass(slots=True)
class PromptRecord:
    """A prompt with all its calls."""

    number: int
    prompt: Prompt
    calls: dict[int, CallRecord] = field(default_factory=dict)
    """By call id, in that order."""
    ended: str | None = None
    """Why it ended; None while it is unfinished."""
    interrupted: list[Call] = field(default_factory=list)
    """Calls sent whose response is not recorded: cut off by a crash, or still in flight."""
    wasted: Amount = NOTHING
    """Upper bound of what was paid for answers that a crash cut off, also where the call was sent again later."""
    replies: dict[str, Completion] = field(default_factory=dict)
    """What judges' models replied, by the digest of what they were asked."""
    concludes: bool = False
    """Whether the strategy itself says which response is the answer; otherwise the highest reward does."""
    answer: int | None = None
    """Where it does: the call id of the answer; None when there is none, or none yet."""

    def spent(self) -> Amount:
        """Add up what the prompt has cost the run's budget: calls, judging, and the bound of what was cut off."""
        return reduce(Amount.plus, (call.charged for call in self.calls.values()), self.wasted)

    def best(self) -> CallRecord | None:
        """Return the answer, where the strategy itself says which response is; else the call with the highest reward.

        Equal rewards go to the earliest call. None when the strategy has no answer, or nothing has a reward.
        """
        if self.concludes:
            return None if self.answer is None else self.calls[self.answer]
        scored = [call for call in self.calls.values() if call.reward is not None]
        return max(scored, key=lambda call: (call.reward, -call.call.call_id), default=None)


class RunRecord:
    """The record of one run, read-only.

    Args:
        folder: the run's folder.

    Raises:
        RecordError: no run is there, it is damaged, or a newer multigraft wrote it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / LOG_NAME
        if not path.is_file() and (folder / SEARCH_NAME).is_file():
            message = f"{folder} holds a graph search, not a run: read {folder / 'report.md'}, or `multigraft graph show {folder / 'graph.json'}`"
            raise RecordError(message)
        self.settings: Mapping[str, Json] = read_settings(folder)
        if not path.is_file():
            message = f"{path}: no record there; the run was never started"
            raise RecordError(message)
        with boundary(RecordError, f"reading {path}", sqlite3.Error):
            self._database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            found = self._database.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        self._version = 0 if found is None else int(found[0])
        if self._version not in {SCHEMA_VERSION, *UPGRADES}:
            message = f"{path}: written in schema {found and found[0]}, this multigraft reads {SCHEMA_VERSION}; use the version that wrote it"
            raise RecordError(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def prompts(self) -> Iterator[PromptRecord]:
        """Walk over the prompts in the order they were started, one in memory at a time."""
        with boundary(RecordError, f"reading {self.folder / LOG_NAME}", sqlite3.Error), closing(self._database.cursor()) as cursor:
            for number, content in cursor.execute("SELECT number, content FROM prompts ORDER BY number"):
                yield self._prompt(number, prompt_of(content))

    def prompt(self, number: int) -> PromptRecord:
        """Read one prompt.

        Raises:
            RecordError: there is no prompt of this number.
        """
        with boundary(RecordError, f"reading {self.folder / LOG_NAME}", sqlite3.Error):
            found = self._database.execute("SELECT content FROM prompts WHERE number = ?", (number,)).fetchone()
            if found is not None:
                return self._prompt(number, prompt_of(found[0]))
        message = f"{self.folder}: there is no prompt {number}; there are {self.num_prompts()}, numbered from 0"
        raise RecordError(message)

    def find(self, named: str) -> PromptRecord:
        """Find one prompt by its number, its id or the beginning of it, or its name.

        Raises:
            RecordError: none fits, or several do.
        """
        if named.isdecimal() and int(named) < self.num_prompts():
            return self.prompt(int(named))
        rows = self._database.execute(
            "SELECT number FROM prompts WHERE substr(prompt_id, 1, length(?1)) = ?1 OR json_extract(content, '$.name') = ?1 ORDER BY number", (named,)
        ).fetchall()
        if len(rows) != 1:
            message = f"{self.folder}: {'several prompts are' if rows else 'no prompt is'} called '{named}'; there are {self.num_prompts()}, numbered from 0"
            raise RecordError(message)
        return self.prompt(rows[0][0])

    def num_prompts(self) -> int:
        """Count the prompts started."""
        return int(self._database.execute("SELECT count(*) FROM prompts").fetchone()[0])

    def seconds(self) -> float:
        """Return the wall-clock seconds worked on the run, over all its sessions."""
        found = self._database.execute("SELECT sum(longest) FROM (SELECT max(seconds) AS longest FROM sessions GROUP BY session)").fetchone()
        return float(found[0] or 0.0)

    def num_sessions(self) -> int:
        """Count the processes that worked on the run."""
        return int(self._database.execute("SELECT count(DISTINCT session) FROM sessions").fetchone()[0])

    def by_id(self) -> dict[str, tuple[int, str | None]]:
        """Map the id of every prompt started to its number and why it ended, None while it has not."""
        rows = self._database.execute(
            "SELECT prompt_id, number, (SELECT reason FROM ends WHERE ends.number = prompts.number ORDER BY sequence DESC LIMIT 1) FROM prompts"
        )
        return {prompt_id: (number, ended) for prompt_id, number, ended in rows}

    def versions(self) -> dict[str, set[str]]:
        """Map each scorer that has spoken to the versions it had."""
        found: dict[str, set[str]] = {}
        for scorer, version in self._database.execute("SELECT DISTINCT scorer, version FROM scores"):
            found.setdefault(scorer, set()).add(version)
        return found

    def tellings(self, scorers: Collection[str]) -> Iterator[Telling]:
        """Walk over everything that was told, or rewarded later, in the order of the record.

        Args:
            scorers: whose scores are to come along: those that make the reward. What others said is never told, and would pile up.
        """
        scores: dict[tuple[int, int], dict[str, Score]] = {}
        rows = self._database.execute(
            "SELECT sequence, number, call_id, NULL, NULL, NULL, NULL, scorer, value, reason, message, retryable, truncated, answer, details FROM scores "
            "WHERE scorer IN (SELECT value FROM json_each(?)) UNION ALL "
            "SELECT o.sequence, o.number, o.call_id, o.reward, o.reason, o.asked, s.model, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM outcomes o "
            "JOIN sent s ON s.sequence = (SELECT max(sequence) FROM sent WHERE number = o.number AND call_id = o.call_id) ORDER BY 1",
            (orjson.dumps(list(scorers)).decode(),),
        )
        for _, number, call_id, reward, reason, asked, model, scorer, *score in rows:
            key = (number, call_id)
            if scorer is not None:
                scores.setdefault(key, {})[scorer] = score_of(score)
            else:
                kind = None if reason is None else FailureKind(reason)
                yield Telling(number, call_id, model, reward, kind, asked, scores.pop(key, {}))

    def spent(self) -> Amount:
        """Add up what the run has cost its budget: calls, judging, and the bound of what crashes cut off."""
        return self._sum("responses").plus(self._sum("replies WHERE apart = 0")).plus(self.wasted())

    def spent_apart(self) -> Amount:
        """Add up what the judges have cost that the search does not see, and the bound of what crashes cut off of theirs."""
        return self._sum("replies WHERE apart = 1").plus(self._sum(f"{_UNANSWERED_JUDGING} AND apart = 1"))

    def wasted(self) -> Amount:
        """Add up the bounds of all calls, judges' included, that nothing is recorded to have come of: what crashes may have cost."""
        calls = self._sum(
            "sent s WHERE NOT (sequence = (SELECT max(sequence) FROM sent WHERE number = s.number AND call_id = s.call_id) "
            "AND EXISTS (SELECT 1 FROM responses r WHERE r.number = s.number AND r.call_id = s.call_id))"
        )
        return calls.plus(self._sum(f"{_UNANSWERED_JUDGING} AND apart = 0"))

    def _sum(self, rows: str, *values: int) -> Amount:
        row = self._database.execute(f"SELECT sum(flops), sum(tokens), sum(usd), sum(calls) FROM {rows}", values).fetchone()  # noqa: S608 - fixed texts
        return Amount(*(value or 0 for value in row))

    def unscored(self, scorers: Collection[str]) -> list[int]:
        """Return the numbers of the prompts that hold a response which one of some scorers could not score for a passing reason."""
        rows = self._database.execute(
            "SELECT DISTINCT number FROM scores s WHERE retryable = 1 AND scorer IN (SELECT value FROM json_each(?)) AND sequence = "
            "(SELECT max(sequence) FROM scores WHERE number = s.number AND call_id = s.call_id AND scorer = s.scorer) ORDER BY number",
            (orjson.dumps(list(scorers)).decode(),),
        )
        return [number for (number,) in rows]

    def _prompt(self, number: int, prompt: Prompt) -> PromptRecord:
        record = PromptRecord(number, prompt)
        execute = self._database.execute
        sent: dict[int, tuple[Call, Amount]] = {}
        for row in execute(f"SELECT {COLUMNS['sent']} FROM sent WHERE number = ? ORDER BY sequence", (number,)):  # noqa: S608 - fixed texts
            _, _, call_id, model, parents, role, seed, *bound = row
            record.wasted = record.wasted.plus(sent[call_id][1] if call_id in sent else NOTHING)
            sent[call_id] = (Call(call_id, model, tuple(orjson.loads(parents)), Role(role), seed), Amount(*bound))
        for row in execute(f"SELECT {COLUMNS['responses']} FROM responses WHERE number = ? ORDER BY call_id", (number,)):  # noqa: S608 - fixed texts
            sequence, _, call_id, digest, attempts, flops, tokens, usd, calls, *sample = row
            kinds = tuple(FailureKind(kind) for kind in orjson.loads(attempts))
            call, _ = sent.pop(call_id)
            record.calls[call_id] = CallRecord(sequence, call, sample_of(sample), Amount(flops, tokens, usd, calls), kinds, digest)
        for call, bound in sent.values():
            record.interrupted.append(call)
            record.wasted = record.wasted.plus(bound)
        record.wasted = record.wasted.plus(self._sum(f"{_UNANSWERED_JUDGING} AND apart = 0 AND number = ?", number))
        self._add_scores(record)
        for row in execute(f"SELECT {COLUMNS['outcomes']} FROM outcomes WHERE number = ? ORDER BY sequence", (number,)):  # noqa: S608 - fixed texts
            sequence, _, call_id, reward, reason, asked = row
            found = record.calls[call_id]
            found.reward, found.reason = reward, None if reason is None else FailureKind(reason)
            if asked is not None:
                found.asked, found.told_sequence = asked, sequence
        for (reason,) in execute("SELECT reason FROM ends WHERE number = ? ORDER BY sequence", (number,)):
            record.ended = reason
        answers = execute("SELECT call_id FROM answers WHERE number = ? ORDER BY sequence", (number,)) if self._version >= FIRST_WITH_ANSWERS else ()
        for (call_id,) in answers:
            record.concludes, record.answer = True, call_id
        return record

    def _add_scores(self, record: PromptRecord) -> None:
        execute, number = self._database.execute, record.number
        for row in execute(f"SELECT {COLUMNS['replies']} FROM replies WHERE number = ? ORDER BY sequence", (number,)):  # noqa: S608 - fixed texts
            _, _, call_id, scorer, digest, apart, flops, tokens, usd, calls, *sample = row
            found = record.calls[call_id].judging_apart if apart else record.calls[call_id].judging
            found[scorer] = found.get(scorer, NOTHING).plus(Amount(flops, tokens, usd, calls))
            reply = sample_of(sample)
            if isinstance(reply, Completion):
                record.replies[digest] = reply
        for row in execute(f"SELECT {COLUMNS['scores']} FROM scores WHERE number = ? ORDER BY sequence", (number,)):  # noqa: S608 - fixed texts
            _, _, call_id, scorer, version, *score = row
            record.calls[call_id].scores[scorer] = ScoreRecord(scorer, version, score_of(score))
