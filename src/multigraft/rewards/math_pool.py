"""Child processes that compare mathematical answers, each replaced as soon as it takes too long."""

import json
import os
import select
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, Self

from multigraft.errors import InputError, MultigraftError

_SCRIPT = Path(__file__).with_name("math_worker.py")
_LONGEST_START_S = 120.0
_READ_BYTES = 65536


class Comparison(NamedTuple):
    """What a worker says of an answer."""

    equal: bool = False
    form: str | None = None
    """Its normal form; None when there is none."""
    undecided: str = ""
    """Why there is no verdict; empty when there is one."""


class MathWorker:
    """One child process.

    Args:
        limit_s: how long one comparison may take.
        memory_mb: what the process may have.

    Raises:
        InputError: math-verify is not installed.
        MultigraftError: the process did not start.
    """

    def __init__(self, *, limit_s: float, memory_mb: int) -> None:
        settings = json.dumps({"path": sys.path, "limit_s": limit_s, "memory_mb": memory_mb})
        # No environment, so no secrets; a session of its own, so that an interrupt from the keyboard does not reach it.
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, and a script of ours
            [sys.executable, "-I", str(_SCRIPT), settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONHASHSEED": "0"},
            start_new_session=True,
            bufsize=0,
        )
        self._limit_s = limit_s
        self._unread = b""
        said = self._line(_LONGEST_START_S)
        if said is None or "ready" not in said:
            self.stop()
            if said is not None:
                message = "comparing mathematical answers needs math-verify: pip install 'multigraft[checkers]'"
                raise InputError(message)
            message = f"the process that compares mathematical answers did not start; its memory limit is {memory_mb} MiB, raise memory_mb if that is little"
            raise MultigraftError(message)

    def compare(self, answer: str, references: Sequence[str]) -> Comparison:
        """Compare; after an undecided comparison the worker may be dead, see `is_alive`."""
        request = json.dumps({"answer": answer, "references": list(references)}).encode() + b"\n"
        try:
            self._write(request)
            said = self._line(self._limit_s)
        except OSError:
            said = None
        if said is None:
            self.stop()
            return Comparison(undecided=f"not decided within {self._limit_s:g} s")
        return Comparison(equal=bool(said.get("equal")), form=said.get("form"), undecided=said.get("undecided", ""))

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked again."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Kill it and wait until it is gone."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _write(self, request: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it was made with a pipe
        self._process.stdin.write(request)

    def _line(self, limit_s: float) -> dict[str, str] | None:
        assert self._process.stdout is not None  # noqa: S101 - it was made with a pipe
        descriptor = self._process.stdout.fileno()
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        until = time.monotonic() + limit_s
        while b"\n" not in self._unread:
            left_s = until - time.monotonic()
            if left_s <= 0 or not waiting.poll(left_s * 1000):
                return None
            read = os.read(descriptor, _READ_BYTES)
            if not read:
                return None
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        said: dict[str, str] = json.loads(line)
        return said


class MathPool:
    """Workers and the threads that wait for them; started as they are needed.

    Args:
        workers: processes at once; >= 1.
        limit_s: of one comparison.
        memory_mb: of one worker.
    """

    def __init__(self, *, workers: int, limit_s: float, memory_mb: int) -> None:
        self.executor = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="math")
        self._limit_s = limit_s
        self._memory_mb = memory_mb
        self._idle: SimpleQueue[MathWorker] = SimpleQueue()
        self._finalizer = weakref.finalize(self, _stop_all, self._idle)

    def compare(self, answer: str, references: Sequence[str]) -> Comparison:
        """Compare in this thread; call it in `executor`, whose threads are as many as there may be workers.

        Raises:
            InputError: math-verify is not installed.
        """
        worker = self._worker()
        try:
            return worker.compare(answer, references)
        finally:
            if worker.is_alive:
                self._idle.put(worker)
            else:
                worker.stop()

    def start(self) -> None:
        """Have one worker ready.

        Raises:
            InputError: math-verify is not installed.
        """
        self._idle.put(self._worker())

    def close(self) -> None:
        """End every worker, after what they are at."""
        self.executor.shutdown(wait=True, cancel_futures=True)
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _worker(self) -> MathWorker:
        while True:
            try:
                worker = self._idle.get_nowait()
            except Empty:
                return MathWorker(limit_s=self._limit_s, memory_mb=self._memory_mb)
            if worker.is_alive:
                return worker
            worker.stop()  # killed from outside while it waited, which says nothing of the next answer


def _stop_all(idle: SimpleQueue[MathWorker]) -> None:
    while True:
        try:
            idle.get_nowait().stop()
        except Empty:
            return
