"""A disk that fills up (C6): calls stop at once, the exit code says so, and the run goes on when there is space again."""

import contextlib
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.runs.driver import Checks, Job, Row, Server, counting_server, integrity, job_at, recorded_calls, responses_by_prompt, strategy

DISK_BYTES = 8 * 2**20
DISK_FULL = 74


@dataclass
class Disk:
    """Something that fills up: a small file system, or a limit on the size of files where none can be mounted."""

    folder: Path
    mounted: bool

    @property
    def run(self) -> Path:
        return self.folder / "run"

    def leave(self, free_bytes: int) -> list[str]:
        """Leave so much space; returns what to put before the command for it."""
        if not self.mounted:
            largest = max((path.stat().st_size for path in self.run.glob("*")), default=0)
            return ["prlimit", f"--fsize={largest + free_bytes}"]
        ballast = self.folder / "ballast"
        ballast.unlink(missing_ok=True)
        free = os.statvfs(self.folder)
        more = free.f_bavail * free.f_frsize - free_bytes
        if more > 0:
            with ballast.open("wb") as file:
                file.write(b"\0" * more)
        return []

    def full(self) -> bool:
        return self.mounted and os.statvfs(self.folder).f_bavail == 0


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    folder.mkdir(parents=True, exist_ok=True)
    mounting = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)], capture_output=True, check=False)
    mounted = mounting.returncode == 0
    try:
        yield Disk(folder, mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def fill_up(disk: Disk, server: Server, job: Job, free_bytes: int, checks: Checks) -> float:
    """Let the job run until the disk is full; returns how long after that the last call was sent, 0 where that cannot be seen."""
    known = recorded_calls(job.run)
    started = job.start(prelude=disk.leave(free_bytes))
    full_s: float | None = None
    while started.process.poll() is None:
        if full_s is None and disk.full():
            full_s = time.monotonic()
        time.sleep(0.002)
    ended = started.ended()
    checks.hold(f"exit code {ended.code}: {ended.err[-300:]}", ended.code == DISK_FULL)
    checks.hold(f"what it says: {ended.err}", ended.err.count("no space left") == 1 and "Traceback" not in ended.err)
    now = recorded_calls(job.run)
    checks.hold(f"recorded calls lost: {len(known - now)}", known <= now)
    checks.hold("integrity", not now or integrity(job.run) == "ok")
    return 0.0 if full_s is None else server.count()["last_at_s"] - full_s


def row_disk(folder: Path, *, points: int = 20, num_prompts: int = 400) -> Row:
    """C6: the disk is full at many points of one run, the first of them before anything is recorded."""
    random, checks = Random(6), Checks()
    with small_disk(folder / "disk") as disk, counting_server(latency_s=0.01, answer_bytes=800) as server:
        job = job_at(folder, server, num_prompts=num_prompts, settings=strategy("parallel", 4))
        job = Job(disk.folder, job.prompts, job.run_file)
        lates_s = [fill_up(disk, server, job, 0 if disk.mounted else 256, checks)]
        checks.hold("calls were sent on a full disk", server.count()["asked"] == 0)
        grown = []
        for _ in range(points - 1):
            lates_s.append(fill_up(disk, server, job, random.randint(50_000, 600_000), checks))
            grown.append(len(recorded_calls(job.run)))
        disk.leave(DISK_BYTES)
        with contextlib.suppress(FileNotFoundError):
            (disk.folder / "ballast").unlink()
        ended = job.finish()
        paid, stats = server.count()["asked"], server.stats()
        complete = set(responses_by_prompt(job.run).values()) == {4} and len(recorded_calls(job.run)) == 4 * num_prompts
    checks.hold(f"finished with {ended.code}: {ended.err[-300:]}", ended.code == 0)
    checks.hold("complete", complete)
    checks.hold(f"grew {grown}", grown == sorted(grown))
    checks.hold(f"last call {max(lates_s):.2f} s after the disk was full", max(lates_s) <= 1.0)
    repeated = sum(count - 1 for count in stats["by_call"].values())
    checks.hold(f"{repeated} calls paid twice", repeated <= points * 16)
    return Row(
        f"C6 disk full at {points} points ({'tmpfs of 8 MB' if disk.mounted else 'limited file size'})",
        "no call > 1 s after; exit 74; resume completes; 0 lost",
        f"last call {max(lates_s):.2f} s after; {paid} paid for {4 * num_prompts}; recorded {grown[0]} .. {grown[-1]} while full",
        tuple(dict.fromkeys(checks.failed)),
    )


def can_limit_file_size() -> bool:
    return hasattr(resource, "RLIMIT_FSIZE")
