"""The endpoints of one model or scorer: choosing one for each call, waiting while none takes calls, and posting."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeAlias

import aiohttp
from yarl import URL

from multigraft.types import Failure, Json
from multigraft.wire import body as json_body
from multigraft.wire.exchange import Reply, exchange

Body: TypeAlias = "Mapping[str, Json] | Callable[[str], Awaitable[Mapping[str, Json]]]"
"""What is posted; or a coroutine function of the URL of the chosen endpoint that makes it, for servers that differ in what they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One server."""

    url: str
    """Base URL, such as `http://127.0.0.1:8000`; a path of a call is appended."""
    key: str | None = field(default=None, repr=False)
    """Sent as a bearer token, and nowhere else."""
    max_in_flight: int = 256
    """The most calls at once; >= 1."""


class Endpoints:
    """One or several servers of the same model.

    Args:
        endpoints: at least one.
        name: of the model or scorer, for messages.
        attempt_timeout_s: limit of one POST from connecting to the last byte.
        give_up_s: how long a call waits while no endpoint takes calls.
        max_body_bytes: limit of a response body, also after decompression.
    """

    def __init__(
        self, endpoints: Sequence[Endpoint], *, name: str, attempt_timeout_s: float = 600.0, give_up_s: float = 600.0, max_body_bytes: int = 32 * 2**20
    ) -> None:
        self.name = name
        self._endpoints = tuple(endpoints)
        self._timeout = aiohttp.ClientTimeout(total=attempt_timeout_s, sock_connect=10.0)
        self._max_body_bytes = max_body_bytes
        self._session: aiohttp.ClientSession | None = None

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs of the endpoints."""
        return tuple(endpoint.url for endpoint in self._endpoints)

    async def post(self, path: str, body: Body) -> Reply | Failure:
        """POST once, to the least loaded endpoint that takes calls."""
        endpoint = self._endpoints[0]
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if endpoint.key is not None:
            headers["authorization"] = f"Bearer {endpoint.key}"
        if self._session is None:
            self._session = aiohttp.ClientSession(auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar())
        data = json_body.dump(await body(endpoint.url) if callable(body) else body)
        done = await exchange(self._session, URL(endpoint.url + path), endpoint.url, headers, data, limits=self._timeout, max_body_bytes=self._max_body_bytes)
        return done.result

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
