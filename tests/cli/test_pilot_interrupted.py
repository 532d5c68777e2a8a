"""Interruptions and kills of a pilot: what was found so far is told, and it goes on where it was."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.optimize.rows_kills import SearchJob, rows, search_job
from tests.runs.driver import Server, counting_server

PARTS = ("--parts", "replicate,width,depth", "--copies", "1,2", "--widths", "1,2", "--depths", "1,2,4", "-n", "6")
CALLS = 6 * (2 + 2 * (1 + 2) + 3 + 2)
"""Two models alone; of each one more copy and two sinks; a chain of three more agents, and its sinks at 2 and 4."""


def pilot_job(folder: Path, server: Server, name: str) -> tuple[SearchJob, list[str]]:
    job = search_job(folder, server, name)
    return job, ["pilot", str(job.questions), "-c", str(job.run_file), *PARTS, "-o", str(job.run), "-q"]


def found_in(job: SearchJob) -> Any:
    return json.loads((job.run / "pilot.json").read_text())


@pytest.mark.slow
def test_a_killed_pilot_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    with counting_server(latency_s=0.0) as server:
        whole, command = pilot_job(tmp_path, server, "whole")
        assert whole.finish(command).code == 0
        assert server.count()["asked"] == CALLS
        server.forget()
        server.control(latency_s=0.05)
        job, command = pilot_job(tmp_path, server, "killed")
        for wanted in (5, 20, 50):
            started = job.start(command)
            assert server.wait_until(lambda count, wanted=wanted: count["asked"] >= wanted)  # type: ignore[misc]  # a default binds it now
            started.kill()
        ended = job.finish(["resume", str(job.run), "-q"])
        assert ended.code == 0, ended.err
        asked = server.stats()["by_call"]
        cut_off = rows(job.run, "SELECT count(*) FROM sent WHERE sequence NOT IN (SELECT sent FROM outputs)")[0][0]
        assert len(asked) == CALLS
        assert sum(asked.values()) - CALLS <= cut_off
        assert rows(job.run, "SELECT count(*) FROM (SELECT digest FROM outputs GROUP BY digest HAVING count(*) > 1)") == [(0,)]
        assert found_in(job) == found_in(whole)


@pytest.mark.slow
def test_an_interrupted_pilot_says_what_it_has_and_loses_nothing(tmp_path: Path) -> None:
    with counting_server(latency_s=0.05) as server:
        job, command = pilot_job(tmp_path, server, "stopped")
        started = job.start(command)
        assert server.wait_until(lambda count: count["answered"] >= 30)
        started.signal(signal.SIGINT)
        ended = started.ended()
        assert ended.code == 130
        assert "not finished; so far" in ended.out
        assert "best alone: " in ended.out
        assert f"stopped: interrupted. Go on with: multigraft resume {job.run}" in ended.err
        assert not (job.run / "pilot.json").exists()
        assert rows(job.run, "SELECT count(*) FROM sent WHERE sequence NOT IN (SELECT sent FROM outputs)") == [(0,)]
        resumed = job.finish(command)
        assert resumed.code == 0, resumed.err
        assert set(server.stats()["by_call"].values()) == {1}
        assert server.count()["asked"] == CALLS
