"""The route of multigraft's own reward server: whole candidates go in and whole scores come out, so that nothing is lost on the way. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from multigraft.rewards.scores import scored, unscored
from multigraft.types import Candidate, FailureKind, Json, Score

_MESSAGE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Whole:
    """A route that takes candidates with everything a scorer may read, and returns scores with reason, answer, details and truncation."""

    path: str = "/multigraft/score"
    batches: bool = True

    def body(self, model: str, candidates: Sequence[Candidate]) -> Mapping[str, Json]:
        """Ask for a batch."""
        return {"model": model, "candidates": [written(candidate) for candidate in candidates]}

    def scores(self, reply: Mapping[str, Json], count: int) -> list[Score] | None:
        """Read the scores by their index; None when there is not one for each candidate."""
        data = reply.get("data")
        if not isinstance(data, list) or len(data) != count:
            return None
        found: dict[Json, Score] = {}
        for item in data:
            if not isinstance(item, dict) or isinstance(item.get("index"), bool) or not isinstance(item.get("index"), int):
                return None
            found[cast("int", item["index"])] = score_of(item)
        return [found[index] for index in range(count)] if found.keys() == set(range(count)) else None


def written(candidate: Candidate) -> dict[str, Json]:
    """Write a candidate as JSON: all but its hidden reasoning, its endpoint and its latency, which no scorer reads."""
    prompt, call, completion = candidate.prompt, candidate.call, candidate.completion
    usage = completion.usage
    return {
        "prompt": {
            "id": prompt.prompt_id,
            "name": prompt.name,
            "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
            "reference": prompt.reference,
            "constraints": [{"kind": constraint.kind, "arguments": dict(constraint.arguments)} for constraint in prompt.constraints],
            "fields": dict(prompt.fields),
        },
        "response": {
            "text": completion.text,
            "finish": completion.finish.value,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "context_tokens": usage.context_tokens,
            "mean_logprob": completion.mean_logprob,
            "first_token": [{"token": token.token, "logprob": token.logprob} for token in completion.first_token],
            "flags": list(completion.flags),
        },
        "call": {"id": call.call_id, "model": call.model, "parents": list(call.parents), "role": call.role.value, "seed": call.seed},
    }


def told(score: Score, index: int) -> dict[str, Json]:
    """Write a score as JSON; the reverse of `score_of`."""
    return {
        "index": index,
        "score": score.value,
        "reason": None if score.reason is None else score.reason.value,
        "message": score.message,
        "retryable": score.retryable,
        "truncated": score.truncated,
        "answer": score.answer,
        "details": dict(score.details),
    }


def score_of(item: Mapping[str, Json]) -> Score:
    """Read a score; a value that is no finite number becomes a reason, whatever else the item says."""
    message, given, reason = item.get("message"), item.get("answer"), item.get("reason")
    text = message if isinstance(message, str) else ""
    answer = given if isinstance(given, str) else None
    truncated, details = item.get("truncated") is True, _details(item.get("details"))
    if reason is None:
        return scored(item.get("score"), text, truncated=truncated, answer=answer, details=details)
    if reason not in set(FailureKind):
        return unscored(FailureKind.INVALID_SCORE, f"the server gives a reason that is none: {reason!r}")
    retryable = item.get("retryable") is True
    return Score(None, FailureKind(reason), text[:_MESSAGE_CHARACTERS], retryable=retryable, truncated=truncated, answer=answer, details=details)


def _details(given: Json) -> dict[str, float]:
    if not isinstance(given, dict):
        return {}
    return {name: number for name, value in given.items() if (number := scored(value).value) is not None}
