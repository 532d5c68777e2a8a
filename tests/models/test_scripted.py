import asyncio

import pytest

from multigraft.models.scripted import ScriptedModel, tokens_of
from multigraft.types import Completion, Failure, FailureKind, Finish, Message, Request, Sampling, Usage


def _request(*seeds: int, text: str = "Why?", **sampling: int) -> Request:
    return Request((Message("system", "Be kind."), Message("user", text)), Sampling(**sampling), seeds)  # type: ignore[arg-type] # only integer settings are given


async def test_the_answer_depends_on_name_seed_and_messages_alone() -> None:
    first, same, other = ScriptedModel(name="a"), ScriptedModel(name="a"), ScriptedModel(name="b")
    assert await first.generate(_request(1, 2)) == await same.generate(_request(1, 2))
    texts = set()
    for model, request in ((first, _request(1)), (first, _request(2)), (first, _request(1, text="How?")), (other, _request(1))):
        (sample,) = await model.generate(request)
        assert isinstance(sample, Completion)
        texts.add(sample.text)
    assert len(texts) == 4


async def test_usage_and_finish() -> None:
    model = ScriptedModel(name="a", answers=["one two three"])
    first, second = await model.generate(_request(1, 2))
    assert first.usage == Usage(prompt_tokens=3, completion_tokens=4, context_tokens=3)
    assert second.usage == Usage(prompt_tokens=0, completion_tokens=4, context_tokens=3)
    (short,) = await model.generate(_request(1, max_tokens=2))
    assert isinstance(short, Completion)
    assert (short.text, short.finish, short.usage.completion_tokens) == ("one two", Finish.LENGTH, 2)
    assert tokens_of("") == 0
    assert tokens_of("äöü") == 2


async def test_answers_of_a_list_all_come_up() -> None:
    model = ScriptedModel(name="a", answers=["x", "y", "z"])
    samples = await model.generate(_request(*range(40)))
    assert {sample.text for sample in samples if isinstance(sample, Completion)} == {"x", "y", "z"}
    assert model.samples_asked == 40


async def test_answers_of_a_function() -> None:
    refusal = Failure(FailureKind.REFUSED, "no")
    model = ScriptedModel(name="a", answers=lambda request, seed: f"{request.messages[-1].content} {seed}" if seed else refusal)
    first, second = await model.generate(_request(0, 7))
    assert first is refusal
    assert isinstance(second, Completion)
    assert second.text == "Why? 7"


async def test_failures_by_rule_and_latency() -> None:
    model = ScriptedModel(name="a", latency_s=0.05, failures=lambda request, seed: Failure(FailureKind.SERVER, "down") if seed % 2 else None)
    started = asyncio.get_running_loop().time()
    samples = await model.generate(_request(1, 2, 3))
    assert asyncio.get_running_loop().time() - started >= 0.05
    assert [isinstance(sample, Failure) for sample in samples] == [True, False, True]


async def test_log_probabilities_when_asked() -> None:
    model = ScriptedModel(name="a", answers=["yes indeed"])
    (plain,) = await model.generate(_request(1))
    (asked,) = await model.generate(_request(1, logprobs=True, top_logprobs=4))
    assert isinstance(plain, Completion)
    assert isinstance(asked, Completion)
    assert plain.mean_logprob is None
    assert plain.first_token == ()
    assert asked.mean_logprob is not None
    assert -2.0 <= asked.mean_logprob <= 0.0
    assert len({other.token for other in asked.first_token}) == 4
    assert asked.first_token[0].token == "yes"


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="visible"):
        ScriptedModel(name="a", answers=["x", " "])
    with pytest.raises(ValueError, match="visible"):
        ScriptedModel(name="a", answers=[])
    with pytest.raises(ValueError, match="-1"):
        ScriptedModel(name="a", latency_s=-1)
