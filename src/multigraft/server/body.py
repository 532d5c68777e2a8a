"""Reading a request's body within limits: of its size as sent, of its size when unpacked, and of the time it takes to come."""

import asyncio
import zlib
from typing import Final

from aiohttp import web

from multigraft.types import Json
from multigraft.wire.body import has_too_many_values, parse

_WINDOW_BITS: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class BodyError(Exception):
    """A body that is not taken.

    Args:
        status: HTTP status of the reply.
        message: what is wrong, and what to do.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read(request: web.Request, max_bytes: int, *, timeout_s: float = 60.0) -> dict[str, Json]:
    """Read a JSON object.

    Args:
        request: whose body has not been touched; the server must not unpack it by itself.
        max_bytes: limit of the body, also after decompression.
        timeout_s: how long it may take to arrive.

    Raises:
        BodyError: it is too large, too slow, holds too many values, packed in an unknown way, or no JSON object.
    """
    try:
        async with asyncio.timeout(timeout_s):
            data = await _bytes(request, max_bytes)
    except TimeoutError as error:
        message = f"the body did not arrive within {timeout_s:g} s"
        raise BodyError(408, message) from error
    if has_too_many_values(data):
        message = "the body holds too many values; send fewer candidates"
        raise BodyError(413, message)
    parsed = parse(data)
    if parsed is None or not isinstance(parsed.value, dict):
        message = "the body must be a JSON object"
        raise BodyError(400, message)
    return parsed.value


async def _bytes(request: web.Request, max_bytes: int) -> bytes:
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in _WINDOW_BITS and encoding != "identity":
        message = f"unknown content-encoding {encoding[:40]!r}; send gzip, deflate or none"
        raise BodyError(415, message)
    if request.content_length is not None and request.content_length > max_bytes:
        raise _too_large(max_bytes)
    unpack = zlib.decompressobj(wbits=_WINDOW_BITS[encoding]) if encoding in _WINDOW_BITS else None
    parts: list[bytes] = []
    sent = total = 0
    while part := await request.content.readany():
        sent += len(part)
        if unpack is not None:
            try:
                part = unpack.decompress(part, max_bytes + 1 - total)
            except zlib.error as error:
                message = f"the body is no {encoding}"
                raise BodyError(400, message) from error
        total += len(part)
        if total > max_bytes or sent > max_bytes:
            raise _too_large(max_bytes)
        parts.append(part)
    if unpack is not None and not unpack.eof:
        message = f"the body is not a whole {encoding} stream"
        raise BodyError(400, message)
    return b"".join(parts)


def _too_large(max_bytes: int) -> BodyError:
    return BodyError(413, f"the body exceeds {max_bytes / 2**20:g} MB; send fewer candidates, or start the server with a larger --max-body-mb")
