"""Log-probabilities of a choice, in the shapes servers send them: of the answer alone, without the thinking before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from multigraft.types import Json, TokenLogprob


@dataclass(frozen=True, slots=True)
class AnswerLogprobs:
    """What a choice says of its own probability."""

    mean: float | None = None
    """Mean natural log-probability of the answer's tokens, <= 0; None when the server gave none, or one that is no number."""
    first_token: tuple[TokenLogprob, ...] = ()
    """Alternatives of the answer's first visible token, most probable first."""
    with_reasoning: bool = False
    """Thinking and answer could not be told apart, so the mean is over both."""


NO_LOGPROBS = AnswerLogprobs()


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    logprob: float | None
    alternatives: tuple[TokenLogprob, ...]


def answer_logprobs(field: Json, *, answer: str, has_reasoning: bool, closing: str | None) -> AnswerLogprobs:
    """Read the `logprobs` of a choice.

    Args:
        field: `{"content": [...]}` of chat, or `{"tokens": ..., "token_logprobs": ..., "top_logprobs": ...}` of completions.
        answer: the answer, without thinking.
        has_reasoning: whether there was thinking, in a field of its own or in the text.
        closing: the mark that ends the thinking, None where there is none.

    Returns:
        What could be read.
    """
    tokens = _tokens(field)
    if not tokens:
        return NO_LOGPROBS
    start = 0
    with_reasoning = False
    if has_reasoning:
        found = _start_of_answer("".join(token.text for token in tokens), answer, closing)
        if found is None:
            with_reasoning = True
        else:
            start = found
    own = _from_offset(tokens, start)
    values = [token.logprob for token in own]
    known = [value for value in values if value is not None]
    mean = min(0.0, sum(known) / len(known)) if known and len(known) == len(values) else None
    first = next((token.alternatives for token in own if token.text.strip()), ())
    return AnswerLogprobs(mean, () if with_reasoning else first, with_reasoning)


def _start_of_answer(joined: str, answer: str, closing: str | None) -> int | None:
    if closing is not None:
        end = joined.find(closing)
        if end >= 0:
            return end + len(closing)
    if joined.strip() == answer:
        return 0  # the server counts the answer's tokens only
    found = joined.rfind(answer)
    return found if found >= 0 else None


def _from_offset(tokens: Sequence[_Token], start: int) -> Sequence[_Token]:
    position = 0
    for index, token in enumerate(tokens):
        if position >= start:
            return tokens[index:]
        position += len(token.text)
    return ()


def _tokens(field: Json) -> list[_Token]:
    if not isinstance(field, Mapping):
        return []
    content = field.get("content")
    if isinstance(content, list):
        return [_chat_token(entry) for entry in content if isinstance(entry, Mapping)]
    texts, values, tops = field.get("tokens"), field.get("token_logprobs"), field.get("top_logprobs")
    if not isinstance(values, list):
        return []
    read: list[_Token] = []
    for index, value in enumerate(values):
        text = texts[index] if isinstance(texts, list) and index < len(texts) else None
        top = tops[index] if isinstance(tops, list) and index < len(tops) else None
        read.append(_Token(text if isinstance(text, str) else "", _logprob(value), _alternatives_by_name(top)))
    return read


def _chat_token(entry: Mapping[str, Json]) -> _Token:
    text = entry.get("token")
    top = entry.get("top_logprobs")
    alternatives: list[TokenLogprob] = []
    for other in top if isinstance(top, list) else ():
        name, value = (other.get("token"), _logprob(other.get("logprob"))) if isinstance(other, Mapping) else (None, None)
        if isinstance(name, str) and value is not None:
            alternatives.append(TokenLogprob(name, value))
    return _Token(text if isinstance(text, str) else "", _logprob(entry.get("logprob")), _sorted(alternatives))


def _alternatives_by_name(top: Json) -> tuple[TokenLogprob, ...]:
    if not isinstance(top, Mapping):
        return ()
    return _sorted([TokenLogprob(name, read) for name, value in top.items() if (read := _logprob(value)) is not None])


def _sorted(alternatives: list[TokenLogprob]) -> tuple[TokenLogprob, ...]:
    return tuple(sorted(alternatives, key=lambda alternative: -alternative.logprob))


def _logprob(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return min(0.0, float(value)) if isfinite(value) else None
