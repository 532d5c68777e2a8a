"""Reading what a process writes and writing what it reads, without ever waiting for it."""

import asyncio
import os
from collections.abc import Callable

_PART_BYTES = 1 << 16


class Incoming:
    """What comes out of a pipe, up to a bound; above it the pipe is closed, so that a flood costs its writer and nobody else.

    Args:
        descriptor: the reading end; owned from here on.
        most_bytes: kept at most.
        on_data: called whenever there is more.
    """

    def __init__(self, descriptor: int, most_bytes: int, on_data: Callable[[], None] | None = None) -> None:
        self.data = bytearray()
        self.truncated = False
        self.ended = asyncio.Event()
        self._descriptor, self._most_bytes, self._on_data = descriptor, most_bytes, on_data
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def text(self) -> str:
        """Return what came, with bytes that are no UTF-8 written out."""
        return self.data.decode("utf-8", "backslashreplace")

    def close(self) -> None:
        """Read no more."""
        if not self.ended.is_set():
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self.ended.set()

    def take(self) -> None:
        """Take what is in the pipe now."""
        while not self.ended.is_set() and self._read():
            pass

    def finish(self) -> None:
        """Take what is still in the pipe after the writer is dead, then close."""
        self.take()
        self.close()

    def _read(self) -> bool:
        try:
            part = os.read(self._descriptor, _PART_BYTES)
        except BlockingIOError:
            return False
        room = self._most_bytes - len(self.data)
        self.data += part[:room]
        self.truncated = self.truncated or len(part) > room
        if not part or self.truncated:
            self.close()
        if self._on_data is not None:
            self._on_data()
        return bool(part)


class Outgoing:
    """A pipe to a process; closed once everything is written, or when nobody reads any more.

    Args:
        descriptor: the writing end; owned from here on.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        self._rest = memoryview(b"")
        self._loop = asyncio.get_running_loop()
        self._waiting = False
        os.set_blocking(descriptor, False)

    def send(self, data: bytes) -> None:
        """Write this, as fast as it is read, and close; to be called once."""
        self._rest = memoryview(data)
        self._write()

    def close(self) -> None:
        """Write no more."""
        if self._descriptor is not None:
            if self._waiting:
                self._loop.remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self) -> None:
        if self._descriptor is None:
            return
        try:
            while self._rest:
                self._rest = self._rest[os.write(self._descriptor, self._rest) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._rest = memoryview(b"")
        if not self._rest:
            self.close()
        elif not self._waiting:
            self._waiting = True
            self._loop.add_writer(self._descriptor, self._write)
