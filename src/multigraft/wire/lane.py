"""The state of one endpoint: what is under way, what it can take, and whether it takes calls at all."""

from dataclasses import dataclass
from math import inf

from yarl import URL

from multigraft.types import Failure, FailureKind
from multigraft.wire.breaker import Breaker, Condition
from multigraft.wire.endpoint import Endpoint
from multigraft.wire.exchange import Exchanged, Reply
from multigraft.wire.retry_after import CAP_S
from multigraft.wire.throttle import Throttle

_BROKEN = frozenset({FailureKind.CONNECTION, FailureKind.TIMEOUT, FailureKind.SERVER, FailureKind.MALFORMED})
_FOR_THE_RUN = frozenset({FailureKind.AUTH, FailureKind.QUOTA})
_LONGEST_PARK_S = 3600.0
_LATENCY_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class Place:
    """A call's place at an endpoint, from being admitted to its end."""

    lane: "Lane"
    sent_at: float
    probe: bool


class Lane:
    """One endpoint at work.

    Args:
        endpoint: as the user describes it.
        max_in_flight: the most calls at once, if less than the endpoint's own number.
    """

    def __init__(self, endpoint: Endpoint, max_in_flight: int) -> None:
        self.endpoint = endpoint
        self.name = endpoint.url
        self.headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if endpoint.key is not None:
            self.headers["authorization"] = f"Bearer {endpoint.key}"
        self.in_flight = 0
        self.breaker = Breaker()
        self.throttle = Throttle(max_in_flight=min(endpoint.max_in_flight, max_in_flight), start_in_flight=endpoint.start_in_flight)
        self.disabled: Failure | None = None
        """Why it takes no calls for the rest of the run."""
        self.missing: dict[str, Failure] = {}
        """Paths it does not have."""
        self.last_failure: Failure | None = None
        self.latency_s: float | None = None
        """Running mean over its answers."""
        self._addresses: dict[str, URL] = {}

    def address(self, path: str) -> URL:
        """Return where a path is posted to."""
        address = self._addresses.get(path)
        if address is None:
            address = self._addresses[path] = self.endpoint.address(path)
        return address

    def closed_to(self, path: str) -> Failure | None:
        """Return why no call of this path will ever be taken again; None when it may."""
        return self.disabled or (self.missing.get(path) if self.missing else None)

    def opens_in_s(self, now: float) -> float:
        """Seconds until a call may be sent; infinite if that depends on the end of another."""
        if self.disabled is not None:
            return inf
        return max(self.breaker.opens_in_s(now), self.throttle.opens_in_s(now, self.in_flight))

    def works(self, now: float) -> bool:
        """Whether calls that wait for it wait for room only, or for no longer than a server may ask for."""
        return self.disabled is None and self.breaker.condition is Condition.CLOSED and self.throttle.parked_until - now <= CAP_S

    def admit(self, now: float) -> Place:
        """Give a call its place, after `opens_in_s` was 0."""
        self.in_flight += 1
        self.throttle.sent(now, self.in_flight)
        return Place(self, now, self.breaker.sent())

    def drop(self, place: Place, now: float) -> None:
        """End a call that says nothing of the server: it was cancelled, or never made."""
        self.in_flight -= 1
        self.breaker.dropped(now, probe=place.probe)

    def settle(self, place: Place, path: str, done: Exchanged, now: float) -> None:
        """Take in how a call ended."""
        result = done.result
        if isinstance(result, Reply):
            self.throttle.succeeded()
            self.breaker.succeeded()
            mean = self.latency_s
            self.latency_s = result.latency_s if mean is None else mean + _LATENCY_WEIGHT * (result.latency_s - mean)
        else:
            self._fail(place, path, done, result, now)
        self.in_flight -= 1

    def _fail(self, place: Place, path: str, done: Exchanged, failure: Failure, now: float) -> None:
        kind, asked = failure.kind, done.asked_wait_s
        if asked is not None:
            asked = min(asked, _LONGEST_PARK_S)
        if kind is FailureKind.RATE_LIMIT:
            self.throttle.refused(now, place.sent_at, self.in_flight, asked)
        elif asked is not None and failure.retryable:
            self.throttle.park(now + asked)
        if kind in _BROKEN:
            self.last_failure = failure
            self.breaker.failed(now, probe=place.probe)
            return
        if kind in _FOR_THE_RUN:
            self.disabled = failure
        elif kind is FailureKind.NOT_FOUND:
            self.missing[path] = failure
        self.breaker.succeeded()
