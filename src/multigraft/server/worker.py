"""The thread a scorer lives in. A scorer that computes on the spot blocks its own event loop, never the server's, which must go on answering."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """An event loop in a thread of its own; it does not keep the process alive."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="scorer", daemon=True)

    @property
    def alive(self) -> bool:
        """Whether it takes work."""
        return self._thread.is_alive() and not self._loop.is_closed()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread, and wait for it in the caller's loop; cancelling cancels it there."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def close(self, wait_s: float) -> bool:
        """End the thread.

        Args:
            wait_s: how long what it is doing may take to end.

        Returns:
            Whether it ended.
        """
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join, wait_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()
