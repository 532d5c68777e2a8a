"""Running the attacks, and looking from outside at what they did."""

import asyncio
import os
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.sandbox.attacks import ENTRY_POINT, ESCAPED, HONEST, PROGRAMS, SECRET, SECRET_NAME, SUBMISSIONS, TESTS

from multigraft.sandbox.launcher import LABEL
from multigraft.sandbox.limits import Limits
from multigraft.sandbox.outcomes import Examination, Fault
from multigraft.sandbox.sandbox import Sandbox

LIMITS = Limits(wall_s=2.0)


@dataclass
class Outside:
    """What lies around the sandbox for attacks to reach."""

    file: str
    port: int
    socket_name: str
    hits: list[bytes] = field(default_factory=list)

    @property
    def names(self) -> str:
        return f"HOST_FILE, HOST_PORT, HOST_SOCKET = {self.file!r}, {self.port}, {self.socket_name!r}\n"


@asynccontextmanager
async def outside() -> AsyncIterator[Outside]:
    """Put up a file that everybody may read, a secret in our environment, and two servers that count who comes."""
    name = f"multigraft-canary-{os.getpid()}"
    with tempfile.NamedTemporaryFile("w") as file, socket.socket(socket.AF_UNIX) as abstract, secret_in_the_environment():
        file.write(SECRET)
        file.flush()
        os.fchmod(file.fileno(), 0o644)
        around = Outside(file.name, 0, name)

        async def hit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            around.hits.append(await reader.read(64))
            writer.close()

        abstract.bind("\0" + name)
        servers = [await asyncio.start_server(hit, "127.0.0.1", 0), await asyncio.start_unix_server(hit, sock=abstract)]
        around.port = servers[0].sockets[0].getsockname()[1]
        try:
            yield around
        finally:
            for server in servers:
                server.close()
                await server.wait_closed()


@contextmanager
def secret_in_the_environment() -> Iterator[None]:
    os.environ[SECRET_NAME] = SECRET
    try:
        yield
    finally:
        del os.environ[SECRET_NAME]


@dataclass
class Findings:
    """What went wrong, by kind; all empty when the walls hold."""

    escapes: list[str] = field(default_factory=list)
    false_verdicts: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    longest_over_s: float = 0.0
    """Wall time beyond the limit, from asking to the answer, with the walls' own start."""
    runs: int = 0

    @property
    def wrong(self) -> list[str]:
        return [*self.escapes, *self.false_verdicts, *self.faults, *self.late, *self.orphans]


async def attack(sandbox: Sandbox, name: str, around: Outside, findings: Findings) -> None:
    """Run one attack and note what it did."""
    began_s = time.monotonic()
    if name in PROGRAMS:
        run = await sandbox.run(around.names + PROGRAMS[name], limits=LIMITS)
        if isinstance(run, Fault):
            findings.faults.append(f"{name}: {run.message}")
        elif any(word in run.stdout + run.stderr for word in (ESCAPED, SECRET)):
            findings.escapes.append(f"{name}: {run.stdout[-200:]}")
    else:
        source = SUBMISSIONS.get(name, HONEST)
        verdict = await sandbox.check(Examination(sources=[source], entry_point=ENTRY_POINT, tests=TESTS), limits=LIMITS)
        if isinstance(verdict, Fault):
            findings.faults.append(f"{name}: {verdict.message}")
        elif verdict.passed != (name not in SUBMISSIONS):
            findings.false_verdicts.append(f"{name}: {verdict}")
    over_s = time.monotonic() - began_s - LIMITS.wall_s
    findings.longest_over_s = max(findings.longest_over_s, over_s)
    if over_s > 0.5:
        findings.late.append(f"{name}: {over_s:.2f} s over its limit")
    findings.runs += 1


async def attack_all(sandbox: Sandbox, names: list[str], at_once: int) -> Findings:
    """Run attacks, several at once, and look for orphans the moment each batch has ended."""
    findings = Findings()
    async with outside() as around:
        for start in range(0, len(names), at_once):
            batch = names[start : start + at_once]
            await asyncio.gather(*(attack(sandbox, name, around, findings) for name in batch))
            findings.orphans += [f"{batch}: process {pid}" for pid in live_inside()]
        findings.escapes += [f"the server outside was reached: {hit!r}" for hit in around.hits]
    return findings


def live_inside(owner: int | None = None) -> list[int]:
    """Find processes that run something of the sandboxes of a process; None: of this one."""
    mark = f"{LABEL}{owner or os.getpid()}-".encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                alive = "State:\tZ" not in (entry / "status").read_text("utf-8")
                if alive and _carries((entry / "cmdline").read_bytes(), mark):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _carries(arguments: bytes, mark: bytes) -> bool:
    """Whether one of the arguments is a label; the janitor, which outlives every run, has one as well."""
    return any(word.startswith(mark) for word in arguments.split(b"\0")) and b"sandbox.janitor" not in arguments
