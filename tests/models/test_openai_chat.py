from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.servers.fake_faults import CONTEXT_WORDINGS
from tests.servers.launch import Running

from multigraft.models.openai_chat import OpenAIChat
from multigraft.types import Completion, Failure, FailureKind, Finish, Message, Request, Sample, Sampling
from multigraft.wire.endpoints import Endpoint, Endpoints

K = FailureKind


@pytest.fixture
async def endpoints(server: Running) -> AsyncIterator[Endpoints]:
    async with Endpoints([Endpoint(url=server.url)], name="m", attempt_timeout_s=5.0) as opened:
        yield opened


def _request(*seeds: int, text: str = "Name a river.", system: str | None = None, **sampling: Any) -> Request:
    before = () if system is None else (Message("system", system),)
    return Request((*before, Message("user", text)), Sampling(**{"max_tokens": 64, **sampling}), seeds or (1,))


def _chat(endpoints: Endpoints, **settings: Any) -> OpenAIChat:
    return OpenAIChat(name="m", model="fake", endpoints=endpoints, **settings)


async def _one(model: OpenAIChat, request: Request | None = None) -> Sample:
    (sample,) = await model.generate(request or _request())
    return sample


async def test_a_completion_with_everything(server: Running, endpoints: Endpoints) -> None:
    server.control(thinking="field")
    sample = await _one(_chat(endpoints), _request(logprobs=True, top_logprobs=3, top_p=0.9, stop=("END",)))
    assert isinstance(sample, Completion)
    assert sample.finish is Finish.STOP
    assert sample.reasoning == "let me see"
    assert sample.endpoint == server.url
    assert sample.flags == ()
    assert sample.usage.context_tokens == sample.usage.prompt_tokens > 0
    assert sample.usage.cached_tokens == 2
    assert sample.usage.reasoning_tokens == 7
    (body,) = server.stats()["bodies"]
    assert body == {
        "model": "fake",
        "messages": [{"role": "user", "content": "Name a river."}],
        "max_tokens": 64,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 1,
        "stop": ["END"],
        "logprobs": True,
        "top_logprobs": 3,
    }


async def test_the_mean_is_over_the_answer_s_tokens(server: Running, endpoints: Endpoints) -> None:
    sample = await _one(_chat(endpoints), _request(logprobs=True, top_logprobs=2))
    assert isinstance(sample, Completion)
    expected = [-0.1 - 0.05 * (position % 5) for position in range(len(sample.text.split()))]
    assert sample.mean_logprob == pytest.approx(sum(expected) / len(expected))
    assert [alternative.token for alternative in sample.first_token] == [sample.text.split()[0], "basin"]
    assert [alternative.logprob for alternative in sample.first_token] == pytest.approx([-0.1, -1.1])


async def test_thinking_in_tags_is_apart_and_not_in_the_mean(server: Running, endpoints: Endpoints) -> None:
    server.control(thinking="tags")
    sample = await _one(_chat(endpoints), _request(logprobs=True, top_logprobs=2))
    assert isinstance(sample, Completion)
    assert sample.reasoning == "let me see"
    assert "think" not in sample.text
    # "<think>let", " me", " see</think>\n\nFIRST", " SECOND" ...: the piece that ends the thinking also begins the answer, so the mean starts after it.
    count = len(sample.text.split())
    expected = [-0.1 - 0.05 * (position % 5) for position in range(3, count + 2)]
    assert sample.mean_logprob == pytest.approx(sum(expected) / len(expected))


@pytest.mark.parametrize(
    ("fault", "kind", "retryable"),
    [
        ("null", K.NO_ANSWER, True),
        ("empty", K.NO_ANSWER, True),
        ("blank", K.NO_ANSWER, True),
        ("reasoning_only", K.NO_ANSWER, False),
        ("refusal", K.REFUSED, False),
        ("filtered", K.REFUSED, False),
        ("abort", K.ABORTED, True),
        ("no_finish", K.ABORTED, True),
        ("no_choices", K.MALFORMED, True),
        ("null_choices", K.MALFORMED, True),
        ("error_200", K.SERVER, True),
        ("truncated", K.MALFORMED, True),
    ],
)
async def test_what_only_looks_like_an_answer(server: Running, endpoints: Endpoints, fault: str, kind: FailureKind, retryable: bool) -> None:
    server.control(faults=[{"kind": fault}])
    sample = await _one(_chat(endpoints))
    assert isinstance(sample, Failure), sample
    assert (sample.kind, sample.retryable) == (kind, retryable)
    assert server.stats()["calls"] == 1
    assert bool(sample.reasoning) is (fault == "reasoning_only")  # thoughts were paid for: they are kept
    if kind in {K.NO_ANSWER, K.REFUSED, K.ABORTED}:
        assert sample.usage.prompt_tokens > 0


async def test_unfinished_thinking_is_no_answer(server: Running, endpoints: Endpoints) -> None:
    reply = '{"choices": [{"index": 0, "finish_reason": "length", "message": {"content": "<think>well, first"}}]}'
    server.control(faults=[{"kind": "raw", "status": 200, "body": reply}])
    sample = await _one(_chat(endpoints))
    assert isinstance(sample, Failure)
    assert sample.kind is K.NO_ANSWER
    assert not sample.retryable
    assert "raise max_tokens" in sample.message


async def test_content_in_parts_is_joined(server: Running, endpoints: Endpoints) -> None:
    server.control(faults=[{"kind": "parts"}])
    sample = await _one(_chat(endpoints))
    assert isinstance(sample, Completion)
    assert sample.text == "two parts"


async def test_missing_usage_is_bounded_from_above(server: Running, endpoints: Endpoints) -> None:
    server.control(usage="omit")
    request = _request(max_tokens=64)
    sample = await _one(_chat(endpoints), request)
    assert isinstance(sample, Completion)
    assert sample.usage.estimated
    assert sample.flags == ("usage_missing",)
    assert sample.usage.completion_tokens == 64
    assert sample.usage.prompt_tokens >= len("Name a river.")


@pytest.mark.parametrize("wording", sorted(CONTEXT_WORDINGS))
async def test_context_errors_are_not_sent_again_unless_a_smaller_answer_fits(server: Running, endpoints: Endpoints, wording: str) -> None:
    server.control(faults=[{"kind": "status", "status": 400, "body": {"error": {"message": CONTEXT_WORDINGS[wording]}}}])
    sample = await _one(_chat(endpoints), _request(max_tokens=2000))
    assert isinstance(sample, Failure)
    assert sample.kind is K.CONTEXT
    assert not sample.retryable
    assert server.stats()["calls"] == (2 if wording in {"openai", "sglang"} else 1)


async def test_one_clamp_of_max_tokens(server: Running, endpoints: Endpoints) -> None:
    server.control(context_tokens=200)
    sample = await _one(_chat(endpoints), _request(text="x" * 400, max_tokens=2000))
    assert isinstance(sample, Completion)
    assert sample.flags == ("clamped", "resent")
    assert [body["max_tokens"] for body in server.stats()["bodies"]] == [2000, 200 - 104]


async def test_a_prompt_that_does_not_fit_is_sent_once(server: Running, endpoints: Endpoints) -> None:
    server.control(context_tokens=50)
    sample = await _one(_chat(endpoints), _request(text="x" * 400, max_tokens=2000))
    assert isinstance(sample, Failure)
    assert sample.kind is K.CONTEXT
    assert server.stats()["calls"] == 1


async def test_a_silently_cut_prompt_fails(server: Running, endpoints: Endpoints) -> None:
    server.control(usage="cut")
    prompt = " ".join(str(number) for number in range(3000))
    sample = await _one(_chat(endpoints), _request(text=prompt))
    assert isinstance(sample, Failure)
    assert sample.kind is K.PROMPT_TRUNCATED
    assert not sample.retryable
    assert isinstance(await _one(_chat(endpoints, max_prompt_bytes_per_token=None), _request(text=prompt)), Completion)
    assert isinstance(await _one(_chat(endpoints), _request(text="short")), Completion)


async def test_long_runs_of_one_character_are_no_alarm(server: Running, endpoints: Endpoints) -> None:
    server.control(usage="cut")
    assert isinstance(await _one(_chat(endpoints), _request(text="a" + " " * 20_000 + "b")), Completion)


async def test_a_lone_surrogate_comes_and_goes(server: Running, endpoints: Endpoints) -> None:
    reply = '{"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "x\\ud835y"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}'
    server.control(faults=[{"kind": "raw", "status": 200, "body": reply}])
    sample = await _one(_chat(endpoints), _request(text="a\ud835b"))
    assert isinstance(sample, Completion)
    assert sample.text == "x\ufffdy"
    assert sample.flags == ("normalised",)
    assert server.stats()["bodies"][0]["messages"][0]["content"] == "a\ufffdb"


@pytest.mark.parametrize("number", ["NaN", "1e400", "-Infinity", '"x"', "null", "true", "[]"])
async def test_a_logprob_that_is_no_number_is_no_mean(server: Running, endpoints: Endpoints, number: str) -> None:
    logprobs = f'{{"content": [{{"token": "a", "logprob": {number}, "top_logprobs": []}}, {{"token": "b", "logprob": -0.5, "top_logprobs": null}}]}}'
    reply = f'{{"choices": [{{"finish_reason": "stop", "message": {{"content": "ab"}}, "logprobs": {logprobs}}}]}}'
    server.control(faults=[{"kind": "raw", "status": 200, "body": reply}])
    sample = await _one(_chat(endpoints), _request(logprobs=True))
    assert isinstance(sample, Completion)
    assert sample.mean_logprob is None


async def test_extra_fields_are_sent_and_own_fields_protected(server: Running, endpoints: Endpoints) -> None:
    await _one(_chat(endpoints, extra_body={"top_k": 20, "temperature": 0.1}))
    assert server.stats()["bodies"][0]["top_k"] == 20
    assert server.stats()["bodies"][0]["temperature"] == 0.1
    with pytest.raises(ValueError, match="n, stream"):
        _chat(endpoints, extra_body={"stream": True, "n": 2})
    with pytest.raises(ValueError, match="'embeddings'"):
        _chat(endpoints, api="embeddings")


async def test_a_base_model_continues_a_few_exchanges(server: Running, endpoints: Endpoints) -> None:
    model = _chat(endpoints, api="completions")
    sample = await _one(model, _request(system="Be brief.", logprobs=True, top_logprobs=2))
    assert isinstance(sample, Completion)
    assert sample.mean_logprob == pytest.approx(-0.5)
    assert sample.first_token[0].logprob == -0.5
    (body,) = server.stats()["bodies"]
    assert body["prompt"].endswith("Question: Name a river.\nAnswer:")
    assert "Be brief." in body["prompt"]
    assert body["stop"] == ["\nQuestion:", "\n\nAnswer:"]
    assert body["logprobs"] == 2
    assert model.prompt_overhead_tokens > 400


async def test_a_continuation_is_cut_at_the_next_turn(server: Running, endpoints: Endpoints) -> None:
    reply = '{"choices": [{"index": 0, "finish_reason": "length", "text": " The Danube.\\n\\nQuestion: Name a lake.\\nAnswer: Geneva"}]}'
    server.control(faults=[{"kind": "raw", "status": 200, "body": reply}])
    sample = await _one(_chat(endpoints, api="completions"))
    assert isinstance(sample, Completion)
    assert sample.text == "The Danube."
