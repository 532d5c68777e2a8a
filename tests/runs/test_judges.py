"""Judges are paid for like every call: repeated in the one place where calls are, and written off when a kill cuts them off."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.servers.launch import fake_server

from multigraft.records.reader import RunRecord

RUN_FILE = """
[strategy]
name = "random"
n = 1
[[models]]
name = "writer"
kind = "scripted"
[[models]]
name = "critic"
kind = "openai"
endpoints = [{{ url = "{url}" }}]
[[reward.parts]]
kind = "judge"
model = "critic"
[concurrency]
max_attempts = 2
"""


def test_a_judge_cut_off_by_a_kill_is_charged_its_bound(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "Name a tree."}\n')
    run = tmp_path / "run"
    with fake_server(latency_s=30.0) as server:
        (tmp_path / "run.toml").write_text(RUN_FILE.format(url=server.url))
        arguments = ("synth", tmp_path / "prompts.jsonl", "-c", tmp_path / "run.toml", "-o", run, "--json", "-q")
        command = [sys.executable, "-m", "multigraft", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while server.stats()["calls"] == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with RunRecord(run) as record:
            (prompt,) = record.prompts()
            assert record.wasted() == prompt.wasted
            assert prompt.wasted.calls == 1
            assert prompt.wasted.tokens > 100  # the judge's question and its longest reply
            assert prompt.spent() == record.spent()
            assert prompt.spent().calls == 2
        server.control(latency_s=0.0)
        totals: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert totals["unscored"] == {}
    assert totals["wasted"]["calls"] == 1
    assert totals["spent"]["calls"] == 3  # the answer once, the judge twice


def test_a_failing_judge_is_called_as_often_as_the_run_file_says(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "Name a tree."}\n')
    with fake_server(faults=[{"kind": "status", "status": 500}]) as server:
        (tmp_path / "run.toml").write_text(RUN_FILE.format(url=server.url))
        arguments = ("synth", tmp_path / "prompts.jsonl", "-c", tmp_path / "run.toml", "-o", tmp_path / "run", "--json", "-q")
        command = [sys.executable, "-m", "multigraft", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1  # a run without any reward is no success
        totals = json.loads(done.stdout)
        assert server.stats()["calls"] == 2
        assert totals["unscored"] == {"server": 1}
        assert totals["scorers"]["judge"]["spent"]["calls"] == 2
        server.control(faults=[])
        again = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert server.stats()["calls"] == 3  # the response is kept, and only its score is asked for again
        assert again["unscored"] == {}
