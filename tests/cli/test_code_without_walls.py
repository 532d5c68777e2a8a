"""Generated code runs without walls only where somebody typed so, now; and the record says it."""

import json
import sys
import tomllib
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from multigraft.cli.main import app
from multigraft.records.reader import RunRecord

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="generated code runs on Linux")

DATA = Path(__file__).parents[1] / "data" / "tasks" / "humaneval.jsonl"
FLAG = "--unsafe-no-sandbox"
REFUSED = "error: field 'unsafe_no_sandbox': this would run generated code without walls around it; if you mean it, type --unsafe-no-sandbox as well\n"
UNSAFE = "unsafe_no_sandbox = true\n"


def multigraft(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refused(*arguments: str | Path) -> str:
    done = multigraft(*arguments)
    assert done.exit_code == 2, done.output
    return done.stderr


def facts_of(run: Path) -> list[dict[str, Any]]:
    with RunRecord(run) as record:
        return [json.loads(text) for (text,) in record._database.execute("SELECT facts FROM sessions WHERE seconds = 0 ORDER BY sequence")]


@pytest.fixture
def synth(tmp_path: Path) -> tuple[str | Path, ...]:
    """One item of HumanEval, answered rightly."""
    item = DATA.read_text("utf-8").splitlines()[0]
    (tmp_path / "items.jsonl").write_text(item + "\n", "utf-8")
    right = json.loads(item)
    settings = f"[[models]]\nname = 'ann'\nkind = 'scripted'\nanswers = [{json.dumps(right['prompt'] + right['canonical_solution'])}]\n"
    (tmp_path / "settings.toml").write_text(settings, "utf-8")
    items = ("synth", tmp_path / "items.jsonl", "--task", "humaneval", "-c", tmp_path / "settings.toml")
    return (*items, "--reward", "scripted", "-n", "1", "-o", tmp_path / "run", "-q", "--json")


def test_a_run_file_alone_cannot_take_the_walls_away(synth: tuple[str | Path, ...], tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(UNSAFE + (tmp_path / "settings.toml").read_text("utf-8"), "utf-8")
    assert refused(*synth) == REFUSED
    assert not (tmp_path / "run").exists()


def test_typed_it_is_in_the_settings_and_in_the_record(synth: tuple[str | Path, ...], tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = multigraft(*synth, FLAG)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["scorers"]["unit_tests"]["mean"] == 1.0
    assert tomllib.loads((run / "run.toml").read_text("utf-8"))["unsafe_no_sandbox"] is True
    assert [facts["sandbox"].partition(";")[0] for facts in facts_of(run)] == ["none (unsafe)"]
    # And again for every session.
    assert refused("resume", run, "-q") == REFUSED
    assert multigraft("resume", run, "-q", FLAG).exit_code == 0
    assert [facts["sandbox"].partition(";")[0] for facts in facts_of(run)] == ["none (unsafe)"] * 2
    said = refused(*synth)
    assert "unsafe_no_sandbox: True -> False" in said


def test_a_scorer_that_is_added_later_has_walls_unless_typed(synth: tuple[str | Path, ...], tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert multigraft(*synth, "--judge", "none").exit_code == 0
    assert "sandbox" not in facts_of(run)[0]  # no code was run
    scored = json.loads(multigraft("score", run, "--with", "task", FLAG, "--json", "-q").stdout)
    assert scored["scorers"]["unit_tests"]["mean"] == 1.0
    assert facts_of(run)[-1]["sandbox"].startswith("none (unsafe);")


@pytest.mark.skipif(which("bwrap") is None, reason="walls are built by bubblewrap")
def test_scores_with_and_without_walls_are_those_of_two_scorers(synth: tuple[str | Path, ...], tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert multigraft(*synth, FLAG).exit_code == 0
    said = refused("score", run, "--with", "task", "-q")
    assert "the run holds scores of another scorer called 'unit_tests'" in said
