"""Running a reward server: listening, saying where, and ending within ten seconds of being asked to."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from multigraft.errors import MultigraftError, boundary
from multigraft.server.application import Service
from multigraft.server.batching import Batcher
from multigraft.server.guard import Guard
from multigraft.types import Json, Reward

DRAIN_S = 8.0
"""How long requests may take to be answered after a signal; leaves a while for the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Of one server."""

    guard: Guard
    port: int = 0
    """0: any free one."""
    max_body_bytes: int = 16 * 2**20
    """Of a request, also after decompression."""
    max_waiting: int = 1024
    """Candidates in the queue."""
    max_batch: int | None = None
    """None: what the scorer takes."""
    max_wait_s: float = 0.0
    """How long a batch that is not full waits for more."""
    also: Sequence[str] = ()
    """Further names the scorer goes by."""


async def serve(reward: Reward, settings: Settings, say: Callable[[dict[str, Json]], None], opened: Sequence[object] | None = None) -> bool:
    """Serve a scorer until SIGINT or SIGTERM; a second one ends the process at once.

    Args:
        reward: not yet started.
        settings: of the server.
        say: is told where it listens, once it does.
        opened: see `Batcher`.

    Returns:
        Whether every request had its answer.

    Raises:
        MultigraftError: the scorer does not start, or the address cannot be listened on.
    """
    batcher = Batcher(reward, opened=opened, max_batch=settings.max_batch, max_waiting=settings.max_waiting, max_wait_s=settings.max_wait_s)
    with boundary(MultigraftError, f"starting '{reward.name}'", Exception):
        await batcher.start()
    service = Service(batcher, settings.guard, max_body_bytes=settings.max_body_bytes, also=settings.also)
    # Requests are unpacked by `body`, under its limit; a client that leaves frees its places.
    runner = web.AppRunner(
        service.application(), handler_cancellation=True, auto_decompress=False, access_log=None, shutdown_timeout=0.5, lingering_time=1.0, handle_signals=False
    )
    await runner.setup()
    stopped = _stopped()
    try:
        with boundary(MultigraftError, f"listening on {settings.guard.host}:{settings.port}", OSError):
            await web.TCPSite(runner, settings.guard.host, settings.port).start()
        say({"address": _address(runner), "name": reward.name, "version": reward.version, "max_batch": batcher.max_batch})
        await stopped.wait()
        answered = await service.drained(DRAIN_S)
    finally:
        await runner.cleanup()
        ended = await batcher.close(1.0)
    return answered and ended


def _stopped() -> asyncio.Event:
    """Make an event that the first signal sets; the second has its usual effect."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()

    def come() -> None:
        event.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, come)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(event.set))
    return event


def _address(runner: web.AppRunner) -> str:
    host, port = runner.addresses[0][:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
