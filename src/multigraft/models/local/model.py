"""An embedded model: weights, a child process that serves them, and the OpenAI-compatible client in front of it."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from multigraft.budget.described_shapes import shape_of_gguf
from multigraft.budget.flops import ModelShape
from multigraft.errors import InputError
from multigraft.models.few_shot import FewShot
from multigraft.models.local.catalogue import LocalWeights
from multigraft.models.local.gguf import has_chat_template, read_metadata, trained_context_tokens
from multigraft.models.local.progress import Progress
from multigraft.models.local.server import LocalServer
from multigraft.models.local.serving import Serving
from multigraft.models.local.weights import cached, fetch
from multigraft.models.openai_chat import OpenAIChat
from multigraft.types import Failure, FailureKind, Json, Request, Sample
from multigraft.wire.endpoints import Endpoint, Endpoints

GIVE_UP_S = 5.0
"""A server on loopback that takes no calls does not come back by itself, so waiting for it long is of no use."""


class LocalModel:
    """A model served by a child process of this machine; weights are fetched and the child is started at the first use.

    Args:
        weights: what to serve; `catalogue.weights_of` finds them.
        name: the name strategies and records know it by; None: that of the weights.
        serving: threads, slots, context; None: the settings that come with the weights.
        cache: the folder of weights; None: the default one.
        progress: told when weights are fetched; None: nobody is.
        few_shot: how a conversation is written for a base model; without effect on a chat model.
        extra_body: further fields of every request, such as `{"repeat_penalty": 1.1}`.
    """

    def __init__(
        self,
        *,
        weights: LocalWeights,
        name: str | None = None,
        serving: Serving | None = None,
        cache: Path | None = None,
        progress: Progress | None = None,
        few_shot: FewShot | None = None,
        extra_body: Mapping[str, Json] | None = None,
    ) -> None:
        self.weights = weights
        self.serving = serving or weights.serving
        self._name = name or weights.name
        self._cache = cache
        self._progress = progress
        self._few_shot = few_shot or FewShot()
        self._extra_body = extra_body
        self._server: LocalServer | None = None
        self._client: OpenAIChat | None = None
        self._starting = asyncio.Lock()

    @property
    def name(self) -> str:
        """The name strategies and records know it by."""
        return self._name

    @property
    def max_in_flight(self) -> int:
        """Requests its server works on at once; more wait there."""
        return self.serving.slots

    @property
    def prompt_overhead_tokens(self) -> int:
        """Upper bound of the tokens its own text form adds to a prompt; the few-shot template's until the file has shown that it is a chat model."""
        return len(self._few_shot.render(()).encode()) if self._client is None else self._client.prompt_overhead_tokens

    @property
    def pid(self) -> int | None:
        """Process id of its server; None while there is none."""
        return None if self._server is None else self._server.pid

    async def start(self) -> None:
        """Fetch the weights if they are not here, and start the server if it does not run.

        Raises:
            WeightsError: the weights cannot be had or served.
            InputError: a slot is to have more context than the model was trained for.
            MultigraftError: an extra is not installed.
        """
        async with self._starting:
            if self._client is not None:
                return
            path = await fetch(self.weights.source, name=self.weights.name, terms=self.weights.terms, cache=self._cache, progress=self._progress)
            metadata = read_metadata(path)
            trained = trained_context_tokens(metadata)
            if trained is not None and self.serving.context_tokens > trained:
                message = f"{self.name}: context_tokens is {self.serving.context_tokens}, but the model was trained for {trained}; lower it"
                raise InputError(message)
            server = LocalServer(path, serving=self.serving)
            await server.start()
            endpoint = Endpoint(url=server.address, key=server.api_key, max_in_flight=self.serving.slots)
            self._server = server
            self._client = OpenAIChat(
                name=self.name,
                model=self.weights.name,
                endpoints=Endpoints([endpoint], name=self.name, give_up_s=GIVE_UP_S),
                api="chat" if has_chat_template(metadata) else "completions",
                few_shot=self._few_shot,
                extra_body=self._extra_body,
            )

    async def close(self) -> None:
        """End the server; a later `generate` starts it again."""
        async with self._starting:
            client, self._client = self._client, None
            server, self._server = self._server, None
            if client is not None:
                await client.close()
            if server is not None:
                await server.close()

    async def __aenter__(self) -> Self:
        """Start it."""
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End it."""
        await self.close()

    async def generate(self, request: Request) -> Sequence[Sample]:
        """Sample once for each seed, in order; starts the server at the first call.

        Args:
            request: what to ask.

        Returns:
            Exactly `len(request.seeds)` samples; once the server process has died, failures that say how.

        Raises:
            WeightsError: at the first call, the weights cannot be had or served.
        """
        await self.start()
        client, server = self._client, self._server
        if client is None or server is None:
            message = f"{self.name} was closed before the call began"
            return [Failure(FailureKind.ABORTED, message)] * len(request.seeds)
        death = server.death()
        if death is not None:
            return [Failure(FailureKind.UNAVAILABLE, death)] * len(request.seeds)
        samples = await client.generate(request)
        death = server.death()
        return samples if death is None else [_after_death(sample, death) for sample in samples]


def local_shape(path: Path) -> ModelShape | None:
    """Read the shape of a model, from which its FLOPs follow.

    Args:
        path: a GGUF file.

    Returns:
        The shape; None where the formulas do not describe the architecture.

    Raises:
        WeightsError: the file cannot be read.
    """
    metadata = read_metadata(path)
    tokens = metadata.get("tokenizer.ggml.tokens")
    described = dict(metadata)
    if isinstance(tokens, dict):
        # The reader keeps only the length of a list this long; many files state the size of the vocabulary nowhere else.
        described.setdefault(f"{metadata.get('general.architecture')}.vocab_size", tokens["length"])
    return shape_of_gguf(described)


def shape_of_weights(weights: LocalWeights, *, cache: Path | None = None) -> ModelShape | None:
    """Read the shape of weights that are on this machine already.

    Args:
        weights: what may be served.
        cache: the folder of weights; None: the default one.

    Returns:
        The shape; None when they are not here yet, or the formulas do not describe them.
    """
    path = cached(weights.source, name=weights.name, cache=cache)
    return None if path is None else local_shape(path)


def _after_death(sample: Sample, death: str) -> Sample:
    """Say why a call failed whose server is gone, so that it is not tried again and again."""
    if not isinstance(sample, Failure) or sample.kind not in {FailureKind.CONNECTION, FailureKind.UNAVAILABLE, FailureKind.TIMEOUT}:
        return sample
    return Failure(FailureKind.UNAVAILABLE, death, endpoint=sample.endpoint, latency_s=sample.latency_s)
