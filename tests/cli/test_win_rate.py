"""`multigraft win-rate` on runs written through the real log."""

import json
from pathlib import Path

import pytest
import typer
from tests.analysis.built_records import Told, pairwise, write_run
from typer.testing import CliRunner

from multigraft.analysis import extra
from multigraft.cli.win_rate import win_rate

app = typer.Typer()
app.command()(win_rate)


def ran(*arguments: str | Path, code: int = 0) -> str:
    done = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"}).invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


def run_of(folder: Path, num_won: int, version: str = "1") -> Path:
    """Twenty prompts, of which the first so many are won by responses of many lengths."""
    prompts = [[Told(0.5, {"duel": pairwise(float(number < num_won), 100 + 7 * (number % 6), 110)}), Told(0.1)] for number in range(20)]
    return write_run(folder, prompts, version=version)


def test_one_run(tmp_path: Path) -> None:
    text = ran(run_of(tmp_path / "run", 15), "--scorer", "duel", "--resamples", "200")
    assert "win rate over the baseline, by duel" in text
    row = next(line for line in text.splitlines() if line.startswith("  /"))
    assert "20  75.0% [" in row
    assert "rank" not in text


def test_several_runs_are_ranked(tmp_path: Path) -> None:
    good, bad = run_of(tmp_path / "good", 15), run_of(tmp_path / "bad", 5, version="2")
    found = json.loads(ran(bad, good, "--scorer", "duel", "--resamples", "200", "--json"))
    assert [rank["name"] for rank in found["ranking"]] == [str(good), "baseline", str(bad)]
    assert [rank["win_rate"]["value"] for rank in found["ranking"]] == pytest.approx([0.75, 0.5, 0.25], abs=1e-5)
    assert found["ranking"][0]["rating"]["value"] == pytest.approx(1190.85, abs=0.01)
    assert found["runs"][str(good)]["length_controlled"]["difficulty"] is not None
    assert found["versions"] == ["1", "2"]
    text = ran(bad, good, "--scorer", "duel", "--resamples", "200")
    assert "the records hold 2 versions of the scorer" in text
    assert "1191 [" in text


def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(tmp_path / "run", 15)
    assert "Did you mean 'duel'?" in ran(run, "--scorer", "dual", code=2)
    assert "a run is named twice" in ran(run, run, "--scorer", "duel", code=2)
    unscored = write_run(tmp_path / "unscored", [[Told(0.5)]])
    assert f"multigraft score {unscored} --with duel" in ran(unscored, "--scorer", "duel", code=2).replace("\n", "")
    grades = write_run(tmp_path / "grades", [[Told(0.5, {"grade": 7.0})]])
    assert "name a pairwise scorer" in ran(grades, "--scorer", "grade", code=2)
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    assert "win rates need numpy and scipy; type: pip install 'multigraft[analysis]'" in ran(run, "--scorer", "duel", code=1)
