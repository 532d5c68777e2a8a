"""SIGKILL at any moment: of a wide run (C1), of a resume (C2), inside trees (C3)."""

import itertools
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.runs.driver import (
    Checks,
    Job,
    Row,
    Server,
    Started,
    counting_server,
    duplicates,
    files_of,
    integrity,
    job_at,
    recorded_calls,
    responses_by_prompt,
    rows_of,
    strategy,
    tree_of,
)

CONNECTIONS = 16
LONGEST_START_CPU_S = 1.0
"""CPU seconds rather than those on the wall, which on a shared machine say little."""


@dataclass
class Kills:
    """Kills a job again and again, and looks at its record after each."""

    server: Server
    job: Job
    checks: Checks

    def __post_init__(self) -> None:
        self.known: set[tuple[str, int, str]] = set()
        self.files: set[str] = set()
        self.in_traffic = self.done = 0

    def at_random(self, random: Random, least_s: float, most_s: float) -> None:
        """Kill at a random moment after the start."""
        started = self.job.start()
        time.sleep(random.uniform(least_s, most_s))
        self.kill(started)

    def in_midst(self, random: Random, least_calls: int, most_calls: int) -> None:
        """Kill once it has sent so many calls."""
        before = self.server.count()["asked"]
        wanted = random.randint(least_calls, most_calls)
        started = self.job.start()
        while started.process.poll() is None and self.server.count()["asked"] < before + wanted:
            time.sleep(0.003)
        self.in_traffic += self.server.count()["asked"] > before
        self.kill(started)

    def kill(self, started: Started) -> None:
        self.done += started.process.poll() is None
        started.kill()
        self.look()

    def look(self) -> None:
        now, files = recorded_calls(self.job.run), files_of(self.job.run)
        self.checks.hold(f"recorded calls lost: {len(self.known - now)}", self.known <= now)
        self.checks.hold(f"files lost: {sorted(self.files - files)}", self.files - {"owner.json", "run.unfinished"} <= files)
        self.known, self.files = now, files


def row_wide(folder: Path, *, num_prompts: int = 2500, kills_at_random: int = 100, kills_in_traffic: int = 100) -> Row:
    """C1: a wide run is killed again and again, half the time wherever it is, half the time while calls are in flight."""
    random, checks, began_s = Random(1), Checks(), time.monotonic()
    num_kills, wanted = kills_at_random + kills_in_traffic, 4 * num_prompts
    with counting_server(latency_s=0.2) as server:  # so slow that there is something left to do at the last kill
        job = job_at(folder, server, num_prompts=num_prompts, settings=strategy("parallel", 4), max_in_flight=CONNECTIONS)
        kills = Kills(server, job, checks)
        in_traffic = [True] * kills_in_traffic + [False] * kills_at_random
        random.shuffle(in_traffic)
        most_calls = max(8, wanted // num_kills)
        for index, traffic in enumerate(in_traffic):
            if traffic:
                kills.in_midst(random, 1, most_calls)
            else:
                kills.at_random(random, 0.1, 1.5)
            if index % 40 == 39:
                checks.hold("integrity while killed", integrity(job.run) == "ok")
        before = len(kills.known)
        checks.hold(f"{before} done at the last kill", before < wanted)
        server.control(latency_s=0.02)
        server.forget_first()
        started = job.start(job.resuming)
        server.wait_until(lambda count: count["first_at_s"] > 0.0)
        start_cpu_s = started.cpu_s()
        first_call_s = server.count()["first_at_s"] - started.began_s
        ended = started.ended()
        asked = server.stats()["by_call"]
    checks.hold(f"the last resume ended with {ended.code}: {ended.err}", ended.code == 0)
    responses = responses_by_prompt(job.run)
    checks.hold(f"{sum(1 for count in responses.values() if count != 4)} prompts without exactly 4", set(responses.values()) == {4})
    checks.hold(f"{len(responses)} prompts", len(responses) == num_prompts)
    checks.hold("duplicates", duplicates(job.run) == 0)
    checks.hold("integrity", integrity(job.run) == "ok")
    paid = sum(asked.values())
    checks.hold(f"paid {paid}", paid <= wanted + num_kills * CONNECTIONS)
    checks.hold("distinct calls", len(asked) == wanted)
    checks.hold(f"{start_cpu_s:.2f} CPU s before the first call of the last resume", start_cpu_s <= LONGEST_START_CPU_S)
    checks.hold("traffic seen", kills.in_traffic >= 0.9 * kills_in_traffic)
    wasted = rows_of(job.run, "SELECT count(*) FROM sent")[0][0] - wanted
    checks.hold(f"the record knows of {wasted} cut-off calls", wasted >= paid - wanted)
    wall_s = time.monotonic() - began_s
    return Row(
        f"C1 SIGKILL x{num_kills} ({kills_in_traffic} in traffic), {num_prompts} x 4",
        f"each prompt 4; lost 0; duplicates 0; paid <= {wanted + num_kills * CONNECTIONS}; <= 16 extra a kill; integrity ok; resume <= 1.0 CPU s",
        f"{before} calls recorded at the last kill, {len(responses)} x 4 at the end; "
        f"paid {paid} ({(paid - wanted) / max(1, num_kills):.1f} extra a kill); {wasted} written off; "
        f"last resume: first call after {start_cpu_s:.2f} CPU s, {first_call_s:.2f} s; {wall_s:.0f} s in all",
        tuple(dict.fromkeys(checks.failed)),
        {
            "paid": paid,
            "extra_a_kill": (paid - wanted) / max(1, num_kills),
            "wall_s": round(wall_s, 1),
            "first_call_s": round(first_call_s, 2),
            "start_cpu_s": start_cpu_s,
        },
    )


def row_resume(folder: Path, *, kills: int = 50, num_prompts: int = 400, within_s: float = 0.3) -> Row:
    """C2: a resume is killed while it starts; counted from the moment it owns the folder, as nothing happens to the record before."""
    random, checks = Random(2), Checks()
    with counting_server(latency_s=0.02) as server:
        job = job_at(folder, server, num_prompts=num_prompts, settings=strategy("parallel", 4), max_in_flight=CONNECTIONS)
        killing = Kills(server, job, checks)
        killing.in_midst(random, num_prompts, num_prompts)
        sizes = [len(killing.known)]
        for index in range(kills):
            started = job.start(job.resuming)
            if index % 2:  # half of them from the first sign of life on
                while not (job.run / "owner.json").exists() and started.process.poll() is None:
                    time.sleep(0.002)
            time.sleep(random.uniform(0.0, within_s))
            killing.kill(started)
            (job.run / "owner.json").unlink(missing_ok=True)
            sizes.append(len(killing.known))
        ended = job.finish(job.resuming)
        paid = server.count()["asked"]
    checks.hold(f"ended with {ended.code}: {ended.err}", ended.code == 0)
    checks.hold("complete", len(recorded_calls(job.run)) == 4 * num_prompts and duplicates(job.run) == 0)
    checks.hold(f"paid {paid}", paid <= 4 * num_prompts + (kills + 1) * CONNECTIONS)
    return Row(
        f"C2 SIGKILL x{kills} within {within_s * 1000:.0f} ms of a resume",
        "completed set never shrinks; no file deleted",
        f"{sizes[0]} -> {sizes[-1]} calls, shrank {sum(1 for one, other in itertools.pairwise(sizes) if other < one)} times; paid {paid} for {4 * num_prompts}",
        tuple(dict.fromkeys(checks.failed)),
    )


@dataclass(frozen=True)
class Tree:
    """A kind of tree, and under which settings its shape does not depend on which of several answers comes first."""

    name: str
    settings: str
    prompts_in_flight: int
    models: tuple[str, ...] = ("m0", "m1")
    same: bool = True
    """Whether a run without kills makes the same tree."""


TREES = (
    Tree("moa, one block", strategy("moa", 8, num_layers=2, max_parallel=8), 4, ("m0", "m1", "m2", "m3")),
    Tree("moa, three blocks", strategy("moa", 12, num_layers=2, max_parallel=1), 4),
    Tree("toa", strategy("toa", 16, tau=0.3, max_parallel=1), 4),
    Tree("toa, tau=auto", strategy("toa", 16, max_parallel=1), 1),
    Tree("toa, 8 at once", strategy("toa", 16, max_parallel=8), 4, same=False),
)


def row_tree(folder: Path, tree: Tree, *, kills: int, num_prompts: int) -> Row:
    """C3: a tree is killed while it grows."""
    random, checks = Random(3), Checks()
    concurrency = f"[concurrency]\nmax_in_flight = {CONNECTIONS}\nprompts_in_flight = {tree.prompts_in_flight}\n"
    with counting_server(latency_s=0.005, spread_s=0.02) as server:
        whole = job_at(folder / "whole", server, num_prompts=num_prompts, settings=tree.settings + concurrency, models=tree.models)
        checks.hold("uninterrupted run", whole.finish().code == 0)
        server.forget()
        job = job_at(folder / "killed", server, num_prompts=num_prompts, settings=tree.settings + concurrency, models=tree.models)
        killing = Kills(server, job, checks)
        repeated: Counter[str] = Counter()
        size = len(recorded_calls(whole.run))
        for _ in range(kills):
            killing.in_midst(random, 1, max(2, int(1.2 * size / kills)))
        in_traffic = killing.in_traffic
        ended = job.finish(job.resuming)
        stats = server.stats()
    checks.hold(f"ended with {ended.code}: {ended.err}", ended.code == 0)
    seeds = {seed for (seed,) in rows_of(job.run, "SELECT seed FROM responses r JOIN sent s USING (number, call_id)")}
    interrupted = rows_of(job.run, "SELECT count(*) - count(DISTINCT number || ' ' || call_id) FROM sent")[0][0]
    repeated = Counter({call: count - 1 for call, count in stats["by_call"].items() if count > 1})
    checks.hold(f"{repeated.total()} calls asked again, {interrupted} were cut off", repeated.total() <= interrupted)
    checks.hold("calls of the record and of the server differ", {int(call.split(" ")[1]) for call in stats["by_call"]} == seeds)
    checks.hold("duplicates", duplicates(job.run) == 0)
    checks.hold("integrity", integrity(job.run) == "ok")
    one, other = tree_of(whole.run), tree_of(job.run)
    if tree.same:
        checks.hold(f"the trees differ in {len(set(one) ^ set(other))} of {len(one)} calls", one == other)
    else:
        counts = responses_by_prompt(job.run)
        checks.hold(f"responses {set(counts.values())}", set(counts.values()) == {16})
    return Row(
        f"C3 SIGKILL x{kills} in {tree.name}, {num_prompts} prompts",
        f"no finished call repeated; {'the tree of a run without kills' if tree.same else 'every tree complete'}",
        f"{len(other)} calls, {in_traffic} kills in traffic, {repeated.total()} asked again of {interrupted} cut off"
        + (f"; {statistics.mean(a == b for a, b in zip(one, other, strict=False)):.0%} of the calls equal" if tree.same else ""),
        tuple(dict.fromkeys(checks.failed)),
    )
