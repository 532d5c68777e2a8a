import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.servers.launch import Running

from multigraft.models.capabilities import Capabilities, Feature
from multigraft.models.openai_chat import OpenAIChat
from multigraft.types import Completion, Message, Request, Sampling
from multigraft.wire.endpoints import Endpoint, Endpoints

EVERYTHING = frozenset(Feature)


@pytest.fixture
async def endpoints(server: Running) -> AsyncIterator[Endpoints]:
    async with Endpoints([Endpoint(url=server.url)], name="m", attempt_timeout_s=5.0) as opened:
        yield opened


def _request(*seeds: int, text: str = "Name a river.", system: bool = False, **sampling: Any) -> Request:
    before = (Message("system", "Be brief."),) if system else ()
    return Request((*before, Message("user", text)), Sampling(**{"max_tokens": 64, **sampling}), seeds or (1,))


@pytest.mark.parametrize(
    ("message", "feature"),
    [
        ("Only one completion choice is allowed", Feature.N),
        ("n must be 1", Feature.N),
        ("`n` is not supported by this model", Feature.N),
        ("n > 1 is not supported", Feature.N),
        ("multiple completions are not supported", Feature.N),
        ("System role not supported", Feature.SYSTEM),
        ("Conversation roles must alternate user/assistant/user/assistant/...", Feature.SYSTEM),
        ("Only user and assistant roles are supported!", Feature.SYSTEM),
        ("Developer instruction is not enabled for models/gemma-3-1b-it", Feature.SYSTEM),
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", Feature.MAX_TOKENS),
        ("Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.", Feature.TEMPERATURE),
        ("Unsupported parameter: 'top_p' is not supported with this model.", Feature.TOP_P),
        ("Unsupported parameter: 'logprobs'", Feature.LOGPROBS),
        ("logprobs is not supported", Feature.LOGPROBS),
        ("Unknown field: top_logprobs", Feature.TOP_LOGPROBS),
        ("property 'seed' is unsupported", Feature.SEED),
        ("[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 7}]", Feature.SEED),
        ("'stop' is not supported with this model.", Feature.STOP),
        ("temperature must be in [0, 2]", None),
        ("max_tokens is too large: 99999", None),
        ("Invalid JSON", None),
        ("the model crashed", None),
        ("seed must be an integer", None),
    ],
)
def test_refusals_are_understood_by_their_words(message: str, feature: Feature | None) -> None:
    capabilities = Capabilities()
    assert capabilities.learn(message, EVERYTHING) is feature
    assert capabilities.refused == (set() if feature is None else {feature})


def test_what_was_not_sent_cannot_be_what_is_refused() -> None:
    assert Capabilities().learn("System role not supported", EVERYTHING - {Feature.SYSTEM}) is None


def test_what_is_refused_is_not_confirmed() -> None:
    capabilities = Capabilities()
    capabilities.refuse(Feature.N)
    capabilities.confirm({Feature.N, Feature.SEED})
    assert capabilities.honoured == {Feature.SEED}
    assert not capabilities.unknown({Feature.N, Feature.SEED})
    assert capabilities.unknown({Feature.STOP})


@pytest.mark.parametrize(
    ("settings", "first_calls"),
    [
        ({"n": "honour"}, 1),
        ({"n": "shuffled"}, 1),
        ({"n": "ignore"}, 1 + 4),
        ({"n": "fewer"}, 1 + 1),
        ({"n": "more"}, 1),
        ({"n": "refuse"}, 1 + 5),
        ({"n": "identical"}, 1),
    ],
)
async def test_exactly_n_samples_whatever_the_server_makes_of_n(server: Running, endpoints: Endpoints, settings: dict[str, Any], first_calls: int) -> None:
    server.control(**settings)
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints, use_n=True)
    samples = await model.generate(_request(*range(5)))
    assert len(samples) == 5
    assert all(isinstance(sample, Completion) for sample in samples)
    assert server.stats()["calls"] == first_calls
    again = await model.generate(_request(*range(10, 15), text="Name a lake."))
    assert len(again) == 5
    honoured = settings["n"] in {"honour", "shuffled"}
    assert server.stats()["calls"] == first_calls + (1 if honoured else 5)
    assert (Feature.N in model.capabilities(server.url).honoured) == honoured
    if settings["n"] != "identical":
        assert len({sample.text for sample in samples if isinstance(sample, Completion)}) == 5


async def test_the_tokens_of_one_request_are_divided_over_its_samples(server: Running, endpoints: Endpoints) -> None:
    samples = await OpenAIChat(name="m", model="fake", endpoints=endpoints, use_n=True).generate(_request(*range(5)))
    assert [sample.usage.prompt_tokens > 0 for sample in samples] == [True, False, False, False, False]
    assert {sample.usage.context_tokens for sample in samples} == {samples[0].usage.prompt_tokens}
    words = sum(len(sample.text.split()) for sample in samples if isinstance(sample, Completion))
    assert sum(sample.usage.completion_tokens for sample in samples) == words


@pytest.mark.parametrize("mode", ["refuse", "ignore", "more", "fewer", "identical"])
async def test_many_calls_at_once_learn_n_with_one_extra_call(server: Running, endpoints: Endpoints, mode: str) -> None:
    server.control(n=mode, latency_s=0.02)
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints, use_n=True)
    results = await asyncio.gather(*(model.generate(_request(*range(4), text=f"question {number}")) for number in range(30)))
    assert all(len(samples) == 4 for samples in results)
    assert server.stats()["calls"] <= 30 * 4 + 1


@pytest.mark.parametrize(
    ("settings", "sampling", "flags"),
    [
        ({"system": "refuse"}, {}, ()),
        ({"max_tokens": "new"}, {}, ()),
        ({"refused_fields": ["seed"]}, {}, ("seed_unsupported",)),
        ({"refused_fields": ["temperature", "top_p"]}, {"top_p": 0.5}, ("temperature_unsupported", "top_p_unsupported")),
        ({"refused_fields": ["logprobs"]}, {"logprobs": True}, ("logprobs_unsupported",)),
        ({"refused_fields": ["top_logprobs"]}, {"top_logprobs": 5}, ("top_logprobs_unsupported",)),
        ({"refused_fields": ["seed"], "max_tokens": "new", "system": "refuse"}, {}, ("seed_unsupported",)),
    ],
)
async def test_a_refused_feature_is_left_out_and_remembered(
    server: Running, endpoints: Endpoints, settings: dict[str, Any], sampling: dict[str, Any], flags: tuple[str, ...]
) -> None:
    server.control(**settings)
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints)
    results = await asyncio.gather(*(model.generate(_request(number, system=True, **sampling)) for number in range(20)))
    lessons = len(settings.get("refused_fields", [])) + ("system" in settings) + ("max_tokens" in settings)
    assert server.stats()["calls"] == 20 + lessons
    samples = [sample for samples in results for sample in samples]
    assert all(isinstance(sample, Completion) for sample in samples)
    assert sum(sample.flags.count("resent") for sample in samples if isinstance(sample, Completion)) == lessons
    for sample in samples:
        assert isinstance(sample, Completion)
        assert tuple(flag for flag in sample.flags if flag != "resent") == flags
    body = server.stats()["bodies"][-1]
    if "system" in settings:
        assert body["messages"] == [{"role": "user", "content": "Be brief.\n\nName a river."}]
    if "max_tokens" in settings:
        assert body["max_completion_tokens"] == 64


@pytest.mark.parametrize(("status", "calls"), [(400, 2), (422, 2), (500, 2), (503, 1), (502, 1)])
async def test_only_what_may_be_about_the_request_teaches(server: Running, endpoints: Endpoints, status: int, calls: int) -> None:
    body = {"error": {"message": "System role not supported"}}
    server.control(faults=[{"kind": "status", "status": status, "body": body, "contains": '"system"'}])
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints)
    (sample,) = await model.generate(_request(system=True))
    assert server.stats()["calls"] == calls
    assert isinstance(sample, Completion) == (calls == 2)


async def test_a_slow_explorer_is_waited_for_once(server: Running, endpoints: Endpoints) -> None:
    server.control(latency_s=1.0)
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints, patience_s=0.3)
    first = [asyncio.ensure_future(model.generate(_request(number))) for number in range(2)]
    await asyncio.sleep(0.5)
    started = asyncio.get_running_loop().time()
    await model.generate(_request(9))
    assert asyncio.get_running_loop().time() - started < 1.2
    await asyncio.gather(*first)


async def test_refused_stop_words_are_looked_for_here(server: Running, endpoints: Endpoints) -> None:
    server.control(refused_fields=["stop"])
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints)
    (whole,) = await model.generate(_request())
    assert isinstance(whole, Completion)
    word = whole.text.split()[2]
    (cut,) = await model.generate(_request(stop=(word,)))
    assert isinstance(cut, Completion)
    assert cut.text == whole.text.split(word)[0].strip()
    assert cut.flags == ("stop_unsupported", "resent")


async def test_each_endpoint_is_learnt_by_itself(server: Running) -> None:
    from tests.servers.launch import fake_server

    with fake_server(system="refuse") as other:
        async with Endpoints([Endpoint(url=server.url), Endpoint(url=other.url)], name="m") as endpoints:
            model = OpenAIChat(name="m", model="fake", endpoints=endpoints)
            await asyncio.gather(*(model.generate(_request(number, system=True)) for number in range(40)))
            assert Feature.SYSTEM in model.capabilities(server.url).honoured
            assert Feature.SYSTEM in model.capabilities(other.url).refused
        assert server.stats()["calls"] + other.stats()["calls"] == 41


async def test_a_slow_first_answer_does_not_hold_the_others_for_long(server: Running, endpoints: Endpoints) -> None:
    server.control(latency_s=1.0)
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints, patience_s=0.1)
    started = asyncio.get_running_loop().time()
    await asyncio.gather(*(model.generate(_request(number)) for number in range(10)))
    assert asyncio.get_running_loop().time() - started < 1.6


async def test_a_cancelled_explorer_leaves_its_turn(server: Running, endpoints: Endpoints) -> None:
    server.control(latency_s=0.5)
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints, patience_s=30.0)
    tasks = [asyncio.ensure_future(model.generate(_request(number))) for number in range(3)]
    await asyncio.sleep(0.1)
    tasks[0].cancel()
    samples = await asyncio.wait_for(asyncio.gather(*tasks[1:]), 3.0)
    assert all(isinstance(sample[0], Completion) for sample in samples)
