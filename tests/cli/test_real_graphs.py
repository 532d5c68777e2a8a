"""A pilot, a graph search and its graph over real embedded models; their weights are fetched once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from multigraft.graphs.graph_file import about_of, graph_of

pytestmark = [pytest.mark.real, pytest.mark.slow]

TASK = ("puzzles", "--models", "smollm2-135m,qwen2.5-coder-0.5b", "--task-option", "family=numwords3", "--task-option", "count=10", "--judge", "puzzle")


def multigraft(*arguments: object) -> str:
    command = [sys.executable, "-m", "multigraft", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pilot_a_search_led_by_a_model_and_the_graph_it_found(tmp_path: Path) -> None:
    config, folder = tmp_path / "run.toml", tmp_path / "search"
    config.write_text("[sampling]\nmax_tokens = 12\n")
    piloted = json.loads(
        multigraft("pilot", *TASK, "-c", config, "-n", 3, "--parts", "width", "--widths", "1,2", "--sink", "vote", "-o", folder, "--json", "-q")
    )
    assert {single["model"] for single in piloted["singles"]} == {"smollm2-135m", "qwen2.5-coder-0.5b"}

    search = ("optimize", *TASK, "-c", config, "--method", "agent_reinforce", "-s", "style=compact", "--optimizer", "qwen2.5-coder-0.5b")
    limits = ("--budget", "units=9", "--max-agents", 2, "--sink", "vote,qwen2.5-coder-0.5b", "--evaluations", 4, "--split", "4,3,3")
    report = json.loads(multigraft(*search, *limits, "-o", folder, "--json", "-q"))
    assert report["stopped"] in {"evaluations", "exhausted", "patience", "proposals"}
    assert report["optimiser_spent"]["calls"] >= 1
    assert 0 <= report["estimate"]["mean"] <= 1
    assert len(report["test"]) >= 2

    found = (folder / "graph.json").read_text("utf-8")
    graph, about = graph_of(found), about_of(found)
    assert {node.model for node in graph.live_nodes} <= {"smollm2-135m", "qwen2.5-coder-0.5b", ""}
    assert about["method"] == "agent_reinforce"
    assert (folder / "graph.svg").read_text("utf-8").startswith("<svg")

    again = json.loads(multigraft(*search, *limits, "-o", folder, "--json", "-q"))
    assert again["paid"] == report["paid"]  # the same command again pays nothing

    answer = multigraft(
        *("graph", "run", folder / "graph.json", "-c", config, "--ask", "Write seven hundred and two in digits."),
        *("--models", "smollm2-135m,qwen2.5-coder-0.5b"),
    )
    assert answer.strip()
