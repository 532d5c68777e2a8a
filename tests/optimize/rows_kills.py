"""A graph search is killed again and again; used by tests, and with full numbers by `benchmarks/optimize_kills.py`."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.runs.driver import Checks, Ended, Row, Server, Started, counting_server

CONNECTIONS = 8
SPLIT = "6,5,6"


@dataclass(frozen=True)
class SearchJob:
    """A search to be made, over two models of a counting server."""

    folder: Path
    questions: Path
    run_file: Path
    method: str
    more: Sequence[str] = ()

    @property
    def run(self) -> Path:
        return self.folder / self.method

    @property
    def arguments(self) -> list[str]:
        fixed = ["optimize", str(self.questions), "-c", str(self.run_file), "--budget", "units=12", "--evaluations", "7", "--split", SPLIT, "-o", str(self.run)]
        return [*fixed, "--method", self.method, "-q", *self.more]

    def start(self, arguments: Sequence[str] | None = None) -> Started:
        return Started(self.arguments if arguments is None else arguments)

    def finish(self, arguments: Sequence[str] | None = None) -> Ended:
        return self.start(arguments).ended()


def search_job(folder: Path, server: Server, method: str, more: Sequence[str] = ()) -> SearchJob:
    """Lay out a search whose answers are right when they hold one of some words."""
    folder.mkdir(parents=True, exist_ok=True)
    questions, run_file = folder / "questions.jsonl", folder / "settings.toml"
    questions.write_text("".join(json.dumps({"prompt": f"Say something about the number {number}."}) + "\n" for number in range(20)))
    tables = "".join(
        f'[[models]]\nname = "{name}"\nkind = "openai"\nendpoints = [{{ url = "{server.url}/v1", max_in_flight = {CONNECTIONS} }}]\n'
        f"shape = {{ parameters = {parameters}, layers = 16, width = 2048 }}\n"
        for name, parameters in (("m0", 1e9), ("m1", 3e9))
    )
    grader = '[[reward.parts]]\nkind = "rules"\ngate = false\nrules = [{ rule = "pattern", pattern = "amber|basin" }]\n'
    run_file.write_text(f"[sampling]\nmax_tokens = 64\n{tables}{grader}[concurrency]\nmax_in_flight = {CONNECTIONS}\n")
    return SearchJob(folder, questions, run_file, method, more)


def rows(folder: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "search.db")) as database:
        return database.execute(statement).fetchall()


def result_of(folder: Path) -> dict[str, Any]:
    """What a search found, without what its way there changes: what was paid, and the times that were measured."""
    report = json.loads((folder / "report.json").read_text())
    for name in ("spent", "optimiser_spent", "paid", "paid_for_optimiser", "front"):
        report.pop(name)
    for entry in report["entries"]:
        _without_times(entry["cost"])
    for compared in report["test"]:
        _without_times(compared["cost"])
        compared.pop("latency_s")
    graph = json.loads((folder / "graph.json").read_text())
    return {"report": report, "graph": [graph["nodes"], graph["edges"], graph["sink"]]}


def _without_times(cost: dict[str, Any]) -> None:
    cost.pop("latency_s", None)
    cost.pop("latency_sum_s", None)


def row_search_kills(folder: Path, method: str, *, kills: int, seed: int = 1, latency_s: float = 0.02) -> Row:
    """Kill a search at random points, resume it each time, and compare what it found with a search that nobody disturbed."""
    random, checks = Random(seed), Checks()
    began_s = time.monotonic()
    with counting_server(latency_s=0.0) as server:
        whole = search_job(folder / "whole", server, method)
        ended = whole.finish()
        checks.hold(f"undisturbed: {ended.code} {ended.err[-500:]}", ended.code == 0)
        needed = server.count()["asked"]
        checks.hold("undisturbed: every call once", max(server.stats()["by_call"].values()) == 1)
        server.forget()
        server.control(latency_s=latency_s)
        # The same questions under the same name: it is part of what is found.
        job = SearchJob(folder / "killed", whole.questions, whole.run_file, method)
        job.folder.mkdir()
        done = in_traffic = 0
        for index in range(kills):
            before = server.count()["asked"]
            wanted = random.randint(1, max(1, (needed - before) // max(1, kills - index))) if index % 2 == 0 else 0
            started = job.start()
            if wanted:
                while started.process.poll() is None and server.count()["asked"] < before + wanted:
                    time.sleep(0.002)
            else:
                time.sleep(random.uniform(0.5, 2.5))
            done += started.process.poll() is None
            in_traffic += server.count()["asked"] > before
            started.kill()
        ended = job.finish()
        asked = Counter(server.stats()["by_call"])
    checks.hold(f"the last one ended with {ended.code}: {ended.err[-500:]}", ended.code == 0)
    repeated = sum(count - 1 for count in asked.values())
    cut_off = rows(job.run, "SELECT count(*) FROM sent WHERE sequence NOT IN (SELECT sent FROM outputs)")[0][0]
    checks.hold(f"{repeated} calls asked again, {cut_off} were cut off", repeated <= cut_off)
    checks.hold(f"{repeated} calls asked again in {done} kills", repeated <= done * CONNECTIONS)
    checks.hold(f"{len(asked)} distinct calls, {needed} needed", len(asked) == needed)
    twice = rows(job.run, "SELECT count(*) FROM (SELECT digest FROM outputs GROUP BY digest HAVING count(*) > 1)")[0][0]
    checks.hold(f"{twice} answers kept twice", twice == 0)
    unanswered = "SELECT ifnull(sum(calls), 0) FROM sent WHERE sequence NOT IN (SELECT sent FROM outputs)"
    paid = rows(job.run, "SELECT sum(calls) FROM outputs")[0][0] + rows(job.run, unanswered)[0][0]
    report = json.loads((job.run / "report.json").read_text())
    told = report["spent"]["calls"] + report["optimiser_spent"]["calls"]
    checks.hold(f"{told} calls told of, {paid} paid for", told == paid == report["paid"]["calls"])
    checks.hold("integrity", rows(job.run, "PRAGMA integrity_check")[0][0] == "ok")
    one, other = result_of(whole.run), result_of(job.run)
    checks.hold("the same graph", one["graph"] == other["graph"])
    checks.hold("the same search", one["report"] == other["report"])
    return Row(
        f"SIGKILL x{kills} of optimize --method {method}",
        "no call repeated but those in flight at a kill; the same result as undisturbed",
        f"{done} kills hit it alive, {in_traffic} after traffic; {needed} calls needed, {repeated} asked again, {cut_off} written off; "
        f"{time.monotonic() - began_s:.0f} s",
        tuple(dict.fromkeys(checks.failed)),
        {"kills": kills, "needed": needed, "repeated": repeated, "cut_off": cut_off},
    )
