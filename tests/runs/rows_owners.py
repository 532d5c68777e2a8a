"""One run, two processes (C19); changed settings; a prompts file that changes; models that are down."""

import json
import resource
import signal
import socket
import statistics
import sys
import time
from pathlib import Path

from tests.runs.driver import Checks, Row, Started, counting_server, duplicates, job_at, recorded_calls, rows_of, strategy
from tests.runs.rows_signals import left_behind

LONGEST_REFUSAL_S = 2.0
"""Of CPU time where it is the command's own work: on a shared machine the time on the wall is mostly that of others."""
LONGEST_TAKEOVER_S = 5.0


def row_owners(folder: Path, *, rounds: int = 20) -> Row:
    """C19: a second process is refused while the first one lives, and goes on when it was killed."""
    checks = Checks()
    refusals_s: list[float] = []
    walls_s: list[float] = []
    takeovers_s: list[float] = []
    with counting_server(latency_s=0.5) as server:
        job = job_at(folder, server, num_prompts=60 * rounds, settings=strategy("parallel", 4))
        for index in range(rounds):
            before = server.count()["asked"]
            owner = job.start()
            checks.hold("the owner works", server.wait_for_calls(before))
            used_s = children_cpu_s()
            second = job.finish(job.resuming if index % 2 else None)
            refusals_s.append(children_cpu_s() - used_s)  # the owner lives, and counts later
            walls_s.append(second.wall_s)
            checks.hold(f"second exits {second.code}", second.code == 1)
            checks.hold(f"it says: {second.err}", f"in use by process {owner.process.pid} on " in second.err and "Traceback" not in second.err)
            checks.hold("the owner was disturbed", owner.process.poll() is None)
            owner.kill()
            before, killed_s = server.count()["asked"], time.monotonic()
            heir = job.start(job.resuming)
            checks.hold("taken over", server.wait_for_calls(before))
            takeovers_s.append(time.monotonic() - killed_s)
            heir.signal(signal.SIGTERM)
            checks.hold("heir ends", heir.ended().code == 143)
        checks.hold("duplicates", duplicates(job.run) == 0)
    checks.hold(f"refused after {max(refusals_s):.2f} CPU s", max(refusals_s) <= LONGEST_REFUSAL_S)
    checks.hold(f"taken over after {max(takeovers_s):.2f} s", max(takeovers_s) <= LONGEST_TAKEOVER_S)
    return Row(
        f"C19 two processes on one run, {rounds} rounds",
        "one owner; the other exits <= 2 s and says why; a dead owner's run is taken over <= 5 s",
        f"refused <= {max(refusals_s):.2f} CPU s, {statistics.median(walls_s):.2f} to {max(walls_s):.2f} s; "
        f"taken over (first call) <= {max(takeovers_s):.2f} s",
        tuple(dict.fromkeys(checks.failed)),
    )


def children_cpu_s() -> float:
    """CPU seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def row_same_moment(folder: Path, *, rounds: int = 3, processes: int = 4) -> Row:
    """C19: several processes start a new run at the same moment."""
    checks = Checks()
    with counting_server(latency_s=0.02) as server:
        for index in range(rounds):
            job = job_at(folder / str(index), server, num_prompts=40, settings=strategy("parallel", 4))
            ends = [started.ended() for started in [job.start() for _ in range(processes)]]
            codes = sorted(ended.code for ended in ends)
            # One that came after the first had ended finds everything done.
            checks.hold(f"exit codes {codes}", codes[0] == 0 and set(codes) <= {0, 1})
            checks.hold("refused clearly", all("in use by" in ended.err for ended in ends if ended.code))
            checks.hold("complete, nothing twice", len(recorded_calls(job.run)) == 160 and duplicates(job.run) == 0)
        asked = server.count()["asked"]
    checks.hold(f"{asked} calls paid for {160 * rounds}", asked == 160 * rounds)
    return Row(f"C19 {processes} processes start one run at once, x{rounds}", "one owner; nothing paid twice", f"{asked} calls", tuple(checks.failed))


def row_changes(folder: Path) -> Row:
    """Other settings are refused with the difference; a reordered, extended prompts file is gone on with."""
    checks = Checks()
    with counting_server() as server:
        job = job_at(folder, server, num_prompts=20, settings=strategy("parallel", 4))
        checks.hold("first run", job.finish().code == 0)
        for flags, said in (
            (["-n", "8"], "strategy.n: 4 -> 8"),
            (["--seed", "7"], "seed: 0 -> 7"),
            (["--strategy", "random"], "strategy.name: 'parallel' -> 'random'"),
            (["--reward", "rules"], "reward.parts[0].kind: 'scripted' -> 'rules'"),
            (["--models", f"m1@{server.url}/v1"], "models[0].name: 'm0' -> 'm1'"),
        ):
            refused = job.finish([*job.arguments, *flags])
            checks.hold(f"{flags}: {refused.code} {refused.err}", refused.code == 2 and said in refused.err and "Traceback" not in refused.err)
        checks.hold("nothing was paid for refusals", server.count()["asked"] == 80)
        lines = job.prompts.read_text().splitlines()
        more = [json.dumps({"prompt": "A new one."}), lines[3], json.dumps({"prompt": "A new one."})]
        job.prompts.write_text("\n".join([*more, *reversed(lines)]) + "\n")
        again = job.finish()
        stats = server.stats()
    # A new prompt twice, and a second copy of an old one: three prompts more.
    checks.hold(f"again: {again.code} {again.err}", again.code == 0)
    checks.hold(f"{stats['asked']} calls", stats["asked"] == 80 + 12)
    checks.hold("repeated", max(stats["by_call"].values()) == 1)
    checks.hold("prompts", rows_of(job.run, "SELECT count(*) FROM prompts")[0][0] == 23)
    return Row(
        "Changed settings; prompts reordered, extended, with duplicates",
        "refused with the difference, nothing paid; nothing repeated",
        f"5 kinds of changes refused; {stats['asked']} calls for 23 prompts x 4",
        tuple(checks.failed),
    )


def models_of(run: Path) -> dict[str, int]:
    """Responses by model."""
    rows = rows_of(
        run,
        "SELECT model, count(*) FROM (SELECT DISTINCT number, call_id, model FROM sent) JOIN responses r USING (number, call_id) "
        "WHERE r.text IS NOT NULL GROUP BY 1",
    )
    return dict(rows)


def row_down(folder: Path, name: str = "parallel") -> Row:
    """Models that take no calls: all of them, one of two, and one that fails on every prompt."""
    checks = Checks()
    both = ("m0", "m1")
    with counting_server(down=list(both)) as server:
        job = job_at(folder / "all", server, num_prompts=6, settings=strategy(name, 4, max_parallel=1), models=both)
        stopped = job.finish()
        asked = server.count()["asked"]
        checks.hold(f"all down: exit {stopped.code}", stopped.code == 1)
        checks.hold(f"says {stopped.err}", "no model takes calls any more" in stopped.err and "Incorrect API key" in stopped.err)
        told = rows_of(job.run, "SELECT count(*) FROM outcomes")[0][0]
        checks.hold(f"{told} failures told", told < asked)  # of the first model, while the second had not been called
        checks.hold("no prompt ended", rows_of(job.run, "SELECT count(*) FROM ends")[0][0] == 0)
        server.control(down=[])
        server.forget()
        mended = job.finish(job.resuming)
        checks.hold(f"mended: {mended.code} {mended.err}", mended.code == 0)
        checks.hold("complete once mended", len(recorded_calls(job.run)) == 24 == server.count()["asked"])
        checks.hold("all models that are asked answer", len(models_of(job.run)) == (1 if name == "random" else 2))
        server.control(down=["m1"])
        one = job_at(folder / "one", server, num_prompts=6, settings=strategy(name, 4), models=both)
        half = one.finish()
        checks.hold(f"one down: {half.code} {half.err}", half.code == 0)
        models = models_of(one.run)
        checks.hold(f"one down: {models}", models == {"m0": 24})
        server.control(down=[], broken=["m0"])
        bad = job_at(folder / "bad", server, num_prompts=6, settings=strategy("random", 4))
        failed = bad.finish()
        checks.hold(f"every call refused: exit {failed.code}", failed.code == 1)
        ends = dict(rows_of(bad.run, "SELECT reason, count(*) FROM ends GROUP BY 1"))
        checks.hold(f"every call refused: {ends}", ends == {"failed": 6})
    return Row(
        "All models 401; one of two; every call refused",
        "stops, exit 1, nothing told, goes on when mended; completes with the other; exit 1",
        f"{asked} calls before the stop; {models}; {ends}",
        tuple(checks.failed),
    )


SILENT_HUB = """
import sys, time
import huggingface_hub
from multigraft.cli.main import main

def forever(**kwargs):
    time.sleep(60.0)

huggingface_hub.hf_hub_download = forever
main()
"""


def row_fetching(folder: Path, source: str) -> Row:
    """An interruption while weights are fetched from a server that says nothing.

    Args:
        folder: of the run.
        source: `hf`, whose client works in a thread nobody can stop, or `pypi`, whose client is a child process.
    """
    checks = Checks()
    folder.mkdir(parents=True, exist_ok=True)
    prompts = folder / "prompts.jsonl"
    prompts.write_text('{"prompt": "Hello."}\n')
    with socket.create_server(("127.0.0.1", 0)) as silent:
        weights = {"hf": "hf:owner/name/file.gguf", "pypi": f"pypi:nothing-at-all==1.0/weights.gguf#sha256={'0' * 64}"}[source]
        environment = {"PIP_INDEX_URL": f"http://127.0.0.1:{silent.getsockname()[1]}/simple", "XDG_CACHE_HOME": str(folder / "cache")}
        arguments = ["synth", str(prompts), "--models", weights, "-n", "1", "-o", str(folder / "run")]
        started = Started(arguments, command=[sys.executable, "-c", SILENT_HUB], environment=environment)
        deadline_s = time.monotonic() + 30.0
        while not (folder / "run" / "owner.json").exists() and started.process.poll() is None and time.monotonic() < deadline_s:
            time.sleep(0.02)
        time.sleep(1.0)
        checks.hold("still fetching", started.process.poll() is None)
        sent_s = time.monotonic()
        started.signal(signal.SIGINT)
        ended = started.ended(90.0)
        gone_s = time.monotonic() - sent_s
    checks.hold(f"exit {ended.code}: {ended.err}", ended.code == 130 and "Traceback" not in ended.err)
    checks.hold(f"exit after {gone_s:.2f} s", gone_s <= LONGEST_REFUSAL_S)
    checks.hold("processes left", not left_behind(started.process.pid))
    return Row(f"SIGINT while weights are fetched ({source})", "exit 130 <= 2 s, no child left", f"exit after {gone_s:.2f} s", tuple(checks.failed))
