"""One request to a model, corrected where the server objects to a feature or to the token limit."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from multigraft.budget.cost import prompt_tokens_bound
from multigraft.models.capabilities import Capabilities, Feature
from multigraft.models.chat_reply import Origin, Reading, samples_of
from multigraft.models.chat_request import PATHS, Dialect, body_of, features_of
from multigraft.models.chat_usage import ReplyUsage, read_usage
from multigraft.models.context_window import room_left_tokens
from multigraft.models.exploration import Exploration
from multigraft.types import NO_USAGE, Completion, Failure, FailureKind, Finish, Json, Message, Request, Sample
from multigraft.wire.endpoints import Endpoints
from multigraft.wire.exchange import Reply

_RESENDS = 4
"""A server that objects to more than so many things of one call is not understood."""
_SHORT_PROMPT_BYTES = 4000
_IDENTICAL_CHARACTERS = 40
_TOLD = (
    Feature.TEMPERATURE,
    Feature.TOP_P,
    Feature.SEED,
    Feature.STOP,
    Feature.LOGPROBS,
    Feature.TOP_LOGPROBS,
    Feature.JSON_SCHEMA,
    Feature.JSON_OBJECT,
)
"""Features whose loss a reader of the record has to know of."""
_TEMPLATE_FAILED = ("HTTP 500", "HTTP 501")
_JSON_STARTS = ("{", "[", '"', "-", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "true", "false", "null")
_RUN = re.compile(rb"(.)\1{3,}", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How one model is asked and read."""

    dialect: Dialect
    reading: Reading
    endpoints: Endpoints
    exploration: Exploration
    max_prompt_bytes_per_token: float | None


class Asking:
    """One request on its way.

    Args:
        manner: how the model is asked.
        request: what is asked.
        seeds: of the samples wanted from this request.
    """

    __slots__ = ("_clamped", "_endpoint", "_manner", "_max_tokens", "_request", "_resends", "_samples", "_seeds", "_sent", "_ticket", "_used")

    def __init__(self, manner: Manner, request: Request, seeds: Sequence[int]) -> None:
        self._manner, self._request, self._seeds = manner, request, seeds
        self._max_tokens = request.sampling.max_tokens
        self._clamped = False
        self._resends = 0
        self._endpoint = ""
        self._ticket: asyncio.Event | None = None
        self._samples = 1
        self._used: frozenset[Feature] = frozenset()
        self._sent: frozenset[Feature] = frozenset()

    async def run(self) -> list[Sample]:
        """Ask.

        Returns:
            One sample for each seed; fewer only where the endpoint does not give several at once, which is remembered.
        """
        path = PATHS[self._manner.dialect.api]
        while True:
            try:
                result = await self._manner.endpoints.post(path, self._body)
                if isinstance(result, Reply):
                    return self._read(result)
                if self._resends >= _RESENDS or not self._corrects(result):
                    return self._all_failed(result)
            finally:
                self._release()
            self._resends += 1

    async def _body(self, endpoint: str) -> Mapping[str, Json]:
        manner, request = self._manner, self._request
        self._release()  # the call may have been turned to another endpoint before it was sent
        capabilities = manner.exploration.of(endpoint)
        samples, used = self._wanted(capabilities)
        if capabilities.unknown(used):
            self._ticket = await manner.exploration.admitted(endpoint, used)
            samples, used = self._wanted(capabilities)
        self._endpoint, self._samples, self._used, self._sent = endpoint, samples, used, used - capabilities.refused
        return body_of(
            manner.dialect,
            request,
            seed=self._seeds[0],
            samples=samples,
            used=used,
            refused=capabilities.refused,
            max_tokens=self._max_tokens,
        )

    def _wanted(self, capabilities: Capabilities) -> tuple[int, frozenset[Feature]]:
        """Say how many samples to ask for at once, and which features that uses, as far as the endpoint is known."""
        samples = 1 if Feature.N in capabilities.refused else len(self._seeds)
        return samples, features_of(self._request, samples, self._manner.dialect.api, capabilities.refused)

    def _release(self) -> None:
        self._manner.exploration.done(self._endpoint, self._ticket)
        self._ticket = None

    def _corrects(self, failure: Failure) -> bool:
        """Whether there is something to do better in a next request."""
        if failure.kind is FailureKind.CONTEXT and not self._clamped:
            room = room_left_tokens(failure.message)
            if room is not None and room < self._max_tokens:
                self._max_tokens, self._clamped = room, True
                return True
        # Templates that raise, as on a system message, are a 500 to llama.cpp; other breakdowns say nothing of the request.
        if failure.kind is not FailureKind.BAD_REQUEST and not failure.message.startswith(_TEMPLATE_FAILED):
            return False
        return self._manner.exploration.of(self._endpoint).learn(failure.message, self._sent) is not None

    def _read(self, reply: Reply) -> list[Sample]:
        manner, request = self._manner, self._request
        capabilities = manner.exploration.of(reply.endpoint)
        reading = manner.reading
        if request.sampling.stop and Feature.STOP not in self._sent:
            reading = replace(reading, cut_at=request.sampling.stop)
        origin = Origin(endpoint=reply.endpoint, latency_s=reply.latency_s, flags=self._flags(reply, self._used - self._sent))
        upper = ReplyUsage(
            prompt_tokens_bound(request.messages) if read_usage(reply.body.get("usage")) is None else 0,
            self._max_tokens * self._samples,
            cached_tokens=0,
            reasoning_tokens=0,
            estimated=True,
        )
        samples = samples_of(reply.body, self._samples, upper, reading, origin)
        cut = self._prompt_was_cut(samples)
        if cut is not None:
            return self._all_failed(cut)
        if len(samples) == 1 and isinstance(samples[0], Failure) and samples[0].kind is FailureKind.MALFORMED:
            return self._all_failed(samples[0])
        choices = reply.body["choices"]
        if self._samples > 1 and (not isinstance(choices, list) or len(choices) != self._samples or _identical(samples, request)):
            capabilities.refuse(Feature.N)
        if Feature.JSON_SCHEMA in self._sent and any(_is_prose(sample) for sample in samples):
            capabilities.refuse(Feature.JSON_SCHEMA)
            flag = f"{Feature.JSON_SCHEMA.value}_unsupported"
            samples = [replace(sample, flags=(*sample.flags, flag)) if isinstance(sample, Completion) else sample for sample in samples]
        capabilities.confirm(self._sent)
        return samples

    def _flags(self, reply: Reply, lost: AbstractSet[Feature]) -> tuple[str, ...]:
        if not (lost or self._resends or reply.normalised):
            return ()
        flags = [f"{feature.value}_unsupported" for feature in _TOLD if feature in lost]
        if self._clamped:
            flags.append("clamped")
        if reply.normalised:
            flags.append("normalised")
        return (*flags, *(["resent"] * self._resends))

    def _prompt_was_cut(self, samples: Sequence[Sample]) -> Failure | None:
        limit = self._manner.max_prompt_bytes_per_token
        usage = samples[0].usage
        if limit is None or usage.estimated or usage.context_tokens <= 0:
            return None
        messages = self._request.messages
        if 4 * sum(len(message.content) for message in messages) <= _SHORT_PROMPT_BYTES:
            return None
        seen_tokens = usage.context_tokens + usage.cached_tokens
        if _text_bytes(messages) <= max(_SHORT_PROMPT_BYTES, limit * seen_tokens):
            return None
        # Long runs of one character are one token to some tokenizers; without them the alarm is never false.
        text = b"\n".join(message.content.encode("utf-8", "surrogatepass") for message in messages)
        prompt_bytes = len(_RUN.sub(rb"\1", text))
        if prompt_bytes <= max(_SHORT_PROMPT_BYTES, limit * seen_tokens):
            return None
        spent = sum(sample.usage.completion_tokens for sample in samples)
        message = f"the server cut the prompt: it counts {seen_tokens} prompt tokens in {prompt_bytes} bytes; raise its context window"
        return Failure(
            FailureKind.PROMPT_TRUNCATED,
            message,
            usage=replace(usage, completion_tokens=spent),
            endpoint=samples[0].endpoint,
            latency_s=samples[0].latency_s,
        )

    def _all_failed(self, failure: Failure) -> list[Sample]:
        if len(self._seeds) == 1:
            return [failure]
        return [failure, *[replace(failure, usage=NO_USAGE)] * (len(self._seeds) - 1)]


def _text_bytes(messages: Sequence[Message]) -> int:
    return sum(len(message.content) if message.content.isascii() else len(message.content.encode("utf-8", "surrogatepass")) for message in messages)


def _is_prose(sample: Sample) -> bool:
    """Whether a finished answer is no JSON at all: the server took the wish for a schema and paid it no heed."""
    return isinstance(sample, Completion) and sample.finish is Finish.STOP and not sample.text.startswith(_JSON_STARTS)


def _identical(samples: Sequence[Sample], request: Request) -> bool:
    """Whether a server gave one sample several times over, which several seeds of their own would not."""
    texts = [sample.text for sample in samples if isinstance(sample, Completion)]
    return request.sampling.temperature > 0 and len(texts) == len(samples) and len(set(texts)) == 1 and len(texts[0]) > _IDENTICAL_CHARACTERS
