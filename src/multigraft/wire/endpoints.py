"""The endpoints of one model or scorer: choosing one for each call, waiting while none takes calls, and posting."""

import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeAlias

import aiohttp

from multigraft.types import Failure, Json
from multigraft.wire import body as json_body
from multigraft.wire.endpoint import Endpoint
from multigraft.wire.exchange import Exchanged, Reply, exchange
from multigraft.wire.lane import Lane, Place
from multigraft.wire.waiting_line import WaitingLine

__all__ = ["Body", "Endpoint", "Endpoints", "Reply"]

Body: TypeAlias = "Mapping[str, Json] | Callable[[str], Awaitable[Mapping[str, Json]]]"
"""What is posted; or a coroutine function of the URL of the chosen endpoint that makes it, for servers that differ in what they take."""

_KEEP_ALIVE_S = 4.0
"""Less than the five seconds after which common servers close an idle connection, so that none is used as it closes."""
_PROBE_LATENCIES = 4.0
_SHORTEST_PROBE_S = 5.0


class Endpoints:
    """One or several servers of the same model.

    A call goes to the least loaded server that takes calls, and waits while there is none: until a rate limit allows it, until one has room, or until one
    that broke down is back. A call that could not even connect was never sent, so it goes on waiting rather than fail.

    Args:
        endpoints: at least one, with distinct URLs or keys.
        name: of the model or scorer, for messages.
        attempt_timeout_s: limit of one POST from connecting to the last byte; > 0.
        give_up_s: how long a call waits while no endpoint works; > 0.
        first_contact_s: the same as long as no endpoint has answered at all, since then an address is probably wrong; > 0.
        connect_timeout_s: limit of connecting; > 0.
        max_body_bytes: limit of a response body, also after decompression.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        name: str,
        attempt_timeout_s: float = 600.0,
        give_up_s: float = 600.0,
        first_contact_s: float = 60.0,
        connect_timeout_s: float = 10.0,
        max_body_bytes: int = 32 * 2**20,
    ) -> None:
        if not endpoints:
            message = f"model or scorer '{name}' has no endpoint; give at least one URL"
            raise ValueError(message)
        for setting, value in (("attempt_timeout_s", attempt_timeout_s), ("give_up_s", give_up_s), ("first_contact_s", first_contact_s)):
            if not value > 0.0:
                message = f"{setting} must be above 0, not {value}"
                raise ValueError(message)
        self.name = name
        room = _connections_allowed() // len(endpoints)
        self._lanes = tuple(Lane(endpoint, max(1, room)) for endpoint in endpoints)
        self._attempt_timeout_s = attempt_timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._limits = self._limited(attempt_timeout_s)
        self._max_body_bytes = max_body_bytes
        self._session: aiohttp.ClientSession | None = None
        self._line = WaitingLine(self._lanes, name=name, give_up_s=give_up_s, first_contact_s=min(first_contact_s, give_up_s))

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs of the endpoints."""
        return tuple(lane.name for lane in self._lanes)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The state of each endpoint, to look at."""
        return self._lanes

    def apart(self, *, attempt_timeout_s: float = 60.0, give_up_s: float = 5.0) -> "list[Endpoints]":
        """Make one for each endpoint, to see what each does by itself.

        Args:
            attempt_timeout_s: limit of one POST, unless this one's own is shorter.
            give_up_s: how long a call waits while the endpoint does not work.
        """
        timeout_s = min(attempt_timeout_s, self._attempt_timeout_s)
        return [Endpoints([lane.endpoint], name=self.name, attempt_timeout_s=timeout_s, give_up_s=give_up_s) for lane in self._lanes]

    async def post(self, path: str, body: Body) -> Reply | Failure:
        """POST once, to the least loaded endpoint that takes calls. Cancelling closes the connection.

        Args:
            path: such as `/v1/chat/completions`.
            body: what to send.

        Returns:
            The reply of a server that answered with a JSON object, or why there is none. Never raises for what a server or a network did.
        """
        while True:
            place = self._line.at_once(path) or await self._line.turn(path)
            if isinstance(place, Failure):
                return place
            done = await self._sent(place, path, body)
            if not done.never_sent:
                return self._told(place.lane, path, done.result)

    async def _sent(self, place: Place, path: str, body: Body) -> Exchanged:
        lane = place.lane
        try:
            data = json_body.dump(await body(lane.name) if callable(body) else body)
            done = await exchange(
                self._session or self._opened(),
                lane.address(path),
                lane.name,
                lane.headers,
                data,
                secret=lane.endpoint.key,
                limits=self._probe_limits() if place.probe else self._limits,
                max_body_bytes=self._max_body_bytes,
            )
        except BaseException:
            lane.drop(place, time.monotonic())
            self._line.advance()
            raise
        lane.settle(place, path, done, time.monotonic())
        self._line.answered(done)
        return done

    def _told(self, lane: Lane, path: str, result: Reply | Failure) -> Reply | Failure:
        # What one server refuses for good, another may take.
        if isinstance(result, Reply) or result.retryable or lane.closed_to(path) is None:
            return result
        return replace(result, retryable=any(other.closed_to(path) is None for other in self._lanes))

    def _opened(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S)
        self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(), timeout=self._limits)
        return self._session

    def _probe_limits(self) -> aiohttp.ClientTimeout:
        # A server that hangs must not keep its probe for as long as the longest answer may take, or it is found to be back much too late.
        means = [lane.latency_s for lane in self._lanes if lane.latency_s is not None]
        if not means:
            return self._limits
        return self._limited(min(self._attempt_timeout_s, max(_SHORTEST_PROBE_S, _PROBE_LATENCIES * max(means))))

    def _limited(self, attempt_timeout_s: float) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(total=attempt_timeout_s, sock_connect=self._connect_timeout_s, ceil_threshold=60.0)

    async def close(self) -> None:
        """Close all connections; calls that wait fail."""
        self._line.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def _connections_allowed() -> int:
    """Half of the file descriptors this process may have, so that connections never run out of them."""
    if sys.platform == "win32":
        return 4096
    import resource  # noqa: PLC0415 - not there on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else max(8, soft // 2)
