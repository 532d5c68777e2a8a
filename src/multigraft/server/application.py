"""The routes of a reward server, and what stands before all of them: the guard, the limits, and errors in one form."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from math import ceil
from typing import TypeAlias

import orjson
from aiohttp import web

from multigraft.server import reading, writing
from multigraft.server.batching import Batcher, ClosedError, FullError
from multigraft.server.body import BodyError, read
from multigraft.server.guard import OPEN_ROUTE, Guard
from multigraft.types import Candidate, Json, Score

_LOG = logging.getLogger(__name__)
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
Reader: TypeAlias = Callable[[Mapping[str, Json]], Sequence[Candidate]]
_LARGEST_BODIES_HELD = 16
ANY_MODEL = "default"
"""What a request may name whose sender does not mind which scorer is behind the address."""


class Service:
    """What the routes do.

    Args:
        batcher: a started one.
        guard: who may ask.
        max_body_bytes: limit of a request's body, also after decompression; >= 1.
        also: further names a request may know the scorer by.
    """

    def __init__(self, batcher: Batcher, guard: Guard, *, max_body_bytes: int, also: Sequence[str] = ()) -> None:
        self.closing = False
        """Set when the server is to end: nothing new is taken."""
        self.in_flight = 0
        """Requests being answered."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._held_bytes = 0
        self._batcher = batcher
        self._guard = guard
        self._max_body_bytes = max_body_bytes
        reward = batcher.reward
        self._name, self._version = reward.name, reward.version
        self._known = (self._name, f"{self._name}@{self._version}", *also, ANY_MODEL)

    def application(self) -> web.Application:
        """Make the application."""
        application = web.Application(middlewares=[self._guarded])
        application.router.add_get(OPEN_ROUTE, self._health)
        application.router.add_get("/v1/models", self._models)
        application.router.add_get("/stats", self._stats)
        application.router.add_post("/multigraft/score", self._route(reading.whole, writing.whole))
        for path in ("/score", "/v1/score"):
            application.router.add_post(path, self._route(reading.pairs, writing.pairs))
        application.router.add_post("/classify", self._classify)
        application.router.add_post("/v1/classify", self._route(reading.conversations, writing.classes))
        application.router.add_post("/pooling", self._route(reading.conversations, writing.vectors))
        return application

    async def drained(self, wait_s: float) -> bool:
        """Take nothing new, and wait until no request is being answered.

        Args:
            wait_s: at most so long.

        Returns:
            Whether none is.
        """
        self.closing = True
        try:
            async with asyncio.timeout(wait_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        refused = self._refused(request)
        if refused is not None:
            return refused
        if self.closing:
            return _error(503, "the server is stopping", {"Retry-After": "5", "Connection": "close"})
        self.in_flight += 1
        self._idle.clear()
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001 - a mistake of the program must not show its inside to a client
            return _failed(error)
        finally:
            self.in_flight -= 1
            if not self.in_flight:
                self._idle.set()

    def _refused(self, request: web.Request) -> web.Response | None:
        headers = request.headers
        if self._guard.refuses(headers.get("host"), headers.get("origin")):
            return _error(403, "this server is not reached by that name; name it with --allow-host")
        if request.method == "POST" and request.content_type != "application/json":
            # The types a web page may send anywhere without being asked.
            return _error(403, "the content type must be application/json")
        if request.path != OPEN_ROUTE and not self._guard.opens(headers.get("authorization")):
            return _error(401, "unauthorised", {"WWW-Authenticate": "Bearer"})
        return None

    async def _health(self, _: web.Request) -> web.Response:
        healthy = await self._batcher.healthy()
        return _reply({"status": "ok" if healthy else "the scorer does not work"}, 200 if healthy else 503)

    async def _models(self, _: web.Request) -> web.Response:
        model: Json = {"id": self._name, "object": "model", "owned_by": "multigraft", "version": self._version, "max_batch": self._batcher.max_batch}
        return _reply({"object": "list", "data": [model]})

    async def _stats(self, _: web.Request) -> web.Response:
        return _reply({"waiting": self._batcher.waiting, "in_flight": self.in_flight, **asdict(self._batcher.counts)})

    async def _classify(self, request: web.Request) -> web.Response:
        """Answer in the shape of vLLM or of SGLang, which share the path."""
        async with self._body(request) as body:
            if "text" in body:
                return await self._scored(body, reading.conversation, writing.embedding)
            return await self._scored(body, reading.conversations, writing.classes)

    def _route(self, reader: Reader, writer: writing.Writer) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            async with self._body(request) as body:
                return await self._scored(body, reader, writer)

        return handle

    @asynccontextmanager
    async def _body(self, request: web.Request) -> AsyncIterator[Mapping[str, Json]]:
        """Read a body; the bodies of all requests that are being answered have room for so many of the largest."""
        sent = request.content_length if "content-encoding" not in request.headers else None
        size = self._max_body_bytes if sent is None else min(sent, self._max_body_bytes)
        if self._held_bytes + size > _LARGEST_BODIES_HELD * self._max_body_bytes:
            raise FullError(1.0)
        self._held_bytes += size
        try:
            yield await read(request, self._max_body_bytes)
        finally:
            self._held_bytes -= size

    async def _scored(self, body: Mapping[str, Json], reader: Reader, writer: writing.Writer) -> web.Response:
        model = reading.model_of(body)
        if model is not None and model not in self._known:
            return _error(404, f"there is no model {model[:100]!r} here; there is {', '.join(map(repr, self._known))}")
        candidates = reader(body)
        if len(candidates) > self._batcher.max_waiting:
            return _error(413, f"{len(candidates)} candidates are more than the queue holds ({self._batcher.max_waiting}); send fewer at once")
        scores = await self._batcher.scores(candidates)
        if writer is not writing.whole and (missing := _missing(scores)):
            return _error(503, missing.message or "the scorer failed", {"Retry-After": "1"})
        return _reply(writer(scores, self._name, self._version))


def _missing(scores: Sequence[Score]) -> Score | None:
    """Find a score that is missing for a passing reason, which the routes of others have no word for."""
    return next((score for score in scores if score.value is None and score.retryable), None)


def _failed(error: Exception) -> web.Response:
    """Say why a request has no answer."""
    match error:
        case web.HTTPException():
            return _error(error.status, "there is no such route" if error.status == 404 else error.reason)
        case BodyError():
            reply = _error(error.status, str(error))
            reply.force_close()  # what is left of the body is not read
            return reply
        case FullError():
            return _error(429, str(error), {"Retry-After": str(ceil(error.retry_after_s))})
        case ClosedError():
            return _error(503, "the scorer has ended")
    _LOG.error("a request failed", exc_info=error)
    return _error(500, "the server failed; its log tells more")


def _reply(body: Mapping[str, Json], status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    # orjson writes no NaN: what is no number would be null.
    # What software runs here, and which version, is nobody's business.
    return web.Response(body=orjson.dumps(body), status=status, headers={"Server": "multigraft", **(headers or {})}, content_type="application/json")


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return _reply({"error": {"message": message, "type": _KINDS.get(status, "error"), "code": status}}, status, headers)


_KINDS = {400: "bad_request", 401: "unauthorised", 403: "forbidden", 404: "not_found", 413: "too_large", 429: "rate_limit", 503: "unavailable"}
