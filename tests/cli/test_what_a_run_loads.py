"""A run loads what it needs and no more, so that it starts fast: tasks, puzzles, judges, reward models and sandboxes stay away from the others."""

import subprocess
import sys
from pathlib import Path

import pytest

REST = (
    *("multigraft.tasks.schema", "multigraft.puzzles", "multigraft.sandbox", "multigraft.rewards.judges", "multigraft.rewards.hf", "multigraft.rewards.comet"),
    *("multigraft.server", "multigraft.rewards.math_answer", "multigraft.datasets", "multigraft.analysis.results"),
    *("torch", "transformers", "numpy", "scipy", "pyarrow", "datasets", "jinja2", "sympy", "sacrebleu", "math_verify", "xllamacpp", "huggingface_hub"),
)
CODE = """
import sys
from multigraft.cli.main import app
try:
    app(sys.argv[2:])
finally:
    print(*[name for name in sys.argv[1].split() if name in sys.modules])
"""


def loaded(folder: Path, *arguments: str, names: tuple[str, ...] = REST) -> list[str]:
    command = [sys.executable, "-c", CODE, " ".join(names), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "Say it.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}\n', "utf-8")
    return tmp_path


def test_a_run_of_prompts_and_rules(prompts: Path) -> None:
    assert loaded(prompts, "synth", "prompts.jsonl", "--models", "scripted:ann", "-n", "2", "-o", "run", "-q") == []
    assert loaded(prompts, "resume", "run", "-q") == []


def test_a_run_of_puzzles_loads_them_and_no_reward_model(tmp_path: Path) -> None:
    run = ("synth", "--task", "puzzles", "--task-option", "count=1", "--models", "scripted:ann", "-n", "1", "-o", "run", "-q")
    # Puzzles hold programs too, so their grader knows the sandbox.
    assert loaded(tmp_path, *run) == ["multigraft.tasks.schema", "multigraft.puzzles", "multigraft.sandbox"]


def test_showing_a_run_without_a_task_loads_no_client(prompts: Path) -> None:
    loaded(prompts, "synth", "prompts.jsonl", "--models", "scripted:ann", "-n", "1", "-o", "run", "-q")
    assert (
        loaded(prompts, "show", "run", names=("aiohttp", "multigraft.tasks.schema", "multigraft.engine", "multigraft.config", "numpy", "multigraft.rewards"))
        == []
    )
