"""Every noun of the project, once.

All values are frozen. Token counts are integers >= 0, log-probabilities natural and <= 0, times monotonic seconds, money US dollars. `None` always means
"not known" or "there is none", never zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Role(StrEnum):
    """What a call asks of its model; each role has a prompt template."""

    ANSWER = "answer"
    """Answer the prompt; no parents."""
    REFINE = "refine"
    """Improve one earlier response."""
    AGGREGATE = "aggregate"
    """Answer with several earlier responses in sight."""
    FUSE = "fuse"
    """Condense several earlier responses into one, for a next agent to read."""
    CONCLUDE = "conclude"
    """Give the final answer, with the responses of the agents before in sight."""


class FailureKind(StrEnum):
    """Why a call brought no usable response, or a response no score."""

    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    MALFORMED = "malformed"
    ABORTED = "aborted"
    NO_ANSWER = "no_answer"
    """The model finished, or ran into its token limit, without one visible character of an answer."""
    REFUSED = "refused"
    """A content filter or the model's own refusal field."""
    CONTEXT = "context"
    """The prompt does not fit the model's context window."""
    PROMPT_TRUNCATED = "prompt_truncated"
    """The server silently cut the prompt: it reports far fewer prompt tokens than were sent."""
    BAD_REQUEST = "bad_request"
    AUTH = "auth"
    QUOTA = "quota"
    NOT_FOUND = "not_found"
    TOO_LARGE = "too_large"
    """The response body exceeded the size limit, also after decompression."""
    UNAVAILABLE = "unavailable"
    """No endpoint of the model takes calls any more."""
    BUDGET = "budget"
    """The budget had no room for the call, so it was not sent."""
    INVALID_SCORE = "invalid_score"
    """A scorer returned NaN, infinity, a non-number, or the wrong number of scores."""
    UNREADABLE = "unreadable"
    """A judge's reply holds no verdict."""
    PARTLY_SCORED = "partly_scored"
    """A scorer saw only a part of the response, and such scores are not asked for."""
    UNSCORABLE = "unscorable"
    """The scorer cannot judge this response (no constraint, no reference, no log-probabilities)."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str


@dataclass(frozen=True, slots=True)
class Constraint:
    """One checkable instruction of a prompt, in the IFEval format."""

    kind: str
    """Such as `length_constraints:number_words`."""
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to synthesise answers for."""

    prompt_id: str
    """Hash of the content plus its ordinal among equal prompts; the same whatever the order of the file."""
    messages: tuple[Message, ...]
    """At least one; the last is the user's."""
    name: str | None = None
    """The `id` of the row, when it has one; for people, not for identity."""
    reference: str | None = None
    constraints: tuple[Constraint, ...] = ()
    fields: Mapping[str, Json] = field(default_factory=dict)
    """Whatever else the row held; travels along into the datasets."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one model samples."""

    temperature: float = 0.7
    """[0, 2]."""
    top_p: float = 1.0
    """(0, 1]."""
    max_tokens: int = 2048
    """Upper bound of the completion, reasoning included; >= 1."""
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    """Ask for the log-probability of every token of the answer."""
    top_logprobs: int = 0
    """[0, 20]. Above 0: also the most probable alternatives of the *first* token."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked: one conversation, `len(seeds)` samples of its continuation."""

    messages: tuple[Message, ...]
    sampling: Sampling
    seeds: tuple[int, ...]
    """One seed in [0, 2**31) for each sample wanted; at least one."""
    json_schema: str | None = None
    """A JSON schema, as text, that the server is to hold the answer to; one that cannot answers freely, and the completion's flags say so."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one sample. Of several samples in one request, the first carries the prompt tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Reasoning tokens included."""
    cached_tokens: int = 0
    """Part of `prompt_tokens`."""
    reasoning_tokens: int = 0
    """Part of `completion_tokens`."""
    context_tokens: int = 0
    """Tokens the sample was conditioned on: `prompt_tokens`, also where the prompt was billed to an earlier sample of the request."""
    estimated: bool = False
    """The server reported none; these are upper bounds."""


NO_USAGE = Usage()


class Finish(StrEnum):
    """Why a sample ended."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One alternative of a token."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Completion:
    """One sample a model returned; its text has at least one visible character."""

    text: str
    """The answer, without reasoning."""
    finish: Finish
    usage: Usage
    reasoning: str | None = None
    mean_logprob: float | None = None
    """Mean log-probability of the answer's tokens under the model that wrote it."""
    first_token: tuple[TokenLogprob, ...] = ()
    """Alternatives of the first token, most probable first; empty unless asked for."""
    flags: tuple[str, ...] = ()
    """What was changed or odd: `normalised`, `usage_missing`, `clamped`, ..."""
    endpoint: str = ""
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """One sample that did not come. A value, not an exception: it is told to the strategy and recorded."""

    kind: FailureKind
    message: str
    """For people; no secret, at most a few hundred characters."""
    retryable: bool = False
    retry_after_s: float | None = None
    """The server asked to wait this long; >= 0."""
    usage: Usage = NO_USAGE
    """Tokens known or assumed to have been billed all the same."""
    possibly_billed: bool = False
    """The request reached the server and its fate is unknown: charge the upper bound."""
    reasoning: str | None = None
    """Of a model that thought and never answered."""
    endpoint: str = ""
    latency_s: float = 0.0


Sample: TypeAlias = Completion | Failure


class Model(Protocol):
    """A language model. `generate` never raises for what a server or a network did: that is a `Failure`."""

    @property
    def name(self) -> str:
        """The name strategies and records know it by."""
        ...

    async def generate(self, request: Request) -> Sequence[Sample]:
        """Sample once for each seed of the request, in order; one attempt each, no retries.

        Args:
            request: what to ask.

        Returns:
            Exactly `len(request.seeds)` samples. Cancelling the task closes the connection.
        """
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a strategy: this model, shown these earlier responses."""

    call_id: int
    """0, 1, 2 ... within the prompt, in the order of asking."""
    model: str
    parents: tuple[int, ...]
    """Call ids of the responses shown, in the order they are shown."""
    role: Role
    seed: int
    """[0, 2**31), keyed by run seed, prompt and call id."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a strategy is told of a call: a response with its reward, or a failure."""

    reward: float | None = None
    """Finite, any scale; None when failed or not scored."""
    failure: FailureKind | None = None
    """None when there is a response."""
    cost: float = 0.0
    """What the call cost in the unit of the strategy's cost term; 0 when that is off."""
    answer: str | None = None
    """What a scorer read as the final answer, equal texts for equal answers; None: none was read."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A response to be scored."""

    prompt: Prompt
    call: Call
    completion: Completion


NO_DETAILS: Final[Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Score:
    """What one scorer says of one response, before any comparison with others."""

    value: float | None
    """Finite; None when it could not be scored."""
    reason: FailureKind | None = None
    """Why there is no value."""
    message: str = ""
    """For people: which constraints failed, what the judge said, what went wrong."""
    retryable: bool = False
    """Not scored for a passing reason: a resumed run scores it again."""
    truncated: bool = False
    """The scorer saw only a part of the response; such a score wins only where asked for."""
    answer: str | None = None
    """What was read as the final answer, written so that equal answers are equal texts; votes count these. None: the scorer reads none, or found none."""
    details: Mapping[str, float] = field(default_factory=lambda: NO_DETAILS)
    """Finite numbers behind the value, by name: the criteria of a rubric, the steps of a process reward, the lengths of two compared responses."""


class Reward(Protocol):
    """A scorer of responses. Like a model it returns its failures as values."""

    @property
    def name(self) -> str:
        """The name records know it by."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same response may get another score."""
        ...

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most; >= 1."""
        ...

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch.

        Args:
            candidates: 1 to `max_batch` responses, of any prompts.

        Returns:
            One score for each candidate, in order.
        """
        ...


class Ranking(Protocol):
    """A scorer that only compares: it scores the responses of one prompt against each other, once they are all there, so it cannot guide a search."""

    @property
    def name(self) -> str:
        """The name records know it by."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same responses may get another score."""
        ...

    async def rank(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score all responses of one prompt.

        Args:
            candidates: at least one; distinct call ids, in their order.

        Returns:
            One score for each candidate, in order; the highest is the best.
        """
        ...


class Ask(Protocol):
    """How a judge reaches its chat model: through the run's budget, retries and records."""

    async def __call__(self, candidate: Candidate, request: Request) -> Sample:
        """Sample once, charged to the candidate's prompt; the request holds one seed."""
        ...
