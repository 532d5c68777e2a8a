"""Learning what endpoints take without a storm of refused calls."""

import asyncio
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from multigraft.models.capabilities import Capabilities, Feature


@dataclass(slots=True)
class _Explored:
    capabilities: Capabilities = field(default_factory=Capabilities)
    first: asyncio.Event | None = None
    """Set when the call that explores has its answer; None while none does."""
    slow: bool = False
    """That call takes its time, so nobody waits for it any longer."""


class Exploration:
    """The capabilities of every endpoint of a model, and who may try what is not known yet.

    Args:
        patience_s: how long other calls wait for the first answer of an endpoint before they are sent as well. Refusals come at once, answers may take minutes.
    """

    def __init__(self, *, patience_s: float = 2.0) -> None:
        self._patience_s = patience_s
        self._endpoints: dict[str, _Explored] = {}

    def of(self, endpoint: str) -> Capabilities:
        """Return what is known of an endpoint."""
        return self._at(endpoint).capabilities

    async def admitted(self, endpoint: str, used: AbstractSet[Feature]) -> asyncio.Event | None:
        """Wait, for a short while, until what a call uses is known at its endpoint.

        Args:
            endpoint: where the call goes.
            used: features of the call.

        Returns:
            An event to set when the call has its answer, if it is the one that explores; None if it is not.
        """
        explored = self._at(endpoint)
        while explored.capabilities.unknown(used):
            if explored.first is None:
                explored.first = asyncio.Event()
                explored.slow = False
                return explored.first
            if explored.slow:
                break
            try:
                async with asyncio.timeout(self._patience_s):
                    await explored.first.wait()
            except TimeoutError:
                explored.slow = True
        return None

    def done(self, endpoint: str, event: asyncio.Event | None) -> None:
        """End what `admitted` began, whatever came of the call."""
        if event is not None:
            event.set()
            self._at(endpoint).first = None

    def _at(self, endpoint: str) -> _Explored:
        explored = self._endpoints.get(endpoint)
        if explored is None:
            explored = self._endpoints[endpoint] = _Explored()
        return explored
