"""How many may run at once: numbered slots, the lowest free one first."""

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """Slots of one event loop at a time; where another loop comes, those waiting on the old one are forgotten with it.

    Args:
        count: of slots; >= 1.
    """

    def __init__(self, count: int) -> None:
        self._free = list(range(count))
        self._waiting: list[asyncio.Future[int]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[int]:
        """Wait for a slot, in the order of asking, and give it back at the end."""
        slot = await self._take()
        try:
            yield slot
        finally:
            self._give_back(slot)

    async def _take(self) -> int:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._waiting = loop, []
        if self._free:
            return heapq.heappop(self._free)
        future: asyncio.Future[int] = loop.create_future()
        self._waiting.append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self._give_back(future.result())
            raise

    def _give_back(self, slot: int) -> None:
        while self._waiting:
            future = self._waiting.pop(0)
            if not future.done():
                future.set_result(slot)
                return
        heapq.heappush(self._free, slot)
