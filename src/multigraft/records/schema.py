"""The tables of the record, and how each noun is written into columns and read back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TypeAlias

import orjson

from multigraft.records.rows import AnswerRow, EndRow, JudgingRow, OutcomeRow, PromptRow, ReplyRow, ResponseRow, Row, ScoreRow, SentRow, SessionRow
from multigraft.types import NO_DETAILS, Completion, Constraint, Failure, FailureKind, Finish, Message, Prompt, Sample, Score, TokenLogprob, Usage

SCHEMA_VERSION = 3

Value: TypeAlias = str | int | float | None

CREATE = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE sessions (sequence INTEGER PRIMARY KEY, session INTEGER NOT NULL, seconds REAL NOT NULL, facts TEXT NOT NULL) STRICT;
CREATE TABLE prompts (sequence INTEGER NOT NULL, number INTEGER PRIMARY KEY, prompt_id TEXT NOT NULL UNIQUE, content TEXT NOT NULL) STRICT;
CREATE TABLE sent (
  sequence INTEGER PRIMARY KEY, number INTEGER NOT NULL, call_id INTEGER NOT NULL, model TEXT NOT NULL, parents TEXT NOT NULL, role TEXT NOT NULL,
  seed INTEGER NOT NULL, flops REAL NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL, calls INTEGER NOT NULL) STRICT;
CREATE INDEX sent_by_call ON sent (number, call_id);
CREATE TABLE responses (
  sequence INTEGER PRIMARY KEY, number INTEGER NOT NULL, call_id INTEGER NOT NULL, digest TEXT NOT NULL, attempts TEXT NOT NULL,
  flops REAL NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL, calls INTEGER NOT NULL,
  text TEXT, reasoning TEXT, finish TEXT, mean_logprob REAL, first_token TEXT, flags TEXT,
  failure TEXT, message TEXT, possibly_billed INTEGER,
  prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
  context_tokens INTEGER NOT NULL, estimated INTEGER NOT NULL, endpoint TEXT NOT NULL, latency_s REAL NOT NULL) STRICT;
CREATE UNIQUE INDEX responses_by_call ON responses (number, call_id);
CREATE TABLE judging (
  sequence INTEGER PRIMARY KEY, number INTEGER NOT NULL, call_id INTEGER NOT NULL, scorer TEXT NOT NULL, digest TEXT NOT NULL, apart INTEGER NOT NULL,
  flops REAL NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL, calls INTEGER NOT NULL) STRICT;
CREATE INDEX judging_by_call ON judging (number, call_id);
CREATE TABLE replies (
  sequence INTEGER PRIMARY KEY, number INTEGER NOT NULL, call_id INTEGER NOT NULL, scorer TEXT NOT NULL, digest TEXT NOT NULL, apart INTEGER NOT NULL,
  flops REAL NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL, calls INTEGER NOT NULL,
  text TEXT, reasoning TEXT, finish TEXT, mean_logprob REAL, first_token TEXT, flags TEXT,
  failure TEXT, message TEXT, possibly_billed INTEGER,
  prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
  context_tokens INTEGER NOT NULL, estimated INTEGER NOT NULL, endpoint TEXT NOT NULL, latency_s REAL NOT NULL) STRICT;
CREATE INDEX replies_by_call ON replies (number, call_id);
CREATE TABLE scores (
  sequence INTEGER PRIMARY KEY, number INTEGER NOT NULL, call_id INTEGER NOT NULL, scorer TEXT NOT NULL, version TEXT NOT NULL,
  value REAL, reason TEXT, message TEXT NOT NULL, retryable INTEGER NOT NULL, truncated INTEGER NOT NULL, answer TEXT, details TEXT NOT NULL) STRICT;
CREATE INDEX scores_by_call ON scores (number, call_id);
CREATE TABLE outcomes (
  sequence INTEGER PRIMARY KEY, number INTEGER NOT NULL, call_id INTEGER NOT NULL, reward REAL, reason TEXT, asked INTEGER) STRICT;
CREATE INDEX outcomes_by_call ON outcomes (number, call_id);
CREATE TABLE answers (sequence INTEGER PRIMARY KEY, number INTEGER NOT NULL, call_id INTEGER) STRICT;
CREATE INDEX answers_by_prompt ON answers (number);
CREATE TABLE ends (sequence INTEGER PRIMARY KEY, number INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE INDEX ends_by_prompt ON ends (number);
"""

UPGRADES: Mapping[int, str] = {
    2: """
CREATE TABLE answers (sequence INTEGER PRIMARY KEY, number INTEGER NOT NULL, call_id INTEGER) STRICT;
CREATE INDEX answers_by_prompt ON answers (number);
"""
}
"""By earlier schema: what makes this one of it."""
FIRST_WITH_ANSWERS = 3
"""The schema that brought the table `answers`; in earlier ones every strategy searched."""

SAMPLE = (
    "text, reasoning, finish, mean_logprob, first_token, flags, failure, message, possibly_billed, prompt_tokens, completion_tokens, cached_tokens, "
    "reasoning_tokens, context_tokens, estimated, endpoint, latency_s"
)
"""Columns of a sample."""
SCORE = "value, reason, message, retryable, truncated, answer, details"
"""Columns of a score."""
COLUMNS = {
    "sessions": "sequence, session, seconds, facts",
    "prompts": "sequence, number, prompt_id, content",
    "sent": "sequence, number, call_id, model, parents, role, seed, flops, tokens, usd, calls",
    "responses": f"sequence, number, call_id, digest, attempts, flops, tokens, usd, calls, {SAMPLE}",
    "judging": "sequence, number, call_id, scorer, digest, apart, flops, tokens, usd, calls",
    "replies": f"sequence, number, call_id, scorer, digest, apart, flops, tokens, usd, calls, {SAMPLE}",
    "scores": f"sequence, number, call_id, scorer, version, {SCORE}",
    "outcomes": "sequence, number, call_id, reward, reason, asked",
    "answers": "sequence, number, call_id",
    "ends": "sequence, number, reason",
}
"""Columns of each table in the order rows are written and read."""


def values_of(sequence: int, row: Row) -> tuple[str, tuple[Value, ...]]:
    """Spread a row over the columns of its table.

    Returns:
        The table's name and the values, in the order of `COLUMNS`.
    """
    match row:
        case ResponseRow(number, call, digest, sample, spent, attempts):
            return "responses", (sequence, number, call.call_id, digest, _json(attempts), *spent, *sample_values(sample))
        case ScoreRow(number, call_id, scorer, version, score):
            return "scores", (sequence, number, call_id, scorer, version, *score_values(score))
        case JudgingRow(number, call_id, scorer, digest, bound, apart):
            return "judging", (sequence, number, call_id, scorer, digest, int(apart), *bound)
        case ReplyRow(number, call_id, scorer, digest, sample, spent, apart):
            return "replies", (sequence, number, call_id, scorer, digest, int(apart), *spent, *sample_values(sample))
        case OutcomeRow(number, call_id, reward, reason, asked):
            return "outcomes", (sequence, number, call_id, reward, reason, asked)
        case SentRow(number, call, bound):
            return "sent", (sequence, number, call.call_id, call.model, _json(call.parents), call.role, call.seed, *bound)
        case PromptRow(number, prompt):
            return "prompts", (sequence, number, prompt.prompt_id, _json(asdict(prompt)))
        case AnswerRow(number, said) | EndRow(number, said):
            return "ends" if isinstance(row, EndRow) else "answers", (sequence, number, said)
        case SessionRow(session, seconds, facts):
            return "sessions", (sequence, session, seconds, _json(dict(facts)))


def prompt_of(content: str) -> Prompt:
    """Read a prompt back from its JSON text."""
    found = orjson.loads(content)
    messages = tuple(Message(**message) for message in found["messages"])
    constraints = tuple(Constraint(**constraint) for constraint in found["constraints"])
    return Prompt(found["prompt_id"], messages, found["name"], found["reference"], constraints, found["fields"])


def sample_of(values: Sequence[Value]) -> Sample:
    """Read a completion or a failure back from its columns, `text` to `latency_s`."""
    text, reasoning, finish, mean_logprob, first_token, flags, failure, message, possibly_billed, *rest = values
    *tokens, estimated, endpoint, latency_s = rest
    prompt, completion, cached, reasoned, context = (int(count or 0) for count in tokens)
    usage = Usage(prompt, completion, cached, reasoned, context, bool(estimated))
    place, seconds = str(endpoint), float(latency_s or 0.0)
    thoughts = None if reasoning is None else str(reasoning)
    if failure is not None:
        billed = bool(possibly_billed)
        kind = FailureKind(str(failure))
        return Failure(kind, str(message), usage=usage, possibly_billed=billed, reasoning=thoughts, endpoint=place, latency_s=seconds)
    alternatives = tuple(TokenLogprob(token, logprob) for token, logprob in orjson.loads(str(first_token)))
    mean = None if mean_logprob is None else float(mean_logprob)
    return Completion(str(text), Finish(str(finish)), usage, thoughts, mean, alternatives, tuple(orjson.loads(str(flags))), place, seconds)


def score_of(values: Sequence[Value]) -> Score:
    """Read a score back from its columns, `value` to `details`."""
    value, reason, message, retryable, truncated, answer, details = values
    kind = None if reason is None else FailureKind(str(reason))
    number, read = None if value is None else float(value), None if answer is None else str(answer)
    numbers = NO_DETAILS if details == "{}" else orjson.loads(str(details))
    return Score(number, kind, str(message), bool(retryable), bool(truncated), read, numbers)


def score_values(score: Score) -> tuple[Value, ...]:
    """Spread a score over its columns, `value` to `details`."""
    details = _json(dict(score.details)) if score.details else "{}"
    return score.value, score.reason, score.message, int(score.retryable), int(score.truncated), score.answer, details


def sample_values(sample: Sample) -> tuple[Value, ...]:
    """Spread a completion or a failure over its columns, `text` to `latency_s`."""
    usage = sample.usage
    counts = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.reasoning_tokens, usage.context_tokens)
    rest = (*counts, int(usage.estimated), sample.endpoint, sample.latency_s)
    if isinstance(sample, Failure):
        return (None, sample.reasoning, None, None, None, None, sample.kind, sample.message, int(sample.possibly_billed), *rest)
    alternatives = _json([(alternative.token, alternative.logprob) for alternative in sample.first_token]) if sample.first_token else "[]"
    flags = _json(sample.flags) if sample.flags else "[]"
    return (sample.text, sample.reasoning, sample.finish, sample.mean_logprob, alternatives, flags, None, None, None, *rest)


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
