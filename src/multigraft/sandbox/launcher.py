"""Starting processes behind the walls, and waiting until the walls stand."""

import asyncio
import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from multigraft.sandbox.cgroups import Cgroups, cgroups_here
from multigraft.sandbox.code_folder import make_code_folder
from multigraft.sandbox.limits import Limits
from multigraft.sandbox.outcomes import Fault
from multigraft.sandbox.process import SandboxedProcess, Start
from multigraft.sandbox.reading import shortened
from multigraft.sandbox.walls import START, Walls

_START_S = 20.0
"""For the walls to stand, however busy the machine."""
_END_S = 30.0
LABEL = "multigraft-"
"""What processes of sandboxes are marked with, before the number of the one that opened the sandbox."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """What every process is started with."""

    walls: Walls
    code_folder: Path
    cgroups: Cgroups
    seccomp: bytes
    label: str
    janitor: "subprocess.Popen[bytes]"

    @classmethod
    def open(cls, walls: Walls, seccomp: bytes) -> "Launcher":
        """Make the folders, and start the process that removes them and all the rest when this one ends."""
        folder = make_code_folder(walls.interpreter)
        cgroups = Cgroups(()) if walls.bubblewrap is None else cgroups_here()
        label = f"{LABEL}{os.getpid()}-{secrets.token_hex(4)}"
        command = [walls.interpreter, "-s", "-S", "-B", "-c", START.format(folder=str(folder), main="janitor"), label, str(os.getpid()), str(folder)]
        janitor = subprocess.Popen(  # noqa: S603 - the command is ours
            [*command, *map(str, cgroups.folders)],
            env=walls.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        return cls(replace(walls, grouped=bool(cgroups.folders)), folder, cgroups, seccomp, label, janitor)

    def close(self) -> None:
        """Kill what still runs, and remove everything."""
        with contextlib.suppress(BrokenPipeError):
            self.janitor.communicate(b"end", timeout=_END_S)
        # Where the janitor itself was killed, this is all that is left to do.
        shutil.rmtree(self.code_folder, ignore_errors=True)

    def start(self, main: str, place: int, limits: Limits, *, handed_over: Sequence[int] = (), keeps_output: bool = False) -> SandboxedProcess:
        """Start a process, which then waits for its job.

        Args:
            main: the module of `multigraft.sandbox.inside` that it runs.
            place: its number; no two live processes share one.
            limits: of the process.
            handed_over: descriptors it inherits.
            keeps_output: keep what it writes to its standard output.

        Raises:
            OSError: it cannot be started.
        """
        report_reads, report_writes = os.pipe()
        information = os.dup(report_writes)
        # A filter is read to its end, so each process gets its own; it fits into the pipe many times over.
        seccomp_reads, seccomp_writes = os.pipe()
        os.write(seccomp_writes, self.seccomp)
        os.close(seccomp_writes)
        try:
            return SandboxedProcess(
                Start(
                    command=self.walls.command(
                        main, place, label=self.label, code_folder=self.code_folder, limits=limits, descriptors=(report_writes, information, seccomp_reads)
                    ),
                    environment=self.walls.environment,
                    report=(report_reads, report_writes),
                    handed_over=(report_writes, *((information, seccomp_reads) if self.walls.bubblewrap else ()), *handed_over),
                    keeps_output=keeps_output,
                    output_bytes=limits.output_bytes,
                )
            )
        finally:
            for descriptor in (report_writes, information, seccomp_reads):
                os.close(descriptor)

    async def ready(self, process: SandboxedProcess, place: int, limits: Limits) -> Fault | None:
        """Wait until the walls of a process stand, and bound its place.

        Returns:
            None when it may be given its job.
        """
        try:
            async with asyncio.timeout(_START_S):
                stands = await process.ready()
        except TimeoutError:
            return Fault(f"the walls did not stand within {_START_S:g} s")
        if not stands:
            await process.exit_code()
            process.errors.take()
            return Fault(f"the walls could not be put up: {shortened(process.errors.text()) or 'nothing was said'}")
        try:
            self.cgroups.make(place, memory_bytes=limits.memory_bytes, processes=limits.processes)
            self.cgroups.join(place, process.inner_pid)
        except OSError as error:
            return Fault(f"the control groups could not be used: {error}")
        return None
