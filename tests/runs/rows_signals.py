"""Interruptions (C4): a first one drains, a second one leaves at once, and none leaves anything behind."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.runs.driver import Checks, Ended, Job, Row, Server, Started, counting_server, integrity, job_at, rows_of, strategy

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
LONGEST_S = {"message": 1.0, "exit": 10.0, "second": 1.0}
SLACK_S = 0.5
"""For what this machine does besides."""


def shell_code(ended: Ended) -> int:
    """The exit code as a shell shows it: a process that a signal ended has none of its own."""
    return 128 - ended.code if ended.code < 0 else ended.code


def left_behind(session: int) -> list[int]:
    """Processes of a session that still live."""
    return [pid for pid, fields in _processes() if int(fields[3]) == session]


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Every living process, with the fields of its state after its name."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            yield int(path.parent.name), fields


@dataclass
class Interruptions:
    """Interrupts a job again and again until it is through."""

    server: Server
    job: Job
    checks: Checks

    def __post_init__(self) -> None:
        self.messages_s: list[float] = []
        self.exits_s: list[float] = []
        self.seconds_s: list[float] = []
        self.stored = self.late = 0

    def in_traffic(self) -> Started:
        before = self.server.count()["asked"]
        started = self.job.start()
        self.checks.hold("traffic", self.server.wait_until(lambda count: count["asked"] >= before + 8))
        return started

    def drained(self, number: signal.Signals) -> None:
        """One signal while calls are in flight."""
        answered = set(self.server.stats()["answered_by_call"])
        started = self.in_traffic()
        sent_s = time.monotonic()
        started.signal(number)
        line = started.line()
        said_s = time.monotonic()
        ended = started.ended(60.0)
        gone_s = time.monotonic()
        self.checks.hold(f"message: {line}", line.startswith("stopping: "))
        self.checks.hold(f"message after {said_s - sent_s:.2f} s", said_s - sent_s <= LONGEST_S["message"])
        self.checks.hold(f"exit after {gone_s - sent_s:.2f} s", gone_s - sent_s <= LONGEST_S["exit"])
        self.checks.hold(f"{number.name} exits {shell_code(ended)}: {ended.err}", shell_code(ended) == CODES[number])
        self.checks.hold("how to go on", f"multigraft resume {self.job.run}" in ended.err)
        self.messages_s.append(said_s - sent_s)
        self.exits_s.append(gone_s - sent_s)
        stats = self.server.stats()
        fresh = set(stats["answered_by_call"]) - answered
        seeds = {str(seed) for (seed,) in rows_of(self.job.run, "SELECT seed FROM sent JOIN responses USING (number, call_id)")}
        lost = [call for call in fresh if call.split(" ")[1] not in seeds]
        self.checks.hold(f"answers of the drain lost: {len(lost)}", not lost)
        self.stored += len(fresh)
        late = stats["last_at_s"] > sent_s + SLACK_S
        self.checks.hold("calls sent after the signal", not late)
        self.gone(started)

    def twice(self) -> None:
        """A second signal while the first one drains."""
        started = self.in_traffic()
        started.signal(signal.SIGINT)
        started.line()
        sent_s = time.monotonic()
        started.signal(signal.SIGINT)
        ended = started.ended(60.0)
        gone_s = time.monotonic() - sent_s
        self.checks.hold(f"second exit after {gone_s:.2f} s", gone_s <= LONGEST_S["second"])
        self.checks.hold(f"second exits {shell_code(ended)}", shell_code(ended) == 130)
        self.seconds_s.append(gone_s)
        self.gone(started)

    def early(self, number: signal.Signals, after_s: float) -> None:
        """A signal before anything was sent."""
        started = self.job.start()
        time.sleep(after_s)
        sent_s = time.monotonic()
        started.signal(number)
        try:
            ended = started.ended(30.0)
        except subprocess.TimeoutExpired:
            started.kill()
            self.checks.hold(f"early {number.name} after {after_s:.2f} s was not heeded", truth=False)
            return
        gone_s = time.monotonic() - sent_s
        self.checks.hold(f"early {number.name} exits {shell_code(ended)} after {after_s:.2f} s: {ended.err}", shell_code(ended) == CODES[number])
        self.checks.hold(f"early exit after {gone_s:.2f} s", gone_s <= LONGEST_S["exit"])
        self.checks.hold("early traceback", after_s < 0.2 or not re.search("Traceback", ended.err))
        self.gone(started)

    def gone(self, started: Started) -> None:
        self.checks.hold("processes left", not left_behind(started.process.pid))
        self.checks.hold("owner.json left", not (self.job.run / "owner.json").exists() or self.seconds_s)
        if (self.job.run / "log.db").exists():
            self.checks.hold("integrity", integrity(self.job.run) == "ok")


def row_signals(folder: Path, *, each: int = 20, latency_s: float = 0.5) -> Row:
    """C4: each kind of interruption, so many times, on one run that is finished afterwards."""
    random, checks = Random(4), Checks()
    num_prompts = 30 * each
    with counting_server(latency_s=latency_s) as server:
        job = job_at(folder, server, num_prompts=num_prompts, settings=strategy("toa", 8, max_parallel=4))
        interruptions = Interruptions(server, job, checks)
        for index in range(each):
            interruptions.early(signal.SIGINT if index % 2 else signal.SIGTERM, random.uniform(0.02, 0.8))
        for _ in range(each):
            interruptions.drained(signal.SIGINT)
            interruptions.drained(signal.SIGTERM)
            interruptions.twice()
        server.control(latency_s=0.0)
        ended = job.finish()
        responses = rows_of(job.run, "SELECT count(*) FROM responses WHERE text IS NOT NULL")[0][0]
    checks.hold(f"finished with {ended.code}: {ended.err}", ended.code == 0)
    checks.hold("complete", responses == 8 * num_prompts)
    return Row(
        f"C4 SIGINT, SIGTERM, double SIGINT and before the first call, x{each} each",
        "message <= 1 s; exit <= 10 s, second <= 1 s; 130 / 143; answers of the drain stored; 0 children",
        f"message <= {max(interruptions.messages_s):.2f} s, exit <= {max(interruptions.exits_s):.2f} s, second <= {max(interruptions.seconds_s):.2f} s; "
        f"{interruptions.stored} answers of drains stored",
        tuple(dict.fromkeys(checks.failed)),
    )


def children_of(parent: int) -> list[int]:
    """Living children of a process."""
    return [pid for pid, fields in _processes() if int(fields[1]) == parent]


def row_cut_off(folder: Path) -> Row:
    """C4: a server that does not answer is not waited for."""
    checks = Checks()
    with counting_server(latency_s=600.0) as server:
        job = job_at(folder, server, num_prompts=8, settings=strategy("toa", 8, max_parallel=4))
        started = Interruptions(server, job, checks).in_traffic()
        sent_s = time.monotonic()
        started.signal(signal.SIGINT)
        ended = started.ended(60.0)
        gone_s = time.monotonic() - sent_s
        cut_off = rows_of(job.run, "SELECT count(*) FROM sent")[0][0]
        asked = server.count()["asked"]
    checks.hold(f"exit after {gone_s:.2f} s", gone_s <= LONGEST_S["exit"])
    checks.hold(f"exits {ended.code}", ended.code == 130)
    checks.hold(f"{cut_off} cut-off calls recorded, {asked} sent", cut_off == asked)
    return Row("C4 SIGINT while a server hangs", "exit <= 10 s; cut-off calls are known", f"exit {gone_s:.2f} s, {cut_off} cut off", tuple(checks.failed))
