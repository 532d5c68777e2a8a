import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from multigraft.cli.main import app


def multigraft(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"id": "sum", "prompt": "What is 12 + 30?", "reference": "42"}\n', "utf-8")
    return path


def test_a_file_where_the_run_should_be_is_one_line(prompts: Path) -> None:
    done = multigraft("synth", prompts, "--models", "scripted:ann", "-o", prompts, "--json")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"error: making {prompts}: ")
    assert json.loads(done.stdout)["error"]["kind"] == "RecordError"


def test_a_budget_without_room_for_a_call_says_so(prompts: Path, tmp_path: Path) -> None:
    done = multigraft("synth", prompts, "--models", "scripted:ann", "--budget", "tokens=10", "-o", tmp_path / "run", "--json", "-q")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["responses"] == 0
    assert done.stderr == "error: no response was made: the budget has no room for one call; raise it, or lower max_tokens\n"


def test_a_run_is_resumed_from_another_folder(prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere, run = tmp_path / "else where", tmp_path / "rün"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    assert multigraft("synth", "prompts.jsonl", "--models", "scripted:ann", "-n", "2", "-o", run, "-q").exit_code == 0
    monkeypatch.chdir(elsewhere)
    done = multigraft("resume", run, "--json", "-q")
    assert (done.exit_code, json.loads(done.stdout)["responses"]) == (0, 2)
    prompts.rename(tmp_path / "moved.jsonl")
    done = multigraft("resume", run, "-q")
    assert done.exit_code == 2
    assert done.stderr == f"error: {prompts}: the prompts of this run are not there any more; say with --prompts where they are now\n"
    assert multigraft("resume", run, "-q", "--prompts", "../moved.jsonl").exit_code == 0


@pytest.mark.parametrize("models", ["", "m0,m0", " , "])
def test_a_dry_run_needs_distinct_models(models: str, tmp_path: Path) -> None:
    (tmp_path / "rewards.txt").write_text("0.5\n")
    done = multigraft("dry-run", "--models", models, "--rewards", tmp_path / "rewards.txt")
    assert done.exit_code == 2
    assert done.stderr == f"error: field '--models': needs models of distinct names, not '{models}'\n"
