"""From scores to the replies of the routes. Only our own route has words for why there is no score; in the others such a score is null, never a number."""

import time
import uuid
from collections.abc import Callable, Sequence
from typing import TypeAlias

from multigraft.rewards.remote_whole import told
from multigraft.types import FailureKind, Json, Score

Reply: TypeAlias = dict[str, Json]
Writer: TypeAlias = Callable[[Sequence[Score], str, str], Reply]
"""Scores, name and version of the scorer."""


def whole(scores: Sequence[Score], name: str, version: str) -> Reply:
    """Write the reply of `/multigraft/score`."""
    return _listed("multigraft", [told(score, index) for index, score in enumerate(scores)], name, version)


def pairs(scores: Sequence[Score], name: str, version: str) -> Reply:
    """Write the reply of `/score` of vLLM."""
    return _listed("score", [_item("score", score, index) | {"score": _value(score)} for index, score in enumerate(scores)], name, version)


def classes(scores: Sequence[Score], name: str, version: str) -> Reply:
    """Write the reply of `/classify` of vLLM and `/v1/classify` of SGLang: one class, whose number is the score."""
    data = [_item("classify", score, index) | {"label": "LABEL_0", "probs": _vector(score), "num_classes": 1} for index, score in enumerate(scores)]
    return _listed("classify", data, name, version)


def vectors(scores: Sequence[Score], name: str, version: str) -> Reply:
    """Write the reply of `/pooling` of vLLM."""
    return _listed("pooling", [_item("pooling", score, index) | {"data": _vector(score)} for index, score in enumerate(scores)], name, version)


def embedding(scores: Sequence[Score], name: str, version: str) -> Reply:
    """Write the reply of SGLang's own `/classify`."""
    (score,) = scores
    about: dict[str, Json] = {"id": uuid.uuid4().hex, "prompt_tokens": 0, "model": name, "version": version}
    return {"embedding": _vector(score), "meta_info": about, **_reason(score)}


def _listed(what: str, data: list[dict[str, Json]], name: str, version: str) -> Reply:
    return {
        "id": f"{what}-{uuid.uuid4().hex}",
        "object": "list",
        "created": int(time.time()),
        "model": name,
        "version": version,
        "data": [dict(item) for item in data],
        # Scorers do not count tokens; clients of these routes expect the numbers to be there.
        "usage": {"prompt_tokens": 0, "total_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": None},
    }


def _item(what: str, score: Score, index: int) -> dict[str, Json]:
    return {"index": index, "object": what, **_reason(score)}


def _value(score: Score) -> float | None:
    # These routes have no word for a score of a part of the response, and nothing is cut silently.
    return None if score.truncated else score.value


def _vector(score: Score) -> list[Json]:
    value = _value(score)
    return [] if value is None else [value]


def _reason(score: Score) -> dict[str, Json]:
    """Say why there is no score, for people."""
    if _value(score) is not None:
        return {}
    reason = score.reason or FailureKind.PARTLY_SCORED
    return {"reason": reason.value, "message": score.message or "the scorer saw only a part of the response"}
