"""A judge's calls are repeated in the one place where calls are, and every one of them is paid for."""

import json
import subprocess
import sys
from pathlib import Path

from tests.servers.launch import fake_server

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
        assert totals["scorers"]["judge"]["calls"] == 2
        server.control(faults=[])
        again = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert server.stats()["calls"] == 3  # the response is kept, and only its score is asked for again
        assert again["unscored"] == {}
