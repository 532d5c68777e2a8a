"""What a search has paid for and found out, kept so that nothing is paid twice: `search.db` in its folder.

Every sample is on disk before it is used, and what is about to be sent is noted before it goes. A search that starts again asks the same things in the same
order, and finds the answers here, so there is nothing else to remember of it.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import reduce
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from multigraft.budget.amount import NOTHING, Amount
from multigraft.errors import RecordError, boundary
from multigraft.graphs.latency import CallTime
from multigraft.optimize.problem import Reply
from multigraft.records.folder import SEARCH_NAME
from multigraft.records.journal import Journal, Layout
from multigraft.records.schema import SAMPLE, SCORE, Value, sample_of, sample_values, score_of, score_values
from multigraft.types import FailureKind, Sample, Score

_AMOUNT = "flops REAL NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL, calls INTEGER NOT NULL"
_CREATE = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE sessions (sequence INTEGER PRIMARY KEY, session INTEGER NOT NULL, seconds REAL NOT NULL, facts TEXT NOT NULL) STRICT;
CREATE TABLE facts (sequence INTEGER PRIMARY KEY, name TEXT NOT NULL, value TEXT NOT NULL) STRICT;
CREATE TABLE sent (sequence INTEGER PRIMARY KEY, digest TEXT NOT NULL, model TEXT NOT NULL, apart INTEGER NOT NULL, {_AMOUNT}) STRICT;
CREATE TABLE outputs (
  sequence INTEGER PRIMARY KEY, sent INTEGER NOT NULL, digest TEXT NOT NULL, model TEXT NOT NULL, apart INTEGER NOT NULL, lasting INTEGER NOT NULL, {_AMOUNT},
  text TEXT, reasoning TEXT, finish TEXT, mean_logprob REAL, first_token TEXT, flags TEXT,
  failure TEXT, message TEXT, possibly_billed INTEGER,
  prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
  context_tokens INTEGER NOT NULL, estimated INTEGER NOT NULL, endpoint TEXT NOT NULL, latency_s REAL NOT NULL) STRICT;
CREATE INDEX outputs_by_digest ON outputs (digest);
CREATE INDEX outputs_by_sent ON outputs (sent);
CREATE TABLE scores (
  sequence INTEGER PRIMARY KEY, prompt_id TEXT NOT NULL, digest TEXT NOT NULL, scorer TEXT NOT NULL,
  value REAL, reason TEXT, message TEXT NOT NULL, retryable INTEGER NOT NULL, truncated INTEGER NOT NULL, answer TEXT, details TEXT NOT NULL) STRICT;
CREATE INDEX scores_by_output ON scores (digest, prompt_id, scorer);
CREATE TABLE trials (
  sequence INTEGER PRIMARY KEY, graph TEXT NOT NULL, prompt_id TEXT NOT NULL, score REAL, reason TEXT, node_scores TEXT NOT NULL, {_AMOUNT},
  latency_s REAL NOT NULL) STRICT;
CREATE INDEX trials_by_graph ON trials (graph, prompt_id);
CREATE TABLE consults (sequence INTEGER PRIMARY KEY, digest TEXT NOT NULL, text TEXT, reason TEXT, {_AMOUNT}) STRICT;
CREATE INDEX consults_by_digest ON consults (digest);
"""
_COLUMNS: Final = {
    "sessions": "sequence, session, seconds, facts",
    "facts": "sequence, name, value",
    "sent": "sequence, digest, model, apart, flops, tokens, usd, calls",
    "outputs": f"sequence, sent, digest, model, apart, lasting, flops, tokens, usd, calls, {SAMPLE}",
    "scores": f"sequence, prompt_id, digest, scorer, {SCORE}",
    "trials": "sequence, graph, prompt_id, score, reason, node_scores, flops, tokens, usd, calls, latency_s",
    "consults": "sequence, digest, text, reason, flops, tokens, usd, calls",
}
LAYOUT: Final = Layout(1, _CREATE, _COLUMNS)


class KeptTrial(NamedTuple):
    """A graph on one question, without the names that its nodes happen to have."""

    score: float | None
    reason: FailureKind | None
    node_scores: Mapping[str, float | None]
    """By the keys of the nodes' cones."""
    spent: Amount
    latency_s: float


class Store:
    """The record of one search. The caller owns the folder (`owner.owned`).

    Args:
        folder: of the search.

    Raises:
        RecordError: it cannot be opened, is damaged, or was written by another version.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / SEARCH_NAME
        self._journal = Journal(path, LAYOUT)
        with boundary(RecordError, f"reading {path}", sqlite3.Error):
            self._read = sqlite3.connect(path, isolation_level=None)
        self._path = path
        self._facts = {str(name): str(value) for name, value in self._rows("SELECT name, value FROM facts ORDER BY sequence")}
        self._trials: dict[tuple[str, str], KeptTrial] = {}
        """Those of this session, which need not be on disk yet."""
        self.session = int(self._number("SELECT ifnull(max(session), -1) + 1 FROM sessions"))
        """0 for the first process that works on the search, 1 for the next, ..."""

    @property
    def error(self) -> RecordError | None:
        """Why nothing can be recorded any more; None: it can."""
        return self._journal.error

    async def durable(self) -> None:
        """Wait until everything kept so far is on disk.

        Raises:
            RecordError: it cannot be written.
        """
        await self._journal.durable()

    def close(self) -> None:
        """Write what is left, and close.

        Raises:
            RecordError: what is left could not be written.
        """
        self._read.close()
        self._journal.close()

    def note_session(self, seconds: float, facts: Mapping[str, str]) -> None:
        """Note how long this process has worked on the search."""
        self._journal.put("sessions", self.session, seconds, orjson.dumps(dict(facts)).decode())

    def seconds(self) -> float:
        """Return how long earlier processes worked on the search."""
        found = "SELECT ifnull(sum(longest), 0.0) FROM (SELECT max(seconds) AS longest FROM sessions WHERE session < ? GROUP BY session)"
        return self._number(found, self.session)

    def fact(self, name: str) -> str | None:
        """Return something that was settled once and must stay as it is; None: it was not yet."""
        return self._facts.get(name)

    def keep_fact(self, name: str, value: str) -> None:
        """Settle something."""
        self._facts[name] = value
        self._journal.put("facts", name, value)

    def note_sent(self, digest: str, model: str, bound: Amount, *, apart: bool) -> int:
        """Note a call that is about to be sent; wait until it is durable before it is.

        Args:
            digest: of what is asked.
            model: that is asked.
            bound: the most it may cost.
            apart: whether the optimiser model's account pays.

        Returns:
            Its place, for `keep_output`. One without an output may have been billed, and is charged at its bound.
        """
        return self._journal.put("sent", digest, model, int(apart), *bound)

    def keep_output(self, sent: int, digest: str, model: str, sample: Sample, spent: Amount, *, apart: bool, lasting: bool) -> None:
        """Keep what came of a call.

        Args:
            sent: its place.
            digest: as it was sent.
            model: likewise.
            sample: what came.
            spent: what it cost with all its attempts.
            apart: as it was sent.
            lasting: whether whoever asks the same gets this; otherwise it is asked again.
        """
        self._journal.put("outputs", sent, digest, model, int(apart), int(lasting), *spent, *sample_values(sample))

    def output(self, digest: str) -> Sample | None:
        """Return the lasting output that is on disk for what is asked; None: there is none."""
        found = self._rows(f"SELECT {SAMPLE} FROM outputs WHERE digest = ? AND lasting ORDER BY sequence DESC LIMIT 1", digest)  # noqa: S608 - fixed texts
        return next((sample_of(row) for row in found), None)

    def keep_score(self, prompt_id: str, digest: str, scorer: str, score: Score) -> None:
        """Keep what a scorer said of an output as an answer to a question."""
        self._journal.put("scores", prompt_id, digest, scorer, *score_values(score))

    def score(self, prompt_id: str, digest: str, scorer: str) -> Score | None:
        """Return what a scorer said of an output; None: it was not asked yet, or not to any avail."""
        where = "WHERE digest = ? AND prompt_id = ? AND scorer = ? AND NOT retryable ORDER BY sequence DESC LIMIT 1"
        return next((score_of(row) for row in self._rows(f"SELECT {SCORE} FROM scores {where}", digest, prompt_id, scorer)), None)  # noqa: S608 - fixed texts

    def has_answers(self) -> bool:
        """Whether a scorer read a final answer of any output, so that answers can be counted."""
        return bool(self._number("SELECT EXISTS (SELECT 1 FROM scores WHERE answer IS NOT NULL)"))

    def keep_trial(self, graph: str, prompt_id: str, trial: KeptTrial) -> None:
        """Keep a finished trial.

        Args:
            graph: key of the sink's cone.
            prompt_id: of the question.
            trial: how it ended.
        """
        self._trials[graph, prompt_id] = trial
        scores = orjson.dumps(dict(trial.node_scores)).decode()
        self._journal.put("trials", graph, prompt_id, trial.score, trial.reason, scores, *trial.spent, trial.latency_s)

    def trial(self, graph: str, prompt_id: str) -> KeptTrial | None:
        """Return a finished trial; None: there is none."""
        if (fresh := self._trials.get((graph, prompt_id))) is not None:
            return fresh
        columns = "score, reason, node_scores, flops, tokens, usd, calls, latency_s"
        found = self._rows(f"SELECT {columns} FROM trials WHERE graph = ? AND prompt_id = ? ORDER BY sequence DESC LIMIT 1", graph, prompt_id)  # noqa: S608 - fixed texts
        for score, reason, scores, *amount, latency_s in found:
            value = None if score is None else float(score)
            return KeptTrial(value, _kind(reason), orjson.loads(str(scores)), _amount(amount), float(latency_s or 0.0))
        return None

    def keep_consult(self, digest: str, reply: Reply) -> None:
        """Keep what a method was told the optimiser model replied, a failure as well."""
        self._journal.put("consults", digest, reply.text, reply.reason, *reply.spent)

    def consult(self, digest: str) -> Reply | None:
        """Return what a method was told before; None: it was told nothing yet."""
        found = self._rows("SELECT text, reason, flops, tokens, usd, calls FROM consults WHERE digest = ? ORDER BY sequence LIMIT 1", digest)
        for text, reason, *amount in found:
            return Reply(None if text is None else str(text), _kind(reason), _amount(amount))
        return None

    def spent(self, *, apart: bool | None = None) -> Amount:
        """Add up what the search has cost so far, calls that were cut off at their bound.

        Args:
            apart: only what the optimiser model cost, or only the rest; None: both.
        """
        sums = "ifnull(sum(flops), 0.0), ifnull(sum(tokens), 0), ifnull(sum(usd), 0.0), ifnull(sum(calls), 0)"
        which = "" if apart is None else f"AND apart = {int(apart)}"
        answered = self._rows(f"SELECT {sums} FROM outputs WHERE 1 {which}")  # noqa: S608 - fixed texts
        cut_off = self._rows(f"SELECT {sums} FROM sent WHERE sequence NOT IN (SELECT sent FROM outputs) {which}")  # noqa: S608 - fixed texts
        return reduce(Amount.plus, map(_amount, (*answered, *cut_off)), NOTHING)

    def num_cut_off(self) -> int:
        """Count the calls whose answer never came: cut off by a kill or a hang."""
        return int(self._number("SELECT count(*) FROM sent WHERE sequence NOT IN (SELECT sent FROM outputs)"))

    def call_times(self, model: str, limit: int = 1000) -> tuple[CallTime, ...]:
        """Return tokens and seconds of a model's first answers, in the order they came.

        Args:
            model: its name.
            limit: how many at most.
        """
        columns = "context_tokens, completion_tokens, latency_s"
        found = self._rows(f"SELECT {columns} FROM outputs WHERE model = ? AND text IS NOT NULL AND NOT apart ORDER BY sequence LIMIT ?", model, limit)  # noqa: S608 - fixed texts
        return tuple(CallTime(float(read or 0), float(written or 0), float(seconds or 0.0)) for read, written, seconds in found)

    def _number(self, statement: str, *values: Value) -> float:
        return next((float(row[0] or 0) for row in self._rows(statement, *values)), 0.0)

    def _rows(self, statement: str, *values: Value) -> Iterable[tuple[Value, ...]]:
        with boundary(RecordError, f"reading {self._path}", sqlite3.Error), closing(self._read.execute(statement, values)) as found:
            rows: list[tuple[Value, ...]] = found.fetchall()
        return rows


def _kind(value: Value) -> FailureKind | None:
    return None if value is None else FailureKind(str(value))


def _amount(values: Iterable[Value]) -> Amount:
    found = tuple(values)
    flops, tokens, usd, calls = found
    return Amount(float(flops or 0.0), int(tokens or 0), float(usd or 0.0), int(calls or 0))
