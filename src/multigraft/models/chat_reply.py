"""A reply made into samples: what is an answer, what only looks like one, and why not."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from multigraft.models.chat_logprobs import answer_logprobs
from multigraft.models.chat_usage import ReplyUsage, read_usage, shares
from multigraft.models.few_shot import FewShot
from multigraft.models.reasoning import ThinkingTags, part
from multigraft.types import Completion, Failure, FailureKind, Finish, Json, Sample, Usage

_FINISHES = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_calls": Finish.STOP,
    "function_call": Finish.STOP,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
}
_BROKEN_OFF = frozenset({"abort", "aborted", "error", "cancelled", "canceled", "timeout", "unknown"})
_REFUSAL_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the replies of one model are read."""

    thinking: ThinkingTags | None = None
    few_shot: FewShot | None = None
    """Set for a base model: its text is cut where it goes on with another turn."""
    cut_at: tuple[str, ...] = ()
    """Stop words the server did not take, so that they are looked for here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a reply came from, for its samples."""

    endpoint: str
    latency_s: float
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Choice:
    content: str | None
    reasoning: str | None
    refusal: str | None
    finish: Json
    logprobs: Json


def samples_of(body: Mapping[str, Json], wanted: int, upper: ReplyUsage, reading: Reading, origin: Origin) -> list[Sample]:
    """Read the samples of a reply.

    Args:
        body: the JSON object of the reply.
        wanted: the most samples to take.
        upper: upper bounds of the tokens, taken where the reply reports none.
        reading: how to read.
        origin: where it came from.

    Returns:
        1 to `wanted` samples in the order of their index; a single failure when the reply holds no list of choices.
    """
    usage = read_usage(body.get("usage"))
    if usage is None:
        usage = upper
        origin = Origin(endpoint=origin.endpoint, latency_s=origin.latency_s, flags=(*origin.flags, "usage_missing"))
    listed = body.get("choices")
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    if not entries:
        message = f"the reply holds no choices, but {str(listed)[:60]!r}"
        return [_failed(FailureKind.MALFORMED, message, shares(usage, [1])[0], origin, retryable=True, billed=True)]
    entries.sort(key=_index)
    choices = [_choice(entry) for entry in entries[:wanted]]
    weights = [len(choice.content or "") + len(choice.reasoning or "") for choice in choices]
    return [_sample(choice, share, reading, origin) for choice, share in zip(choices, shares(usage, weights), strict=True)]


def _sample(choice: _Choice, usage: Usage, reading: Reading, origin: Origin) -> Sample:
    if choice.finish == "content_filter" or (choice.refusal and not (choice.content or "").strip()):
        return _failed(FailureKind.REFUSED, f"refused: {(choice.refusal or 'content filter')[:_REFUSAL_CHARACTERS]}", usage, origin)
    flags = origin.flags
    finish = _FINISHES.get(choice.finish) if isinstance(choice.finish, str) else None
    if finish is None:
        if not isinstance(choice.finish, str) or not choice.finish or choice.finish.lower() in _BROKEN_OFF:
            return _failed(FailureKind.ABORTED, f"the server broke off, finish reason {str(choice.finish)[:40]!r}", usage, origin, retryable=True)
        finish = Finish.STOP
        flags = (*flags, "finish_unknown")
    content = choice.content or ""
    if reading.few_shot is not None:
        content = reading.few_shot.cut(content)
    for stop in reading.cut_at:
        content = content.split(stop, 1)[0]
    parted = part(content, reading.thinking, choice.reasoning)
    if not _visible(parted.answer):
        return replace(_no_answer(finish, usage, origin, thought=parted.reasoning is not None, unfinished=not parted.finished), reasoning=parted.reasoning)
    closing = reading.thinking.closing if reading.thinking is not None else None
    own = answer_logprobs(choice.logprobs, answer=parted.answer, has_reasoning=parted.reasoning is not None, closing=closing)
    if own.with_reasoning:
        flags = (*flags, "logprobs_with_reasoning")
    return Completion(
        text=parted.answer,
        finish=finish,
        usage=usage,
        reasoning=parted.reasoning,
        mean_logprob=own.mean,
        first_token=own.first_token,
        flags=flags,
        endpoint=origin.endpoint,
        latency_s=origin.latency_s,
    )


def _no_answer(finish: Finish, usage: Usage, origin: Origin, *, thought: bool, unfinished: bool) -> Failure:
    # The same limit cuts the same thought again, so only an answer that ended by itself is worth another attempt.
    at_limit = finish is Finish.LENGTH or unfinished
    why = "the token limit was reached" if at_limit else "the model stopped"
    before = "while thinking, before an answer; raise max_tokens" if thought or unfinished else "without a visible character"
    return _failed(FailureKind.NO_ANSWER, f"{why} {before} (finish reason {finish.value})", usage, origin, retryable=not at_limit)


def _choice(entry: Mapping[str, Json]) -> _Choice:
    message = entry.get("message")
    if isinstance(message, Mapping):
        thinking = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
        return _Choice(_text(message.get("content")), thinking, _text(message.get("refusal")), entry.get("finish_reason"), entry.get("logprobs"))
    return _Choice(_text(entry.get("text")), None, None, entry.get("finish_reason"), entry.get("logprobs"))


def _text(value: Json) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [item if isinstance(item, str) else item.get("text") if isinstance(item, Mapping) else None for item in value]
        return "".join(text for text in texts if isinstance(text, str))
    return None


def _index(entry: Mapping[str, Json]) -> int:
    index = entry.get("index")
    return index if isinstance(index, int) else 0


def _visible(text: str) -> bool:
    # The text has no white space at its ends, so its first character mostly decides.
    return (text[:1].isprintable() and bool(text)) or any(character.isprintable() and not character.isspace() for character in text)


def _failed(kind: FailureKind, message: str, usage: Usage, origin: Origin, *, retryable: bool = False, billed: bool = False) -> Failure:
    return Failure(kind, message, retryable=retryable, usage=usage, possibly_billed=billed, endpoint=origin.endpoint, latency_s=origin.latency_s)
