"""The rows of the record, as the engine hands them to the log. Every row is written once and never changed.

The order of the rows is the order of the run: replaying the outcomes in that order, each after as many asks of its prompt as it names, gives the state of
every strategy and the knowledge of the run back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from multigraft.budget.amount import Amount
from multigraft.types import Call, FailureKind, Prompt, Sample, Score


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A prompt, written when its first call is about to be sent."""

    number: int
    """Its place among the run's prompts, from 0 in the order they were started."""
    prompt: Prompt


@dataclass(frozen=True, slots=True)
class SentRow:
    """A call about to be sent. One without a response was cut off by a crash; it may have been billed."""

    number: int
    """Of the prompt."""
    call: Call
    bound: Amount
    """What was reserved for it."""


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """What came of a call: a completion, or its last failure."""

    number: int
    call: Call
    digest: str
    """Hash of the messages and sampling settings sent."""
    sample: Sample
    spent: Amount
    """All attempts together; `calls` counts the requests sent."""
    attempts: tuple[FailureKind, ...] = ()
    """Kinds of the failed attempts before this sample, in order."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """What one scorer said of one response."""

    number: int
    call_id: int
    scorer: str
    version: str
    score: Score


@dataclass(frozen=True, slots=True)
class JudgingRow:
    """A judge's model about to be called. One without a reply after it was cut off by a crash; it may have been billed."""

    number: int
    call_id: int
    """Of the response it judges; of two compared ones, the first."""
    scorer: str
    digest: str
    """Hash of what the model is asked, seed included."""
    bound: Amount
    """What was reserved for it."""
    apart: bool = False
    """Paid from the budget of the judges that the search does not see."""


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """What a judge's model replied, stored before it is read; a resumed run that asks the same takes it from here."""

    number: int
    call_id: int
    scorer: str
    digest: str
    sample: Sample
    spent: Amount
    """All attempts together."""
    apart: bool = False
    """As in `JudgingRow`."""


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """What the strategy was told of a call."""

    number: int
    call_id: int
    reward: float | None
    reason: FailureKind | None
    """Why the call failed, or why its response has no reward."""
    asked: int | None
    """Calls this prompt had asked when it was told; None for a reward that was found later and never told."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """Which response the strategy now gives as the answer of its prompt; the latest row counts.

    Written by strategies that say so themselves; those that only search write none, and the response with the highest reward is the answer.
    """

    number: int
    call_id: int | None
    """None: there is no answer, or none yet."""


@dataclass(frozen=True, slots=True)
class EndRow:
    """A prompt is finished."""

    number: int
    reason: str
    """`done`, `failed`, `overtime` (its own seconds are spent), `budget` or `seconds`; a run with more budget takes up the last two again."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One process worked on the run until now; written at intervals and at its end."""

    session: int
    """0, 1, 2 ..."""
    seconds: float
    """Wall-clock seconds since the session began."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Versions and machine, for people."""


Row = PromptRow | SentRow | ResponseRow | JudgingRow | ReplyRow | ScoreRow | OutcomeRow | AnswerRow | EndRow | SessionRow
