"""One process behind the walls: started, told what to run once it is ready, and ended without a trace."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from multigraft.sandbox.inside.boot import READY
from multigraft.sandbox.pipes import Incoming, Outgoing
from multigraft.sandbox.walls import child_pid

_MOST_REPORT_BYTES = 1 << 20
_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a process starts."""

    command: Sequence[str]
    environment: dict[str, str]
    report: tuple[int, int]
    """Both ends of the pipe on which it reports: reading, writing."""
    handed_over: tuple[int, ...]
    """Descriptors it inherits, by their numbers here; they stay the caller's."""
    keeps_output: bool
    output_bytes: int


class SandboxedProcess:
    """A live process. Everything about it ends with `end`.

    Args:
        start: how it starts.
    """

    def __init__(self, start: Start) -> None:
        self._pipes: list[int] = []
        self._changed = asyncio.Event()
        self._gone = asyncio.Event()
        job_reads, job_writes = os.pipe()
        errors_read, errors_write = os.pipe()
        output_reads, output_writes = os.pipe() if start.keeps_output else (-1, subprocess.DEVNULL)
        try:
            # In a session of its own, so that a signal from the keyboard is ours alone; bubblewrap makes another one inside.
            self._process = subprocess.Popen(  # noqa: S603 - the command is ours; generated code is never on it
                start.command,
                env=start.environment,
                stdin=job_reads,
                stdout=output_writes,
                stderr=errors_write,
                pass_fds=start.handed_over,
                start_new_session=True,
                cwd="/",
            )
        except OSError:
            for descriptor in (job_writes, errors_read, output_reads, start.report[0]):
                if descriptor >= 0:
                    os.close(descriptor)
            raise
        finally:
            for descriptor in (job_reads, errors_write, output_writes):
                if descriptor >= 0:
                    os.close(descriptor)
        self.job = Outgoing(job_writes)
        self.report = Incoming(start.report[0], _MOST_REPORT_BYTES, self._changed.set)
        self.errors = Incoming(errors_read, start.output_bytes)
        self.output = Incoming(output_reads, start.output_bytes) if start.keeps_output else None
        self._watch()

    @property
    def inner_pid(self) -> int:
        """The process that runs the code; our own child where there are no walls."""
        return child_pid(self.report.text()) or self._process.pid

    async def ready(self) -> bool:
        """Wait until the walls stand; False: they never will."""
        while READY not in self.report.data:
            if self.report.ended.is_set():
                return False
            await self.more_report()
        return True

    async def more_report(self) -> None:
        """Wait until there is more in the report, or its end."""
        self._changed.clear()
        if not self.report.ended.is_set():
            await self._changed.wait()

    async def exit_code(self) -> int:
        """Wait until it is gone, and everything it started."""
        await self._gone.wait()
        return self._process.wait()

    async def end(self) -> None:
        """Kill what is left, wait until the last process is gone, and close every pipe."""
        self.job.close()
        self._kill_inside()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._gone.wait()
        except TimeoutError:
            self._kill_group()
            await self._gone.wait()
        finally:
            self.end_now()

    def end_now(self) -> None:
        """Kill, reap and close without waiting for anything but the kernel; for when there is no time left."""
        if self._process.poll() is None:
            self._kill_inside()
            self._kill_group()
            self._process.wait()
        self._unwatch()
        for pipe in (self.report, self.errors, self.output):
            if pipe is not None:
                pipe.finish()
        self.job.close()

    def _kill_inside(self) -> None:
        # Killed from within: bubblewrap then waits until the last process of the namespace is gone. Killing bubblewrap first would leave that to chance.
        if self._process.poll() is not None:
            return
        self.report.take()
        pid = child_pid(self.report.text())
        if pid is None:
            self._kill_group()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _watch(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pidfd: int | None = None
        self._waiter: asyncio.Task[int] | None = None
        if sys.platform == "linux":
            self._pidfd = os.pidfd_open(self._process.pid)
            self._loop.add_reader(self._pidfd, self._exited)
        else:
            self._waiter = self._loop.create_task(asyncio.to_thread(self._process.wait))
            self._waiter.add_done_callback(lambda _: self._gone.set())

    def _exited(self) -> None:
        # Before it is reaped, while its number still names its group: without walls, what it left running is ended here.
        self._kill_group()
        self._process.wait()
        self._gone.set()
        self._unwatch()

    def _unwatch(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
