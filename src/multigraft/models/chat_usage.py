"""Tokens of the samples of one reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from multigraft.types import Json, Usage

_MOST_TOKENS = 10**9
"""No request has more; a server that says so is not to be believed."""


@dataclass(frozen=True, slots=True)
class ReplyUsage:
    """What a reply says of all its samples together."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    estimated: bool = False


def read_usage(field: Json) -> ReplyUsage | None:
    """Read the `usage` of a reply.

    Returns:
        None when prompt or completion tokens are missing or no counts.
    """
    if not isinstance(field, Mapping):
        return None
    prompt, completion = _count(field.get("prompt_tokens")), _count(field.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    cached = _detail(field, "prompt_tokens_details", "cached_tokens")
    reasoning = _detail(field, "completion_tokens_details", "reasoning_tokens")
    if cached > prompt:
        prompt += cached  # such a server counts only what it did not find in its cache
    return ReplyUsage(prompt, completion, cached, min(reasoning, completion))


def shares(usage: ReplyUsage, weights: Sequence[int]) -> list[Usage]:
    """Divide a reply's tokens over its samples.

    Args:
        usage: of the whole reply.
        weights: length of each sample's text, >= 0.

    Returns:
        One usage for each weight; the first carries the prompt. They sum to the whole.
    """
    if len(weights) == 1:
        return [_share(usage, usage.completion_tokens, usage.reasoning_tokens, first=True)]
    completion = _divided(usage.completion_tokens, weights)
    reasoning = [min(part, most) for part, most in zip(_divided(usage.reasoning_tokens, weights), completion, strict=True)]
    return [_share(usage, completion[index], reasoning[index], first=index == 0) for index in range(len(weights))]


def _share(usage: ReplyUsage, completion: int, reasoning: int, *, first: bool) -> Usage:
    return Usage(
        prompt_tokens=usage.prompt_tokens if first else 0,
        completion_tokens=completion,
        cached_tokens=usage.cached_tokens if first else 0,
        reasoning_tokens=reasoning,
        context_tokens=usage.prompt_tokens,
        estimated=usage.estimated,
    )


def _divided(total: int, weights: Sequence[int]) -> list[int]:
    # Cumulative rounding: the parts are within one of their exact share and sum to the total.
    whole = sum(weights)
    if whole == 0:
        weights, whole = [1] * len(weights), len(weights)
    parts: list[int] = []
    seen = given = 0
    for weight in weights:
        seen += weight
        upto = total * seen // whole
        parts.append(upto - given)
        given = upto
    return parts


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def _detail(field: Mapping[str, Json], group: str, name: str) -> int:
    details = field.get(group)
    found = _count(details.get(name)) if isinstance(details, Mapping) else None
    return found or _count(field.get(name)) or 0
