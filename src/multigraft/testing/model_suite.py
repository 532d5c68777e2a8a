"""What every model must hold. Subclass `ModelSuite`, give it your model, and run pytest."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from multigraft.types import Completion, Failure, Message, Model, Request, Sample, Sampling

_QUESTION = (Message("user", "Name a river."),)


class ModelSuite(ABC):
    """Conformance of a model; each test opens a model of its own."""

    @abstractmethod
    def model(self) -> AbstractAsyncContextManager[Model]:
        """Open a model that answers."""

    def failing_model(self) -> AbstractAsyncContextManager[Model] | None:
        """Open a model whose server or network fails, if there is such a thing."""
        return None

    def slow_model(self) -> AbstractAsyncContextManager[Model] | None:
        """Open a model that takes at least a second for each answer, if there is such a thing."""
        return None

    async def test_as_many_samples_as_seeds(self) -> None:
        """Each seed gets one sample, whatever their number."""
        async with self.model() as model:
            for count in (1, 2, 5):
                samples = await model.generate(_request(*range(10, 10 + count)))
                assert len(samples) == count

    async def test_samples_are_in_the_order_of_the_seeds(self) -> None:
        """Asking for several seeds at once gives what asking for each gives, where the model is deterministic."""
        async with self.model() as model:
            together = await model.generate(_request(3, 1, 2))
            apart = [(await model.generate(_request(seed)))[0] for seed in (3, 1, 2)]
            if self.deterministic:
                assert [_text(sample) for sample in together] == [_text(sample) for sample in apart]
            assert len(together) == len(apart)

    deterministic = True
    """Whether a seed decides an answer."""

    async def test_a_completion_is_visible_and_trimmed(self) -> None:
        """An answer has a visible character and no white space around it."""
        async with self.model() as model:
            for sample in await model.generate(_request(1, 2, 3)):
                assert isinstance(sample, Completion), sample
                assert sample.text.strip() == sample.text
                assert sample.text

    async def test_usage_is_counted(self) -> None:
        """Tokens are counts, parts are no larger than their whole, and the prompt is billed once a request or once a sample."""
        async with self.model() as model:
            samples = await model.generate(_request(1, 2))
            for sample in samples:
                usage = sample.usage
                assert min(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.reasoning_tokens) >= 0
                assert usage.cached_tokens <= usage.prompt_tokens
                assert usage.reasoning_tokens <= usage.completion_tokens
                assert usage.context_tokens > 0
                assert usage.prompt_tokens in {0, usage.context_tokens}
            assert samples[0].usage.prompt_tokens > 0

    async def test_log_probabilities_are_natural(self) -> None:
        """Where there are any, they are finite and at most 0, and alternatives come most probable first."""
        async with self.model() as model:
            sampling = Sampling(max_tokens=32, logprobs=True, top_logprobs=3)
            (sample,) = await model.generate(Request(_QUESTION, sampling, (1,)))
            assert isinstance(sample, Completion), sample
            assert sample.mean_logprob is None or -1e9 < sample.mean_logprob <= 0.0
            values = [alternative.logprob for alternative in sample.first_token]
            assert values == sorted(values, reverse=True)
            assert all(-1e9 < value <= 0.0 for value in values)

    async def test_a_failure_is_a_value(self) -> None:
        """What a server does wrong is returned, once for each seed."""
        opened = self.failing_model()
        if opened is None:
            return
        async with opened as model:
            samples = await model.generate(_request(1, 2, 3))
            assert len(samples) == 3
            assert all(isinstance(sample, Failure) and sample.message for sample in samples), samples

    async def test_cancelling_is_prompt_and_harmless(self) -> None:
        """A cancelled call ends at once, and the model goes on working."""
        opened = self.slow_model()
        if opened is None:
            return
        async with opened as model:
            task = asyncio.ensure_future(model.generate(_request(1, 2)))
            await asyncio.sleep(0.2)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=0.5)
            assert done, "a cancelled call went on"
            assert task.cancelled()
            samples = await model.generate(_request(4))
            assert isinstance(samples[0], Completion), samples

    async def test_many_calls_at_once(self) -> None:
        """Concurrent calls do not mix their answers up."""
        async with self.model() as model:
            results = await asyncio.gather(*(model.generate(_request(seed)) for seed in range(20)))
            assert all(len(samples) == 1 for samples in results)
            if self.deterministic:
                again = await model.generate(_request(7))
                assert _text(results[7][0]) == _text(again[0])


@asynccontextmanager
async def as_opened(model: Model) -> AsyncIterator[Model]:
    """Make a model that needs no closing fit for `ModelSuite.model`."""
    yield model


def _request(*seeds: int) -> Request:
    return Request(_QUESTION, Sampling(max_tokens=32), seeds)


def _text(sample: Sample) -> str:
    assert isinstance(sample, Completion), sample
    return sample.text
