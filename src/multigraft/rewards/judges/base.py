"""What judges of single responses have in common: one call for each response, and a reply to be read."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

from multigraft.randomness import key_of, seed_of
from multigraft.rewards.judges.wording import check_template
from multigraft.rewards.rendering import conversation, fenced_apart, fill
from multigraft.rewards.scores import of_failure
from multigraft.types import Ask, Candidate, Completion, Failure, Message, Request, Sampling, Score


class Judge(ABC):
    """A chat model that is shown the prompt and one response at a time.

    Args:
        ask: how the model is reached; the run's budget pays.
        template: the message to the judge, with the places `{prompt}` and `{response}`, both put between tags; `{reference}` where there is one.
        sampling: of the judge.
        name: what records know it by.
        identity: of the judge model, part of the version.
        max_batch: responses judged at once; >= 1.

    Raises:
        ValueError: a template without the two places, or a batch below 1.
    """

    revision = 2
    """Raised with every change that may change a score."""

    def __init__(self, ask: Ask, *, template: str, sampling: Sampling, name: str, identity: str, max_batch: int) -> None:
        check_template(template, {"prompt", "response"}, name)
        check_batch(max_batch, name)
        self._ask = ask
        self._template = template
        self._sampling = sampling
        self._name = name
        self._identity = identity
        self._max_batch = max_batch

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision and a digest of the judge's identity and settings."""
        return f"{self.revision}-{key_of(self._identity, self._template, repr(self._sampling), self._settings()):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Ask once for each candidate, all at the same time."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._judged(candidate)) for candidate in candidates]
        return [task.result() for task in tasks]

    async def _judged(self, candidate: Candidate) -> Score:
        prompt = candidate.prompt
        # Keyed by what is judged, not by when: the same response gets the same seed in a resumed run.
        seed = seed_of(self._name, prompt.prompt_id, candidate.call.call_id)
        sample = await self._ask(candidate, Request((Message("user", self._message(candidate)),), self._sampling, (seed,)))
        return of_failure(sample) if isinstance(sample, Failure) else self._read(sample)

    def _message(self, candidate: Candidate) -> str:
        prompt = candidate.prompt
        shown = {"task": conversation(prompt.messages), "response": candidate.completion.text}
        fences = fenced_apart(shown if prompt.reference is None else shown | {"reference": prompt.reference})
        values = {"prompt": fences["task"], "response": fences["response"], "reference": fences.get("reference", "")}
        return fill(self._template, values | self._places())

    def _places(self) -> dict[str, str]:
        return {}

    def _settings(self) -> str:
        return ""

    @abstractmethod
    def _read(self, reply: Completion) -> Score:
        """Find the verdict in the judge's reply."""


def check_batch(max_batch: int, name: str) -> None:
    """See that a batch holds something.

    Raises:
        ValueError: below 1.
    """
    if max_batch < 1:
        message = f"max_batch of {name} must be at least 1, not {max_batch}"
        raise ValueError(message)
