"""The body of a request, for an endpoint of known capabilities."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import orjson

from multigraft.models.capabilities import Feature
from multigraft.models.few_shot import FewShot
from multigraft.types import Json, Message, Request, Sampling

Api: TypeAlias = Literal["chat", "completions"]
PATHS: Mapping[Api, str] = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
SCHEMA_NAME = "reply"
"""What a server calls the schema of an answer, in its logs and errors."""
_OWN_FIELDS = frozenset({"model", "messages", "prompt", "n", "stream"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one model is asked, the same for all its endpoints."""

    model: str
    """Id of the model at its server."""
    api: Api = "chat"
    extra_body: Mapping[str, Json] = field(default_factory=dict)
    few_shot: FewShot | None = None
    """Text form of a conversation; needed for `completions`."""

    def __post_init__(self) -> None:
        own = sorted(_OWN_FIELDS & self.extra_body.keys())
        if own:
            message = f"extra_body may not set {', '.join(own)}: these are set by the model itself"
            raise ValueError(message)


def features_of(request: Request, samples: int, api: Api, refused: AbstractSet[Feature] = frozenset()) -> frozenset[Feature]:
    """Say which features a request uses.

    Args:
        request: what is asked.
        samples: how many at once.
        api: which of the two.
        refused: features known not to work; a JSON schema that is among them is replaced by the weaker wish for a JSON object.
    """
    sampling, messages = request.sampling, request.messages
    used = {Feature.BASICS, Feature.MAX_TOKENS, Feature.SEED, Feature.TEMPERATURE}
    if samples > 1:
        used.add(Feature.N)
    if api == "chat" and any(message.role == "system" for message in messages):
        used.add(Feature.SYSTEM)
    if sampling.logprobs or sampling.top_logprobs:
        used.add(Feature.LOGPROBS)
    if sampling.top_logprobs:
        used.add(Feature.TOP_LOGPROBS)
    if sampling.top_p != 1.0:
        used.add(Feature.TOP_P)
    if sampling.stop or api == "completions":
        used.add(Feature.STOP)
    if request.json_schema is not None:
        used.add(Feature.JSON_SCHEMA)
        # Servers take this wish only where a message speaks of JSON.
        if Feature.JSON_SCHEMA in refused and any("json" in message.content.lower() for message in messages):
            used.add(Feature.JSON_OBJECT)
    return frozenset(used)


def body_of(
    dialect: Dialect,
    request: Request,
    *,
    seed: int,
    samples: int,
    used: AbstractSet[Feature],
    refused: AbstractSet[Feature],
    max_tokens: int,
) -> dict[str, Json]:
    """Write the body.

    Args:
        dialect: how the model is asked.
        request: what is asked.
        seed: of the first sample.
        samples: how many are asked for in this request.
        used: features the request uses.
        refused: features to leave out or write another way.
        max_tokens: limit of the completion; differs from the sampling's where it was clamped.

    Returns:
        A JSON object.
    """
    messages, sampling = request.messages, request.sampling
    body: dict[str, Json] = {"model": dialect.model}
    if dialect.api == "completions" and dialect.few_shot is not None:
        body["prompt"] = dialect.few_shot.render(messages)
    else:
        shown = folded(messages) if Feature.SYSTEM in refused else messages
        body["messages"] = [{"role": message.role, "content": message.content} for message in shown]
    body["max_completion_tokens" if Feature.MAX_TOKENS in refused else "max_tokens"] = max_tokens
    sent = used - refused
    if Feature.TEMPERATURE in sent:
        body["temperature"] = sampling.temperature
    if Feature.TOP_P in sent:
        body["top_p"] = sampling.top_p
    if Feature.SEED in sent:
        body["seed"] = seed
    if Feature.STOP in sent:
        own = dialect.few_shot.stops if dialect.api == "completions" and dialect.few_shot is not None else ()
        body["stop"] = [*dict.fromkeys((*sampling.stop, *own))]
    if samples > 1:
        body["n"] = samples
    if Feature.LOGPROBS in sent:
        _ask_logprobs(body, dialect.api, sampling, with_top=Feature.TOP_LOGPROBS in sent)
    if Feature.JSON_SCHEMA in sent and request.json_schema is not None:
        schema: Json = orjson.loads(request.json_schema)
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "schema": schema, "strict": True}}
    elif Feature.JSON_OBJECT in sent:
        body["response_format"] = {"type": "json_object"}
    body.update(dialect.extra_body)
    return body


def folded(messages: Sequence[Message]) -> list[Message]:
    """Put system texts in front of the user message that follows, for servers without a system role."""
    shown: list[Message] = []
    system: list[str] = []
    for message in messages:
        if message.role == "system":
            system.append(message.content)
        elif message.role == "user" and system:
            shown.append(Message("user", "\n\n".join((*system, message.content))))
            system = []
        else:
            shown.append(message)
    return [*shown, Message("user", "\n\n".join(system))] if system else shown


def _ask_logprobs(body: dict[str, Json], api: Api, sampling: Sampling, *, with_top: bool) -> None:
    if api == "completions":
        body["logprobs"] = max(1, sampling.top_logprobs) if with_top else 1
        return
    body["logprobs"] = True
    if with_top:
        body["top_logprobs"] = sampling.top_logprobs
