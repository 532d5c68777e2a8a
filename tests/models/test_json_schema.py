import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.servers.launch import Running

from multigraft.models.capabilities import Capabilities, Feature
from multigraft.models.openai_chat import OpenAIChat
from multigraft.types import Completion, Message, Request, Sampling
from multigraft.wire.endpoints import Endpoint, Endpoints

SCHEMA = {"type": "object", "additionalProperties": False, "required": ["river"], "properties": {"river": {"type": "string", "maxLength": 20}}}
BODY = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}
SENT = frozenset({Feature.BASICS, Feature.MAX_TOKENS, Feature.SEED, Feature.TEMPERATURE, Feature.JSON_SCHEMA})


@pytest.fixture
async def endpoints(server: Running) -> AsyncIterator[Endpoints]:
    async with Endpoints([Endpoint(url=server.url)], name="m", attempt_timeout_s=5.0) as opened:
        yield opened


def _request(seed: int = 1, text: str = "Name a river, in JSON.", schema: str | None = json.dumps(SCHEMA)) -> Request:
    return Request((Message("user", text),), Sampling(max_tokens=64), (seed,), schema)


def _formats(server: Running) -> list[Any]:
    return [body.get("response_format") for body in server.stats()["bodies"]]


@pytest.mark.parametrize(
    "message",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "Invalid value: 'json_schema'. Supported values are: 'json_object' and 'text'.",
        "Unsupported parameter: 'response_format' is not supported with this model.",
        "[{'type': 'extra_forbidden', 'loc': ('body', 'response_format'), 'msg': 'Extra inputs are not permitted'}]",
        "This response_format type is unavailable now",
        "Invalid schema for response_format 'reply': In context=(), 'required' is required to be supplied.",
        "failed to parse grammar",
        "unknown variant `json_schema`, expected one of `text`, `json_object`",
        "This model does not support structured outputs.",
    ],
)
def test_refusals_of_a_schema_are_understood_by_their_words(message: str) -> None:
    capabilities = Capabilities()
    assert capabilities.learn(message, SENT) is Feature.JSON_SCHEMA
    assert capabilities.learn(message, SENT - {Feature.JSON_SCHEMA}) is None


def test_what_a_server_says_of_json_objects_is_about_them_where_they_were_sent() -> None:
    sent = (SENT - {Feature.JSON_SCHEMA}) | {Feature.JSON_OBJECT}
    for message in ("'response_format.type' must be 'json_schema'", "'messages' must contain the word 'json' in some form", "json mode is not available"):
        assert Capabilities().learn(message, sent) is Feature.JSON_OBJECT
    assert Capabilities().learn("temperature must be in [0, 2]", sent | SENT) is None


async def test_a_schema_is_sent_in_the_wire_s_own_words(server: Running, endpoints: Endpoints) -> None:
    server.control(faults=[_answers('{"river": "Po"}')])
    (sample,) = await OpenAIChat(name="m", model="fake", endpoints=endpoints).generate(_request())
    assert isinstance(sample, Completion)
    assert sample.flags == ()
    assert json.loads(sample.text) == {"river": "Po"}
    assert _formats(server) == [BODY]


async def test_without_a_schema_no_format_is_asked_for(server: Running, endpoints: Endpoints) -> None:
    await OpenAIChat(name="m", model="fake", endpoints=endpoints).generate(_request(schema=None))
    assert _formats(server) == [None]


async def test_a_refused_schema_becomes_a_json_object_then_nothing_and_is_remembered(server: Running, endpoints: Endpoints) -> None:
    server.control(refused_fields=["response_format"])
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints)
    for seed in (1, 2):
        (sample,) = await model.generate(_request(seed))
        assert isinstance(sample, Completion)
        assert [flag for flag in sample.flags if flag != "resent"] == ["json_schema_unsupported", "json_object_unsupported"]
    assert _formats(server) == [BODY, {"type": "json_object"}, None, None]


async def test_a_server_with_json_objects_only_gets_those(server: Running, endpoints: Endpoints) -> None:
    refusal = {"error": {"message": "Invalid value: 'json_schema'. Supported values are: 'json_object' and 'text'."}}
    server.control(faults=[{"kind": "status", "status": 400, "body": refusal, "contains": '"json_schema"'}])
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints)
    for seed in (1, 2):
        (sample,) = await model.generate(_request(seed))
        assert isinstance(sample, Completion)
        assert [flag for flag in sample.flags if flag != "resent"] == ["json_schema_unsupported"]
    assert _formats(server) == [BODY, {"type": "json_object"}, {"type": "json_object"}]
    await model.generate(_request(text="Name a river."))
    assert _formats(server)[-1] is None, "the wish for an object is refused where no message speaks of it"


async def test_a_server_that_pays_a_schema_no_heed_is_found_out(server: Running, endpoints: Endpoints) -> None:
    model = OpenAIChat(name="m", model="fake", endpoints=endpoints)
    (sample,) = await model.generate(_request())
    assert isinstance(sample, Completion)
    assert sample.flags == ("json_schema_unsupported",)
    assert Feature.JSON_SCHEMA in model.capabilities(server.url).refused


def _answers(text: str) -> dict[str, Any]:
    body = {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5},
    }
    return {"kind": "status", "status": 200, "body": body}
