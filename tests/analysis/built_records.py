"""Records of prompts built by hand, and written as the runs they would come from."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from multigraft.budget.amount import NOTHING, Amount
from multigraft.records.folder import write_settings
from multigraft.records.log import RunLog
from multigraft.records.reader import CallRecord, PromptRecord, ScoreRecord
from multigraft.records.rows import EndRow, OutcomeRow, PromptRow, ResponseRow, ScoreRow, SentRow
from multigraft.types import NO_USAGE, Call, Completion, Failure, FailureKind, Finish, Json, Message, Prompt, Role, Sample, Score


@dataclass(frozen=True)
class Told:
    """One call, in the order told; its id is its place unless it has another."""

    reward: float | None = None
    scores: Mapping[str, Score | float] = field(default_factory=dict)
    failed: bool = False
    call_id: int | None = None
    tokens: int = 0


def score_of(value: Score | float) -> Score:
    return value if isinstance(value, Score) else Score(value)


def graded(value: float, answer: str | None) -> Score:
    return Score(value, answer=answer)


def pairwise(value: float, length: int = 100, opponent_length: int = 100, **orders: float) -> Score:
    return Score(value, details={"length": float(length), "opponent_length": float(opponent_length), **orders})


def sample_of(told: Told, call_id: int) -> Sample:
    return Failure(FailureKind.SERVER, "down") if told.failed else Completion(f"answer {call_id}", Finish.STOP, NO_USAGE)


def prompt_of(number: int, fields: Mapping[str, Json]) -> Prompt:
    return Prompt(f"prompt-{number}", (Message("user", f"Question {number}?"),), fields=fields)


def record_of(*calls: Told, number: int = 0, ended: str | None = "done", fields: Mapping[str, Json] | None = None) -> PromptRecord:
    record = PromptRecord(number, prompt_of(number, fields or {}), ended=ended)
    for sequence, told in enumerate(calls, 1):
        call_id = sequence - 1 if told.call_id is None else told.call_id
        call = Call(call_id, "m", (), Role.ANSWER, 1)
        found = CallRecord(sequence, call, sample_of(told, call_id), Amount(float(told.tokens), told.tokens, 0.0, 1), (), "d", told.reward, asked=1)
        found.told_sequence = sequence
        found.scores = {name: ScoreRecord(name, "1", score_of(value)) for name, value in told.scores.items()}
        record.calls[call_id] = found
    record.calls = dict(sorted(record.calls.items()))
    return record


def write_run(folder: Path, prompts: Sequence[Sequence[Told]], fields: Sequence[Mapping[str, Json]] = (), version: str = "1") -> Path:
    """Write a finished run through the real log."""
    write_settings(folder, {"strategy": {"name": "random", "n": max(map(len, prompts), default=0)}})
    asyncio.run(_write(folder, prompts, fields, version))
    return folder


async def _write(folder: Path, prompts: Sequence[Sequence[Told]], fields: Sequence[Mapping[str, Json]], version: str) -> None:
    log = RunLog(folder)
    try:
        for number, calls in enumerate(prompts):
            log.append(PromptRow(number, prompt_of(number, fields[number] if fields else {})))
            for place, told in enumerate(calls):
                call = Call(place, "m", (), Role.ANSWER, 1)
                log.append(SentRow(number, call, NOTHING))
                log.append(ResponseRow(number, call, "d", sample_of(told, place), Amount(float(told.tokens), told.tokens, 0.0, 1)))
                for name, value in told.scores.items():
                    log.append(ScoreRow(number, place, name, version, score_of(value)))
                log.append(OutcomeRow(number, place, told.reward, FailureKind.SERVER if told.failed else None, place + 1))
            log.append(EndRow(number, "done"))
        await log.durable()
    finally:
        log.close()
