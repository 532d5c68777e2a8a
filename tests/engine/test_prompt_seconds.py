"""Seconds a prompt may take: it asks nothing more after them, and is not taken up again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.servers.launch import fake_server

RUN_FILE = """
[strategy]
name = "sequential"
n = 40
[[models]]
name = "slow"
kind = "openai"
endpoints = [{{ url = "{url}" }}]
[[reward.parts]]
kind = "scripted"
[budget.prompt]
seconds = 0.5
"""


def test_a_prompt_stops_asking_when_its_own_seconds_are_spent(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "One."}\n{"prompt": "Two."}\n')
    with fake_server(latency_s=0.2) as server:
        (tmp_path / "run.toml").write_text(RUN_FILE.format(url=server.url))
        arguments = ("synth", tmp_path / "prompts.jsonl", "-c", tmp_path / "run.toml", "-o", tmp_path / "run", "--set", "max_parallel=1", "--json", "-q")
        command = [sys.executable, "-m", "multigraft", *map(str, arguments)]
        totals: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert totals["ends"] == {"overtime": 2}
        assert 2 <= totals["responses"] <= 6  # one at a time, 0.2 s each
        calls = server.stats()["calls"]
        again = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert (again["ends"], server.stats()["calls"]) == ({"overtime": 2}, calls)
