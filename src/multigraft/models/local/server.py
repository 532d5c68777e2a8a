"""The owner of one child process: starts it, waits until it serves, ends it."""

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from multigraft.errors import MultigraftError, WeightsError
from multigraft.models.local.serving import Serving

LOG_LINES = 20
"""So many last lines of the child's log go into an error message."""
MESSAGE_LETTERS = 600
GRACE_S = 5.0
"""How long a child may take to end after its input closed."""


class LocalServer:
    """A child process that serves one GGUF file on loopback, OpenAI-compatible.

    Args:
        path: the file.
        serving: threads, slots, context.

    Use it as `async with LocalServer(path, serving=...) as server`; then `server.address` and `server.api_key` reach it. It ends with this process, whatever
    ends this process, and does not see the terminal's Ctrl-C.
    """

    def __init__(self, path: Path, *, serving: Serving) -> None:
        self.path = path
        self.serving = serving
        self.api_key = secrets.token_urlsafe(24)
        self.address = ""
        """`http://127.0.0.1:PORT` while it serves."""
        self._process: Process | None = None
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._drain: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the child; None when there is none."""
        return None if self._process is None else self._process.pid

    def death(self) -> str | None:
        """How the child ended that should still serve; None while it does."""
        process = self._process
        if process is None or process.returncode is None:
            return None
        return f"the server of {self.path} is gone: {_ended(process.returncode)}. {self._last_words()}"[:MESSAGE_LETTERS]

    async def __aenter__(self) -> Self:
        """Start the child and wait until it serves."""
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the child."""
        await self.close()

    async def start(self) -> None:
        """Start the child and wait until it serves.

        Raises:
            MultigraftError: the extra is not installed.
            WeightsError: the file cannot be loaded, or not in time; the message holds the end of the child's log.
        """
        # -P: a file of the working folder must not pass for a library.
        command = [sys.executable, "-P", "-m", "multigraft.models.local.host"]
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True)
        self._process = process
        self._drain = asyncio.create_task(self._read_log(process))
        try:
            async with asyncio.timeout(self.serving.start_timeout_s):
                answer = await self._handshake(process)
        except TimeoutError as error:
            await self.close()
            message = f"loading {self.path} took longer than {self.serving.start_timeout_s:g} s; raise start_timeout_s, or free memory. {self._last_words()}"
            raise WeightsError(message) from error
        except BaseException:
            await self.close()
            raise
        self.address = answer.get("address", "")
        if not self.address:
            await self.close()
            raise self._failed(answer.get("error", ""), process.returncode)

    async def close(self) -> None:
        """End the child and wait for its end; a second time does nothing."""
        process, self._process = self._process, None
        self.address = ""
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(GRACE_S):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if self._drain is not None:
            await self._drain

    async def _handshake(self, process: Process) -> dict[str, str]:
        """Send the settings and read the one answer; an empty answer means that the child ended without one."""
        if process.stdin is None or process.stdout is None:
            return {}
        values = asdict(self.serving)
        del values["start_timeout_s"]
        settings = {**values, "path": str(self.path), "api_key": self.api_key, "parent_pid": os.getpid()}
        # A child that ended at once has closed its end; what it said comes below.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            await process.stdin.drain()
        line = await process.stdout.readline()
        if not line.endswith(b"\n"):
            return {}
        answer = json.loads(line)
        return {str(key): str(value) for key, value in answer.items()}

    async def _read_log(self, process: Process) -> None:
        """Keep the child's pipe empty, and the last lines of what came."""
        if process.stderr is None:
            return
        rest = b""
        while chunk := await process.stderr.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            self._log.extend(line.decode(errors="replace")[:500] for line in lines)
            rest = rest[-500:]
        if rest:
            self._log.append(rest.decode(errors="replace"))

    def _failed(self, error: str, returncode: int | None) -> MultigraftError:
        if error.startswith("ModuleNotFoundError"):
            return MultigraftError(f"embedded models need the extra 'local' ({error}): pip install 'multigraft[local]'")
        reason = error or _ended(returncode)
        return WeightsError(f"{self.path} cannot be served: {reason}. {self._last_words()}")

    def _last_words(self) -> str:
        return "Its log ends with:\n" + "\n".join(self._log) if self._log else "It wrote no log."


def _ended(returncode: int | None) -> str:
    """Say how a child ended that gave no answer."""
    if returncode == -signal.SIGILL:
        return "it ended with an illegal instruction: the installed llama.cpp was built for another processor; install another wheel of xllamacpp"
    if returncode == -signal.SIGKILL:
        return "it was killed, most likely because the memory ran out: serve fewer models, a smaller one, or fewer slots with less context"
    if returncode is not None and returncode < 0:
        return f"it ended with {signal.Signals(-returncode).name}"
    return f"it ended with exit code {returncode}"
