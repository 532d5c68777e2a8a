import socket
from typing import Any

import pytest
from tests.servers.launch import Running, fake_server

from multigraft.models.openai_chat import OpenAIChat
from multigraft.models.probe import EndpointReport, Verdict, probe
from multigraft.models.scripted import ScriptedModel
from multigraft.types import Failure, FailureKind
from multigraft.wire.endpoints import Endpoint, Endpoints


def _verdicts(report: EndpointReport) -> dict[str, Verdict]:
    return {finding.what: finding.verdict for finding in report.findings}


async def _probed(*urls: str, key: str | None = None) -> tuple[EndpointReport, ...]:
    async with Endpoints([Endpoint(url=url, key=key) for url in urls], name="m") as endpoints:
        return (await probe(OpenAIChat(name="m", model="fake", endpoints=endpoints))).endpoints


async def test_an_endpoint_that_can_do_everything(server: Running) -> None:
    (report,) = await _probed(server.url)
    assert report.answers
    assert report.latency_s is not None
    assert report.calls >= server.stats()["calls"] == 3
    verdicts = _verdicts(report)
    assert verdicts.pop("reasoning") is Verdict.NO
    assert set(verdicts.values()) == {Verdict.YES}


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"n": "refuse"}, "n"),
        ({"n": "ignore"}, "n"),
        ({"system": "refuse"}, "system"),
        ({"max_tokens": "new"}, "max_tokens"),
        ({"refused_fields": ["seed"]}, "seed"),
        ({"refused_fields": ["temperature"]}, "temperature"),
        ({"refused_fields": ["stop"]}, "stop"),
        ({"refused_fields": ["logprobs"]}, "logprobs"),
        ({"logprobs": "ignore"}, "top_logprobs"),
        ({"usage": "omit"}, "usage"),
    ],
)
async def test_what_an_endpoint_cannot_do(server: Running, settings: dict[str, Any], what: str) -> None:
    server.control(**settings)
    (report,) = await _probed(server.url)
    assert report.answers
    assert _verdicts(report)[what] is Verdict.NO
    assert server.stats()["calls"] <= 7


async def test_thinking_is_noticed(server: Running) -> None:
    server.control(thinking="tags")
    (report,) = await _probed(server.url)
    assert _verdicts(report)["reasoning"] is Verdict.YES
    server.control(thinking="only")
    (report,) = await _probed(server.url)
    assert report.answers
    assert any("raise max_tokens" in finding.detail for finding in report.findings)


async def test_an_endpoint_that_does_not_answer_comes_with_a_remedy(server: Running) -> None:
    server.control(keys=["right-key"])
    (wrong,) = await _probed(server.url, key="wrong-key")
    assert not wrong.answers
    assert "Incorrect API key" in wrong.error
    assert "key" in wrong.remedy
    assert wrong.calls == server.stats()["calls"] == 1


async def test_each_endpoint_is_looked_at_by_itself(server: Running) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with fake_server(n="refuse") as other:
        async with Endpoints([Endpoint(url=url) for url in (server.url, other.url, dead)], name="m") as endpoints:
            report = await probe(OpenAIChat(name="m", model="fake", endpoints=endpoints))
    good, poor, gone = report.endpoints
    assert (good.answers, poor.answers, gone.answers, report.answers) == (True, True, False, False)
    assert (_verdicts(good)["n"], _verdicts(poor)["n"]) == (Verdict.YES, Verdict.NO)
    assert "runs" in gone.remedy
    written = report.as_json()
    assert written["answers"] is False
    assert isinstance(written["endpoints"], list)
    assert len(written["endpoints"]) == 3


async def test_any_model_can_be_looked_at() -> None:
    report = await probe(ScriptedModel(name="s"))
    assert report.answers
    assert _verdicts(report.endpoints[0])["logprobs"] is Verdict.YES
    failing = ScriptedModel(name="s", failures=lambda request, seed: Failure(FailureKind.SERVER, "down"))
    report = await probe(failing)
    assert not report.answers
    assert report.endpoints[0].error == "down"
