"""Answers of the fake server: functions of the request alone."""

import json
from typing import Any

from tests.servers.fake_settings import Settings, drawn

WORDS = "amber basin cedar delta ember fjord grove harbor island juniper kelp lagoon meadow nectar orchard pebble".split()  # noqa: SIM905 - readable
OTHERS = [*WORDS, "Yes", "No", "Well", "So"]
"""Alternatives of a token: as many as may be asked for, a verdict among them."""


def answer_text(body: dict[str, Any], index: int) -> str:
    """A few words that depend on the conversation, the seed and the position of the choice."""
    said = json.dumps(body.get("messages", body.get("prompt")), sort_keys=True)
    seed = body.get("seed", 0)
    count = 5 + int(drawn(said, seed, index, "count") * 12)
    words = [WORDS[int(drawn(said, seed, index, position) * len(WORDS))] for position in range(count)]
    return " ".join(words)


def prompt_tokens(body: dict[str, Any]) -> int:
    said = body.get("messages")
    text = "".join(str(message.get("content")) for message in said) if isinstance(said, list) else str(body.get("prompt", ""))
    return 4 + -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def completion_body(body: dict[str, Any], settings: Settings, *, chat: bool) -> dict[str, Any]:
    asked = int(body.get("n") or 1)
    count = {"ignore": 1, "more": asked + 1, "fewer": max(1, asked - 1)}.get(settings.n, asked) if asked > 1 else 1
    choices = [choice_body(body, settings, 0 if settings.n == "identical" else index, index, chat=chat) for index in range(count)]
    if settings.n == "shuffled":
        choices.reverse()
    reply: dict[str, Any] = {"id": "cmpl-0", "object": "chat.completion" if chat else "text_completion", "model": body.get("model"), "choices": choices}
    if settings.usage != "omit":
        asked_tokens = prompt_tokens(body)
        spent = sum(choice.pop("_tokens") for choice in choices)
        thought = 7 * count if settings.thinking != "none" else 0
        reply["usage"] = {
            "prompt_tokens": asked_tokens // 40 + 1 if settings.usage == "cut" else asked_tokens,
            "completion_tokens": spent + thought,
            "total_tokens": asked_tokens + spent + thought,
            "prompt_tokens_details": {"cached_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": thought},
        }
    for choice in choices:
        choice.pop("_tokens", None)
    return reply


def choice_body(body: dict[str, Any], settings: Settings, draw: int, index: int, *, chat: bool) -> dict[str, Any]:
    words = answer_text(body, draw).split()
    limit = int(body.get("max_tokens") or body.get("max_completion_tokens") or 10**6)
    finish = "stop" if len(words) <= limit else "length"
    text = " ".join(words[:limit])
    choice: dict[str, Any] = {"index": index, "finish_reason": finish, "logprobs": None, "_tokens": min(limit, len(words))}
    if not chat:
        choice["text"] = f" {text}"
        if body.get("logprobs") is not None and settings.logprobs == "give":
            tokens = [f" {word}" for word in text.split()]
            choice["logprobs"] = {"tokens": tokens, "token_logprobs": [-0.5] * len(tokens), "top_logprobs": [{tokens[0]: -0.5, " else": -1.5}]}
        return choice
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    thought = "let me see"
    spoken = text
    if settings.thinking == "tags":
        spoken = message["content"] = f"<think>{thought}</think>\n\n{text}"
    elif settings.thinking == "field":
        message["reasoning_content"] = thought
    elif settings.thinking == "only":
        message["content"], message["reasoning_content"] = None, thought
        choice["finish_reason"] = "length"
    choice["message"] = message
    if body.get("logprobs") and settings.logprobs == "give":
        top = int(body.get("top_logprobs") or 0)
        choice["logprobs"] = {"content": [_token(token, position, top) for position, token in enumerate(_pieces(spoken))]}
    return choice


def score_body(body: dict[str, Any], settings: Settings, path: str) -> dict[str, Any]:
    """Scores in the shapes of vLLM's routes."""
    texts = body.get("text_2", body.get("input", body.get("documents", "")))
    listed = texts if isinstance(texts, list) else [texts]
    scores = [None if settings.nul_score else round(2.0 * drawn("score", json.dumps(text)) - 1.0, 6) for text in listed]
    if path.endswith("classify"):
        data: list[dict[str, Any]] = [{"index": index, "label": "good", "probs": [score], "num_classes": 1} for index, score in enumerate(scores)]
    elif path.endswith("pooling"):
        data = [{"index": index, "object": "pooling", "data": [score]} for index, score in enumerate(scores)]
    else:
        data = [{"index": index, "object": "score", "score": score} for index, score in enumerate(scores)]
    tokens = sum(len(str(text)) // 4 for text in listed)
    return {"object": "list", "model": body.get("model"), "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0}}


def _pieces(text: str) -> list[str]:
    words = text.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])]


def _token(token: str, position: int, top: int) -> dict[str, Any]:
    logprob = -0.1 - 0.05 * (position % 5)
    others = [{"token": token if rank == 0 else OTHERS[rank], "logprob": logprob - rank} for rank in range(top)]
    return {"token": token, "logprob": logprob, "bytes": list(token.encode()), "top_logprobs": others}
