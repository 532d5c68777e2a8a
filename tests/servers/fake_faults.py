"""Every kind of trouble a server can give, by name."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from tests.servers.fake_settings import Fault

Trouble = Callable[[web.Request, Fault, dict[str, Any]], Awaitable[web.StreamResponse]]
CONTEXT_WORDINGS = {
    "openai": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (3000 in the messages, 2000 in the completion).",
    "vllm_negative": "max_tokens must be at least 1, got -186.",
    "vllm_input": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "llama_cpp": "the request exceeds the available context size, try increasing it",
    "sglang": "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: "
    "3000 tokens from the input messages and 2000 tokens for the completion.",
}


async def _status(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    body = fault.body if fault.body is not None else {"error": {"message": f"trouble {fault.status}", "type": "server_error", "code": fault.status}}
    return web.json_response(body, status=fault.status, headers=fault.headers)


async def _html(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    return web.Response(text="<html><body><h1>502 Bad Gateway</h1></body></html>", status=fault.status, content_type="text/html")


async def _quota(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    message = "You exceeded your current quota, please check your plan and billing details."
    return web.json_response({"error": {"message": message, "type": "insufficient_quota", "code": "insufficient_quota"}}, status=429)


async def _reset(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def _truncated(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    whole = json.dumps(reply)
    return web.Response(text=whole[: len(whole) // 2], content_type="application/json")


async def _cut(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    """Less body than the header promised."""
    whole = json.dumps(reply).encode()
    response = web.StreamResponse(headers={"content-length": str(len(whole)), "content-type": "application/json"})
    await response.prepare(request)
    await response.write(whole[: len(whole) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


async def _hang(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    await asyncio.sleep(fault.seconds)
    return web.json_response(reply)


async def _stall(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    """Nine tenths of the answer, then nothing."""
    whole = json.dumps(reply).encode()
    response = web.StreamResponse(headers={"content-length": str(len(whole)), "content-type": "application/json"})
    await response.prepare(request)
    await response.write(whole[: len(whole) * 9 // 10])
    await asyncio.sleep(fault.seconds)
    return response


async def _loris(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    """One byte of the header a tenth of a second."""
    assert request.transport is not None
    for byte in b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999\r\nx-slow: " + b"a" * 200:
        request.transport.write(bytes([byte]))
        await asyncio.sleep(0.1)
    return web.Response()


async def _drip(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    """A byte of the body now and then."""
    response = web.StreamResponse(headers={"content-type": "application/json"})
    await response.prepare(request)
    for byte in json.dumps(reply).encode():
        await response.write(bytes([byte]))
        await asyncio.sleep(fault.seconds)
    return response


async def _endless(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" " * 65536)


async def _bomb(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    """A small body that unpacks to `seconds` times a million bytes."""
    packed = gzip.compress(b'{"choices": "' + b"0" * int(fault.seconds * 1e6) + b'"}')
    return web.Response(body=packed, headers={"content-encoding": "gzip", "content-type": "application/json"})


async def _gzip(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    return web.Response(body=gzip.compress(json.dumps(reply).encode()), headers={"content-encoding": "gzip", "content-type": "application/json"})


async def _raw(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    """Exactly the text given, with the status given."""
    return web.Response(body=str(fault.body).encode("utf-8", "surrogateescape"), status=fault.status, content_type="application/json", headers=fault.headers)


async def _echo_key(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
    message = f"Incorrect API key provided: {request.headers.get('authorization', '').removeprefix('Bearer ')}."
    return web.json_response({"error": {"message": message, "code": "invalid_api_key"}}, status=fault.status)


def _with_choice(**changes: Any) -> Trouble:
    """An answer whose first choice, or whose message, is changed."""

    async def changed(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
        choice = reply["choices"][0]
        for name, value in changes.items():
            if name in {"content", "refusal", "reasoning_content"} and "message" in choice:
                choice["message"][name] = value
            else:
                choice[name] = value
        return web.json_response(reply)

    return changed


def _with_reply(**changes: Any) -> Trouble:
    async def changed(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
        return web.json_response({**reply, **changes})

    return changed


def _only(body: Any) -> Trouble:
    async def only(request: web.Request, fault: Fault, reply: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(body)

    return only


FAULTS: dict[str, Trouble] = {
    "status": _status,
    "html": _html,
    "quota": _quota,
    "reset": _reset,
    "truncated": _truncated,
    "cut": _cut,
    "hang": _hang,
    "stall": _stall,
    "loris": _loris,
    "drip": _drip,
    "endless": _endless,
    "bomb": _bomb,
    "gzip": _gzip,
    "raw": _raw,
    "echo_key": _echo_key,
    "null": _with_choice(content=None, text=None),
    "empty": _with_choice(content="", text=""),
    "blank": _with_choice(content=" \n\t ", text=" \n"),
    "reasoning_only": _with_choice(content=None, reasoning_content="hmm", finish_reason="length"),
    "refusal": _with_choice(content=None, refusal="I cannot help with that."),
    "filtered": _with_choice(content="", finish_reason="content_filter"),
    "abort": _with_choice(finish_reason="abort"),
    "no_finish": _with_choice(finish_reason=None),
    "parts": _with_choice(content=[{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}]),
    "no_choices": _with_reply(choices=[]),
    "null_choices": _with_reply(choices=None),
    "error_200": _only({"error": {"message": "upstream is overloaded", "type": "server_error"}}),
    "error_200_code": _only({"error": {"message": "slow down", "code": 429}}),
    "list": _only([1, 2]),
}
