"""The sandbox: opened once, then it runs programs and judges submissions, several at a time."""

import asyncio
import contextlib
import json
import os
import secrets
import time
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager

from multigraft.errors import SandboxError
from multigraft.sandbox import probes
from multigraft.sandbox.launcher import Launcher
from multigraft.sandbox.limits import Limits
from multigraft.sandbox.outcomes import Examination, Fault, Run, Verdict
from multigraft.sandbox.process import SandboxedProcess
from multigraft.sandbox.reading import verdict_in
from multigraft.sandbox.seccomp import program
from multigraft.sandbox.slots import Slots
from multigraft.sandbox.walls import refuse, walls_here

_DEFAULT_LIMITS = Limits()


class Sandbox:
    """A place to run Python that nobody has read. One event loop at a time uses it.

    Args:
        slots: programs, or submissions with their judges, that run at once; >= 1. None: as many as there are processors.
        limits: of each run that brings none of its own.
        unsafe: no walls at all: processes of their own, limits and the judge's nonce are all that is left. Only ever set by a flag that a person typed.

    Raises:
        ValueError: no slot.
    """

    def __init__(self, *, slots: int | None = None, limits: Limits = _DEFAULT_LIMITS, unsafe: bool = False) -> None:
        self.slots = slots if slots is not None else os.cpu_count() or 1
        if self.slots < 1:
            message = f"a sandbox needs at least 1 slot, not {self.slots}"
            raise ValueError(message)
        self.limits, self.unsafe = limits, unsafe
        self._slots = Slots(self.slots)
        self._users = 0
        self._open: Launcher | None = None
        self._opening: asyncio.Task[Launcher] | None = None
        self._remover: weakref.finalize[[], Sandbox] | None = None

    @property
    def description(self) -> str:
        """Say which walls are up: for the record, and for the version of scores. Without walls "none (unsafe)"; where none can be had, why."""
        if self._open is not None:
            return self._open.walls.description
        try:
            return walls_here(unsafe=self.unsafe).description
        except SandboxError as error:
            return f"none to be had: {error}"

    async def start(self) -> None:
        """Put up the walls and test them. Every `start` wants one `close`; the last one takes them down.

        Raises:
            SandboxError: they cannot be had, or do not hold; the message says what to install.
        """
        self._users += 1
        try:
            await self._opened()
        except BaseException:
            self._users -= 1
            raise

    async def close(self) -> None:
        """Take the walls down, unless somebody else who started still needs them."""
        self._users = max(0, self._users - 1)
        if self._users == 0 and self._open is not None:
            opened, self._open = self._open, None
            if self._remover is not None:
                self._remover.detach()
            await asyncio.to_thread(opened.close)

    async def run(self, source: str, *, limits: Limits | None = None) -> Run | Fault:
        """Run a program.

        Args:
            source: Python, run as `__main__` with the standard library and an empty standard input.
            limits: None: those of the sandbox.

        Returns:
            What it wrote and how it ended; a fault when the sandbox could not run it.

        Raises:
            SandboxError: there are no walls.
        """
        opened = await self._opened()
        async with self._slots.taken() as slot:
            return await self._run(opened, slot, source, limits or self.limits)

    async def check(self, examination: Examination, *, limits: Limits | None = None) -> Verdict | Fault:
        """Judge a submission: it runs in one sandbox, its judge in another, and only plain values cross between them.

        Args:
            examination: the submission and its tests.
            limits: of each of the two; None: those of the sandbox.

        Returns:
            The judge's verdict; a fault when there is none for a reason that is not the submission's.

        Raises:
            SandboxError: there are no walls.
        """
        opened = await self._opened()
        async with self._slots.taken() as slot:
            return await self._check(opened, slot, examination, limits or self.limits)

    async def _opened(self) -> Launcher:
        if self._open is not None:
            return self._open
        if self._opening is None or self._opening.done() or self._opening.get_loop() is not asyncio.get_running_loop():
            self._opening = asyncio.create_task(self._make())
        return await asyncio.shield(self._opening)

    async def _make(self) -> Launcher:
        walls = walls_here(unsafe=self.unsafe)
        seccomp = b"" if self.unsafe else program()
        opened = await asyncio.to_thread(Launcher.open, walls, seccomp)
        try:
            if not self.unsafe:
                await self._test(opened)
        except BaseException:
            opened.close()
            raise
        self._open = opened
        self._remover = weakref.finalize(self, opened.close)
        return opened

    async def _test(self, opened: Launcher) -> None:
        with probes.surroundings() as around:
            limits = Limits(wall_s=20.0)
            result = await self._run(opened, 0, probes.source(around, limits), limits)
            failed = probes.failures(result, limits)
        if failed:
            # A Python in somebody's home cannot be read by the users of the places.
            remedy = "; a Python that everybody can read may help: apt-get install -y python3" if opened.walls.extra_root else ""
            refuse(f"the walls do not hold on this machine: {'; '.join(failed)}{remedy}")

    async def _run(self, opened: Launcher, slot: int, source: str, limits: Limits) -> Run | Fault:
        async with _ended() as processes:
            try:
                process = opened.start("program", 2 * slot, limits, keeps_output=True)
            except OSError as error:
                return Fault(f"no process could be started: {error}")
            processes.append(process)
            if fault := await opened.ready(process, 2 * slot, limits):
                return fault
            began_s = time.monotonic()
            process.job.send(_line({"source": source}))
            code, timed_out = -9, False
            try:
                async with asyncio.timeout(limits.wall_s):
                    code = await process.exit_code()
            except TimeoutError:
                timed_out = True
        output = process.output or process.errors
        return Run(output.text(), process.errors.text(), code, timed_out, output.truncated or process.errors.truncated, time.monotonic() - began_s)

    async def _check(self, opened: Launcher, slot: int, examination: Examination, limits: Limits) -> Verdict | Fault:
        nonce = secrets.token_hex(16)
        places = (2 * slot, 2 * slot + 1)
        async with _ended() as processes:
            with _pipe() as requests, _pipe() as replies:
                try:
                    processes.append(opened.start("submission", places[0], limits, handed_over=(requests[0], replies[1])))
                    processes.append(opened.start("judge", places[1], limits, handed_over=(requests[1], replies[0])))
                except OSError as error:
                    return Fault(f"no process could be started: {error}")
            # Our ends are closed before anything hostile runs, so that each side sees the end of the other.
            for process, place in zip(processes, places, strict=True):
                if fault := await opened.ready(process, place, limits):
                    return fault
            submission, judge = processes
            judge.job.send(_line(_judges_job(examination) | {"nonce": nonce, "requests": requests[1], "replies": replies[0]}))
            submission.job.send(_line(_submissions_job(examination) | {"requests": requests[0], "replies": replies[1]}))
            return await _verdict(judge, nonce, len(examination.cases), limits.wall_s)


@asynccontextmanager
async def _ended() -> AsyncIterator[list[SandboxedProcess]]:
    """Whatever happens inside, no process put into the list is alive afterwards."""
    processes: list[SandboxedProcess] = []
    try:
        yield processes
    finally:
        try:
            await asyncio.gather(*(process.end() for process in processes))
        finally:
            for process in processes:
                process.end_now()


@contextlib.contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    reads, writes = os.pipe()
    try:
        yield reads, writes
    finally:
        os.close(reads)
        os.close(writes)


async def _verdict(judge: SandboxedProcess, nonce: str, num_cases: int, wall_s: float) -> Verdict | Fault:
    try:
        async with asyncio.timeout(wall_s):
            while (found := verdict_in(judge.report.data, nonce, num_cases, ended=judge.report.ended.is_set())) is None:
                await judge.more_report()
            return found
    except TimeoutError:
        return verdict_in(judge.report.data, nonce, num_cases, timed_out=f"no verdict within {wall_s:g} s") or Fault("the judge gave no verdict")


def _judges_job(examination: Examination) -> dict[str, object]:
    cases = [{"input": list(case.input), "expected": case.expected} for case in examination.cases]
    return {"entry_point": examination.entry_point, "prelude": examination.prelude, "tests": examination.tests, "cases": cases or None}


def _submissions_job(examination: Examination) -> dict[str, object]:
    return {"entry_point": examination.entry_point, "sources": list(examination.sources)}


def _line(job: Mapping[str, object]) -> bytes:
    return json.dumps(job).encode("ascii") + b"\n"
