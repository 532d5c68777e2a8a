"""A model without a model: deterministic, instant, with usage, for tests, examples and trying a run file out."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from multigraft.randomness import Draws, key_of
from multigraft.types import Completion, Failure, Finish, Message, Request, Sample, TokenLogprob, Usage

Script: TypeAlias = Callable[[Request, int], str | Sample]
"""From a request and one of its seeds to an answer, or to a sample with everything."""

_WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "island",
    "juniper",
    "kelp",
    "lagoon",
    "meadow",
    "nectar",
    "orchard",
    "pebble",
    "quartz",
    "river",
    "summit",
    "tundra",
    "umber",
    "valley",
    "willow",
    "yarrow",
    "zephyr",
]
_BYTES_PER_TOKEN = 4


class ScriptedModel:
    """A model whose answers are given, or made of a hash of (name, seed, messages).

    Args:
        name: the name strategies and records know it by.
        answers: a list, of which the hash chooses one; or a function; None: a few words drawn by the hash.
        failures: says which calls fail and how; None, or a function that returns None, for those that do not.
        latency_s: how long each request takes; >= 0.
    """

    def __init__(
        self,
        *,
        name: str,
        answers: Sequence[str] | Script | None = None,
        failures: Callable[[Request, int], Failure | None] | None = None,
        latency_s: float = 0.0,
    ) -> None:
        blank = None if answers is None or callable(answers) else next((answer for answer in answers or ("",) if not answer.strip()), None)
        if blank is not None:
            message = f"the answers of scripted model '{name}' must be texts with a visible character, not {blank!r}"
            raise ValueError(message)
        if not latency_s >= 0.0:
            message = f"latency_s must be at least 0, not {latency_s}"
            raise ValueError(message)
        self._name = name
        self._answers = answers
        self._failures = failures
        self._latency_s = latency_s
        self.samples_asked = 0
        """Samples asked of this object so far."""

    @property
    def name(self) -> str:
        """The name strategies and records know it by."""
        return self._name

    async def generate(self, request: Request) -> Sequence[Sample]:
        """Answer once for each seed, in order."""
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        self.samples_asked += len(request.seeds)
        return [self._sample(request, seed, first=index == 0) for index, seed in enumerate(request.seeds)]

    def _sample(self, request: Request, seed: int, *, first: bool) -> Sample:
        failure = self._failures(request, seed) if self._failures is not None else None
        if failure is not None:
            return failure
        draws = Draws(self._name, seed, *conversation_key(request.messages))
        answer = self._answer(request, seed, draws)
        if not isinstance(answer, str):
            return answer
        words = answer.split()
        finish = Finish.STOP if len(words) <= request.sampling.max_tokens else Finish.LENGTH
        text = answer.strip() if finish is Finish.STOP else " ".join(words[: request.sampling.max_tokens])
        prompt_tokens = sum(tokens_of(message.content) for message in request.messages)
        usage = Usage(
            prompt_tokens=prompt_tokens if first else 0,
            completion_tokens=min(tokens_of(text), request.sampling.max_tokens),
            context_tokens=prompt_tokens,
        )
        mean = -2.0 * draws.uniform() if request.sampling.logprobs else None
        return Completion(text, finish, usage, mean_logprob=mean, first_token=_alternatives(text, request.sampling.top_logprobs, draws), endpoint="scripted")

    def _answer(self, request: Request, seed: int, draws: Draws) -> str | Sample:
        if callable(self._answers):
            return self._answers(request, seed)
        if self._answers is not None:
            return self._answers[draws.below(len(self._answers))]
        words = [_WORDS[draws.below(len(_WORDS))] for _ in range(6 + draws.below(10))]
        return f"{self._name} says: {' '.join(words)}."


def conversation_key(messages: Sequence[Message]) -> tuple[str, ...]:
    """Name a conversation for a keyed draw."""
    return tuple(part for message in messages for part in (message.role, message.content))


def tokens_of(text: str) -> int:
    """Count tokens the way this model does: one for every four bytes begun."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN)


def _alternatives(text: str, count: int, draws: Draws) -> tuple[TokenLogprob, ...]:
    if count == 0:
        return ()
    first = text.split(maxsplit=1)[0]
    others = [word for word in _WORDS if word != first]
    shift = key_of(first, draws.bits()) % len(others)
    tokens = [first, *(others[(shift + index) % len(others)] for index in range(count - 1))]
    return tuple(TokenLogprob(token, -0.1 - 1.5 * index) for index, token in enumerate(tokens))
