"""Interruptions: the first one stops a run gently, a second one at once."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
"""Exit codes, as shells expect them."""


class Interruption:
    """What came of listening."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        """None while nothing came."""


@contextmanager
def heeded(stop: Callable[[str], None], say: Callable[[str], None]) -> Iterator[Interruption]:
    """Listen for interruptions while the block runs, in a running event loop.

    Args:
        stop: called at the first one, with a reason.
        say: shows a line.
    """
    interruption = Interruption()

    def come(number: int) -> None:
        code = CODES[signal.Signals(number)]
        if interruption.exit_code is not None:
            os._exit(code)  # the record is consistent at every moment; child processes end with this one
        interruption.exit_code = code
        say("stopping: calls in flight are given a few seconds to end, and their answers are kept. Interrupt again to leave at once.")
        stop("interrupted")

    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in CODES}
    for number in CODES:
        try:
            loop.add_signal_handler(number, come, number)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda came, _frame: loop.call_soon_threadsafe(come, came))
    try:
        yield interruption
    finally:
        for number in CODES:
            try:
                loop.remove_signal_handler(number)
            except NotImplementedError:
                signal.signal(number, before[number])
