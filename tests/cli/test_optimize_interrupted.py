"""Interruptions of a search: what was found so far is written down, and it goes on where it was."""

import json
import signal
import time
from pathlib import Path

import pytest
from tests.optimize.rows_kills import result_of, rows, search_job
from tests.runs.driver import counting_server


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_the_best_so_far_and_loses_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with counting_server(latency_s=0.05) as server:
        job = search_job(tmp_path, server, "random")
        started = job.start()
        assert server.wait_until(lambda count: count["answered"] >= 90)
        started.signal(number)
        ended = started.ended()
        assert ended.code == 128 + number
        assert "multigraft resume" in ended.err
        report = json.loads((job.run / "report.json").read_text())
        assert report["whole"] is False
        assert report["stopped"] == "interrupted"
        assert report["best"] is not None
        assert (job.run / "graph.json").is_file()
        assert rows(job.run, "SELECT count(*) FROM sent WHERE sequence NOT IN (SELECT sent FROM outputs)") == [(0,)]
        resumed = job.finish(["resume", str(job.run), "-q"])
        assert resumed.code == 0, resumed.err
        assert max(server.stats()["by_call"].values()) == 1
        found = result_of(job.run)
        whole = search_job(tmp_path, server, "random", ["-o", str(tmp_path / "whole")])
        assert whole.finish().code == 0
        assert result_of(tmp_path / "whole") == found


@pytest.mark.slow
def test_a_second_interruption_leaves_at_once(tmp_path: Path) -> None:
    with counting_server(latency_s=30.0) as server:
        job = search_job(tmp_path, server, "random")
        started = job.start()
        assert server.wait_until(lambda count: count["asked"] >= 1)
        started.signal(signal.SIGINT)
        assert "Interrupt again" in started.line()
        began_s = time.monotonic()
        started.signal(signal.SIGINT)
        assert started.ended().code == 130
        assert time.monotonic() - began_s < 5.0
