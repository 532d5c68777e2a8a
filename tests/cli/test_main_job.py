"""The README's main job, cut down to two prompts: several real models on one tree, then datasets that load."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import polars
import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- main-job -->\n```bash\n(.*)\n```")


def commands() -> list[list[str]]:
    """What the README's command does after the installation, one command a list."""
    found = BLOCK.search((ROOT / "README.md").read_text("utf-8"))
    assert found is not None
    install, *rest = [shlex.split(part) for part in found[1].split("&&")]
    assert install[:2] == ["pip", "install"]
    return rest


def test_the_main_job_takes_three_models_and_no_key() -> None:
    settings = tomllib.loads((ROOT / "examples" / "run.toml").read_text("utf-8"))
    assert [model.get("kind", "local") for model in settings["models"]] == ["local"] * 3
    assert len({model["name"] for model in settings["models"]}) == 3
    assert settings["strategy"]["name"] == "toa"
    assert "key_env" not in (ROOT / "examples" / "run.toml").read_text("utf-8")


@pytest.mark.real
@pytest.mark.slow
def test_the_main_job_ends_with_datasets(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    printed = ""
    for command in commands():
        fewer = {"synth": ["-n", "8", "--limit", "3"]}.get(command[1], [])
        done = subprocess.run([*command, *fewer], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stderr
        printed += done.stdout
    assert len(re.findall(r"^  (?:smollm2-135m|gemma3-270m|qwen2.5-coder-0.5b) +\d", printed, flags=re.MULTILINE)) == 3
    assert re.search(r"spent +[\d.]+ [TG]FLOPs, [\d,]+ tokens, \d+ calls", printed)
    best, first = (float(value) for value in re.findall(r"best ([\d.-]+), first response ([\d.-]+)", printed)[0])
    assert best > first

    chosen = polars.read_ndjson(tmp_path / "runs/first/sft.jsonl", infer_schema_length=None)
    assert chosen.height == 3
    pairs = [json.loads(line) for line in (tmp_path / "runs/first/dpo.jsonl").read_text("utf-8").splitlines()]
    for pair in pairs:
        assert [message["role"] for message in pair["prompt"]] == ["user"]
        assert [message["role"] for message in (*pair["chosen"], *pair["rejected"])] == ["assistant", "assistant"]
        assert pair["chosen_reward"] > pair["rejected_reward"]
    assert pairs
