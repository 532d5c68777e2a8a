"""Whole runs over real embedded models; their weights are fetched once."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

pytestmark = [pytest.mark.real, pytest.mark.slow]

PROMPTS = [
    {"prompt": "Name two fruits.", "id": "fruits"},
    {"prompt": "Which color does the sky have on a clear day?", "id": "sky"},
]


def multigraft(*arguments: object) -> str:
    command = [sys.executable, "-m", "multigraft", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_models_on_one_tree_guided_by_a_real_judge(tmp_path: Path) -> None:
    prompts, run = tmp_path / "prompts.jsonl", tmp_path / "run"
    prompts.write_text("".join(json.dumps(prompt) + "\n" for prompt in PROMPTS))
    (tmp_path / "run.toml").write_text("[sampling]\nmax_tokens = 24\n")
    arguments = ("synth", prompts, "-c", tmp_path / "run.toml", "--models", "smollm2-135m,gemma3-270m", "--reward", "judge:qwen2.5-coder-0.5b")
    totals: dict[str, Any] = json.loads(multigraft(*arguments, "-n", 4, "--budget", "calls=100,flops=1e14", "-o", run, "--json", "-q"))

    assert totals["ends"] == {"done": 2}
    assert totals["responses"] == 8
    assert set(totals["models"]) == {"smollm2-135m", "gemma3-270m"}  # the judge only judges
    judged = totals["scorers"]["judge"]
    assert judged["spent"]["calls"] >= 8
    assert judged["spent"]["flops"] > 0
    assert totals["spent"]["calls"] >= 16
    assert totals["spent"]["calls"] == judged["spent"]["calls"] + sum(share["spent"]["calls"] for share in totals["models"].values())
    assert totals["unscored"] == {}

    tree = json.loads(multigraft("show", run, "fruits", "--json"))
    assert tree["best"] is not None
    assert all(0 < call["reward"] < 1 for call in tree["calls"])
    assert all(call["completion_tokens"] <= 24 for call in tree["calls"])

    multigraft("export", run, "--sft", tmp_path / "sft.jsonl", "--dpo", tmp_path / "dpo.parquet", "--keep", "truncated")
    sft, dpo = polars.read_ndjson(tmp_path / "sft.jsonl"), polars.read_parquet(tmp_path / "dpo.parquet")
    assert sft.height == 2
    assert [message["role"] for row in sft["completion"] for message in row] == ["assistant", "assistant"]
    assert {"prompt", "chosen", "rejected"} <= set(dpo.columns)
    again: dict[str, Any] = json.loads(multigraft(*arguments, "-n", 4, "--budget", "calls=100,flops=1e14", "-o", run, "--json", "-q"))
    assert again["spent"] == totals["spent"]  # the same command again pays nothing


def test_confidence_comes_free_with_the_answers(tmp_path: Path) -> None:
    prompts, run = tmp_path / "prompts.jsonl", tmp_path / "run"
    prompts.write_text("".join(json.dumps(prompt) + "\n" for prompt in PROMPTS))
    (tmp_path / "run.toml").write_text("[sampling]\nmax_tokens = 16\n")
    totals: dict[str, Any] = json.loads(
        multigraft(
            "synth",
            prompts,
            "-c",
            tmp_path / "run.toml",
            "--models",
            "smollm2-135m",
            "--reward",
            "confidence",
            "--strategy",
            "prs",
            "-n",
            4,
            "-o",
            run,
            "--json",
            "-q",
        )
    )
    assert totals["unscored"] == {}
    assert totals["spent"]["calls"] == 8
    tree = json.loads(multigraft("show", run, "sky", "--json"))
    assert all(call["scores"]["confidence"] < 0 for call in tree["calls"])
    assert [len(call["parents"]) for call in tree["calls"]] == [0, 0, 1, 1]
