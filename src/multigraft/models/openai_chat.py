"""Any server that speaks the OpenAI wire format, chat or plain completions."""

import asyncio
from collections.abc import Mapping, Sequence

from multigraft.models.asking import Asking, Manner
from multigraft.models.capabilities import Capabilities
from multigraft.models.chat_reply import Reading
from multigraft.models.chat_request import PATHS, Api, Dialect
from multigraft.models.exploration import Exploration
from multigraft.models.few_shot import FewShot
from multigraft.models.reasoning import ThinkingTags
from multigraft.types import Json, Request, Sample
from multigraft.wire.endpoints import Endpoints

THINK = ThinkingTags()


class OpenAIChat:
    """A model behind one or several OpenAI-compatible endpoints.

    Args:
        name: the name strategies and records know the model by.
        model: its id at the server.
        endpoints: where it is served; closed by `close`.
        api: `chat`, or `completions` for a base model without a chat template.
        extra_body: further fields of every request, such as `{"top_k": 20}`.
        few_shot: how a conversation is written as plain text for `completions`; a built-in set of exchanges if None.
        use_n: ask for several samples in one request where the server honours that; otherwise each sample is a request with its own seed.
        thinking: marks around thinking inside the content; None when the content holds none.
        max_prompt_bytes_per_token: a prompt of more bytes than this for each prompt token the server reports was cut by it, and the sample fails; None: never.
        patience_s: how long calls wait for the first answer of an endpoint that may refuse one of their features.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str,
        endpoints: Endpoints,
        api: Api = "chat",
        extra_body: Mapping[str, Json] | None = None,
        few_shot: FewShot | None = None,
        use_n: bool = False,
        thinking: ThinkingTags | None = THINK,
        max_prompt_bytes_per_token: float | None = 16.0,
        patience_s: float = 2.0,
    ) -> None:
        if api not in PATHS:
            message = f"api must be one of {', '.join(PATHS)}, not {api!r}"
            raise ValueError(message)
        if api == "completions" and few_shot is None:
            few_shot = FewShot()
        self._name = name
        self._use_n = use_n
        few_shot = few_shot if api == "completions" else None
        self._manner = Manner(
            dialect=Dialect(model=model, api=api, extra_body=dict(extra_body or {}), few_shot=few_shot),
            reading=Reading(thinking=thinking, few_shot=few_shot),
            endpoints=endpoints,
            exploration=Exploration(patience_s=patience_s),
            max_prompt_bytes_per_token=max_prompt_bytes_per_token,
        )

    @property
    def name(self) -> str:
        """The name strategies and records know it by."""
        return self._name

    @property
    def endpoints(self) -> Endpoints:
        """Where it is served."""
        return self._manner.endpoints

    @property
    def prompt_overhead_tokens(self) -> int:
        """Upper bound of the tokens this model's own text form adds to a prompt; 0 for chat."""
        few_shot = self._manner.dialect.few_shot
        return 0 if few_shot is None else len(few_shot.render(()).encode())

    def capabilities(self, endpoint: str) -> Capabilities:
        """Return what has been learnt of the endpoint with this URL."""
        return self._manner.exploration.of(endpoint)

    async def close(self) -> None:
        """Close all connections."""
        await self._manner.endpoints.close()

    def at_each(self) -> list["OpenAIChat"]:
        """Make one model for each endpoint, which knows nothing yet, gives up soon, and is to be closed by itself."""
        return [self._at(endpoints) for endpoints in self._manner.endpoints.apart()]

    def _at(self, endpoints: Endpoints) -> "OpenAIChat":
        dialect = self._manner.dialect
        return OpenAIChat(
            name=self._name,
            model=dialect.model,
            endpoints=endpoints,
            api=dialect.api,
            extra_body=dialect.extra_body,
            few_shot=dialect.few_shot,
            use_n=True,
            thinking=self._manner.reading.thinking,
            max_prompt_bytes_per_token=self._manner.max_prompt_bytes_per_token,
        )

    async def generate(self, request: Request) -> Sequence[Sample]:
        """Sample once for each seed, in order; one attempt each.

        A request the server refuses for a feature it does not have is sent once more without it, and the endpoint remembered; so is a request whose
        token limit does not fit the context window while its prompt does. Samples that took such a second request carry the flag `resent`.

        Args:
            request: what to ask.

        Returns:
            Exactly `len(request.seeds)` samples.
        """
        seeds = request.seeds
        if len(seeds) == 1:
            return [(await self._ask(request, seeds))[0]]
        if not self._use_n:
            return await self._apart(request, seeds)
        samples = await self._ask(request, seeds)
        if len(samples) < len(seeds):
            samples = [*samples, *await self._apart(request, seeds[len(samples) :])]
        return samples

    async def _apart(self, request: Request, seeds: Sequence[int]) -> list[Sample]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._ask(request, (seed,))) for seed in seeds]
        return [task.result()[0] for task in tasks]

    async def _ask(self, request: Request, seeds: Sequence[int]) -> list[Sample]:
        return await Asking(self._manner, request, seeds).run()
