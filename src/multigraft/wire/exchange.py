"""One POST: sent once, read up to a limit, and made a reply or a failure of."""

import asyncio
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from yarl import URL

from multigraft.types import Failure, FailureKind, Json
from multigraft.wire import body as json_body
from multigraft.wire.classify import carries_error, classify
from multigraft.wire.retry_after import CAP_S, retry_after_s
from multigraft.wire.secret import struck, struck_bytes

_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_ERROR_BODY_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Reply:
    """A JSON object a server answered with, status 2xx."""

    status: int
    headers: Mapping[str, str]
    body: dict[str, Json]
    endpoint: str
    """URL of the endpoint that answered."""
    latency_s: float
    normalised: bool = False
    """The body held lone surrogates, invalid UTF-8 or numbers that are none; they were replaced (see `wire/body.py`)."""


@dataclass(frozen=True, slots=True)
class Exchanged:
    """How a POST ended, with what only the choice of endpoints needs to know."""

    result: Reply | Failure
    never_sent: bool = False
    """No connection came about, so the server knows nothing of the call."""
    asked_wait_s: float | None = None
    """What the server asked for, before any cap."""


async def exchange(
    session: aiohttp.ClientSession,
    url: URL,
    endpoint: str,
    headers: Mapping[str, str],
    data: bytes,
    *,
    secret: str | None = None,
    limits: aiohttp.ClientTimeout,
    max_body_bytes: int,
) -> Exchanged:
    """POST once. Never raises for what a server or a network did; cancelling closes the connection.

    Args:
        session: an open session that does not decompress.
        url: where to.
        endpoint: name of the endpoint in the result.
        headers: of the request.
        data: a JSON body.
        secret: a key to strike out of whatever the server sends back.
        limits: of the whole attempt, and of connecting.
        max_body_bytes: limit of the response body, also after decompression.

    Returns:
        A reply, or a failure.
    """
    started = time.monotonic()
    try:
        response = await session.post(url, data=data, headers=headers, timeout=limits, allow_redirects=False)
        try:
            raw = await _read(response, max_body_bytes)
        finally:
            response.release()  # closes the connection unless the body was read to its end
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
        failure = _failure(FailureKind.CONNECTION, f"cannot connect: {_reason(error, secret)}", endpoint, started)
        return Exchanged(failure, never_sent=True)
    except TimeoutError:
        failure = _failure(FailureKind.TIMEOUT, f"no complete answer within {limits.total} s", endpoint, started, possibly_billed=True)
        return Exchanged(failure)
    except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
        failure = _failure(FailureKind.CONNECTION, f"the connection broke: {_reason(error, secret)}", endpoint, started, possibly_billed=True)
        return Exchanged(failure)
    return _judged(response, raw, endpoint, time.monotonic() - started, secret)


def _judged(response: aiohttp.ClientResponse, raw: bytes | FailureKind, endpoint: str, latency_s: float, secret: str | None) -> Exchanged:
    status, headers = response.status, response.headers
    if isinstance(raw, FailureKind):
        too_large = raw is FailureKind.TOO_LARGE
        message = "the answer exceeds the size limit" if too_large else f"unreadable content-encoding {headers.get('content-encoding', '')[:40]!r}"
        return Exchanged(Failure(raw, message, retryable=not too_large, possibly_billed=True, endpoint=endpoint, latency_s=latency_s))
    if json_body.has_too_many_values(raw):
        message = "the answer holds more values than any answer has"
        return Exchanged(Failure(FailureKind.TOO_LARGE, message, possibly_billed=True, endpoint=endpoint, latency_s=latency_s))
    if secret is not None:
        raw = struck_bytes(raw, secret.encode())
    parsed = json_body.parse(raw)
    if parsed is not None and isinstance(parsed.value, dict) and 200 <= status < 300 and not carries_error(parsed.value):
        return Exchanged(Reply(status, headers, parsed.value, endpoint, latency_s, parsed.normalised))
    text = raw[:_ERROR_BODY_BYTES].decode("utf-8", "replace")
    if 200 <= status < 300 and (parsed is None or not isinstance(parsed.value, dict)):
        message = f"HTTP {status} with a body that is no JSON object: {text[:80]!r}"
        return Exchanged(Failure(FailureKind.MALFORMED, message, retryable=True, possibly_billed=True, endpoint=endpoint, latency_s=latency_s))
    failure = classify(status, None if parsed is None else parsed.value, text, secret=secret)
    asked = retry_after_s(headers)
    retryable = failure.retryable and headers.get("x-should-retry") != "false"
    return Exchanged(
        Failure(
            failure.kind,
            failure.message,
            retryable=retryable,
            retry_after_s=None if asked is None else min(asked, CAP_S),
            possibly_billed=failure.possibly_billed,
            endpoint=endpoint,
            latency_s=latency_s,
        ),
        asked_wait_s=asked,
    )


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes | FailureKind:
    encoding = response.headers.get("content-encoding", "identity").lower()
    length = response.content_length
    if length is not None and length > limit:
        return FailureKind.TOO_LARGE
    if encoding == "identity" and length is not None:
        return await response.read()
    if encoding not in _WINDOW_BITS and encoding != "identity":
        return FailureKind.MALFORMED
    unpack = zlib.decompressobj(wbits=_WINDOW_BITS[encoding]) if encoding != "identity" else None
    parts: list[bytes] = []
    total = 0
    while part := await response.content.readany():
        if unpack is not None:
            try:
                part = unpack.decompress(part, limit + 1 - total)
            except zlib.error:
                return FailureKind.MALFORMED
        total += len(part)
        if total > limit:
            return FailureKind.TOO_LARGE
        parts.append(part)
        if unpack is not None and unpack.eof:
            break
    return b"".join(parts)


def _failure(kind: FailureKind, message: str, endpoint: str, started: float, *, possibly_billed: bool = False) -> Failure:
    return Failure(kind, message, retryable=True, possibly_billed=possibly_billed, endpoint=endpoint, latency_s=time.monotonic() - started)


def _reason(error: BaseException, secret: str | None) -> str:
    return struck(str(error) or type(error).__name__, secret)[:200]
