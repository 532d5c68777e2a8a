import pytest
from tests.servers.fake_faults import CONTEXT_WORDINGS

from multigraft.types import FailureKind, Json
from multigraft.wire.classify import carries_error, classify

K = FailureKind


def _error(message: str, code: str | int | None = None, kind: str | None = None) -> Json:
    return {"error": {"message": message, "type": kind, "code": code}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (429, _error("Rate limit reached for requests", "rate_limit_exceeded"), K.RATE_LIMIT, True),
        (429, _error("You exceeded your current quota, please check your plan", "insufficient_quota"), K.QUOTA, False),
        (402, _error("Insufficient credits"), K.QUOTA, False),
        (403, _error("insufficient balance"), K.QUOTA, False),
        (401, _error("Incorrect API key provided"), K.AUTH, False),
        (403, _error("Forbidden"), K.AUTH, False),
        (403, _error("input flagged by moderation"), K.REFUSED, False),
        (404, _error("The model `x` does not exist", "model_not_found"), K.NOT_FOUND, False),
        (405, None, K.NOT_FOUND, False),
        (302, None, K.NOT_FOUND, False),
        (400, _error("The response was filtered due to the prompt triggering Azure OpenAI's content management policy", "content_filter"), K.REFUSED, False),
        (400, _error("Unsupported parameter: 'seed'"), K.BAD_REQUEST, False),
        (422, {"detail": [{"loc": ["body", "n"], "msg": "bad"}]}, K.BAD_REQUEST, False),
        (413, _error("request entity too large"), K.BAD_REQUEST, False),
        (408, None, K.TIMEOUT, True),
        (504, None, K.TIMEOUT, True),
        (409, None, K.SERVER, True),
        (500, _error("internal error"), K.SERVER, True),
        (502, None, K.SERVER, True),
        (503, _error("Loading model"), K.SERVER, True),
        (503, _error("too many requests"), K.RATE_LIMIT, True),
        (529, _error("Overloaded", kind="overloaded_error"), K.RATE_LIMIT, True),
        (200, _error("upstream is overloaded"), K.SERVER, True),
        (200, _error("slow down", 429), K.RATE_LIMIT, True),
        (200, _error("slow down", "429"), K.RATE_LIMIT, True),
        (200, {"error": "Rate limit exceeded"}, K.RATE_LIMIT, True),
        (200, {"object": "error", "message": "This model's maximum context length is 10", "code": 400}, K.CONTEXT, False),
        (200, _error("no such key", 401), K.AUTH, False),
        *[(400, _error(wording), K.CONTEXT, False) for wording in CONTEXT_WORDINGS.values()],
        (400, _error("prompt is too long: 210000 tokens > 200000 maximum"), K.CONTEXT, False),
        (500, {"error": {"message": "the request exceeds the available context size. try increasing the context size", "n_ctx": 512}}, K.CONTEXT, False),
    ],
)
def test_kinds(status: int, body: Json, kind: FailureKind, retryable: bool) -> None:
    failure = classify(status, body, "")
    assert failure.kind is kind
    assert failure.retryable is retryable


def test_a_gateway_that_lost_the_server_may_have_cost_something() -> None:
    assert [classify(status, None, "").possibly_billed for status in (400, 429, 500, 502, 503, 504)] == [False, False, False, True, False, True]


def test_the_message_is_the_server_s_and_short() -> None:
    failure = classify(500, None, "<html>\n  <h1>Bad   Gateway</h1>" + "x" * 10_000)
    assert failure.message.startswith("HTTP 500: <html> <h1>Bad Gateway</h1>x")
    assert len(failure.message) < 500


@pytest.mark.parametrize("body", [[], "x", 5, None, {"error": 5}, {"error": []}, {"error": {"message": {"a": 1}}}, {"error": {"code": True}}])
def test_error_bodies_of_any_shape_are_a_failure(body: Json) -> None:
    assert classify(418, body, "").kind is FailureKind.BAD_REQUEST


def test_errors_in_disguise() -> None:
    assert carries_error({"error": {"message": "x"}})
    assert carries_error({"error": "x"})
    assert carries_error({"object": "error", "message": "x"})
    assert not carries_error({"error": None, "choices": []})
    assert not carries_error({"choices": []})
