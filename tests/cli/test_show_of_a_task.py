"""`multigraft show` tells the results of a run's task, as the task's `[summary]` says."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.analysis.built_records import Told, graded, pairwise, write_run
from typer.testing import CliRunner

from multigraft.analysis import extra
from multigraft.analysis.intervals import wilson
from multigraft.analysis.results import METRICS
from multigraft.cli.main import app
from multigraft.records.folder import write_settings
from multigraft.tasks.schema import SummaryTable
from multigraft.tasks.task import library, load_task
from multigraft.types import Json

GUIDED: Mapping[str, Json] = {"parts": [{"kind": "confidence"}]}


def shown(*arguments: str | Path) -> str:
    done = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"}).invoke(app, ["show", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


def of_task(run: Path, name: str, reward: Mapping[str, Json] = GUIDED) -> Path:
    write_settings(run, {"task": {"name": name}, "reward": dict(reward)})
    return run


def found_in(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shown(run, "--json"))["task"]
    return found


def row(text: str, *first: str) -> list[str]:
    rows = [cells for line in text.splitlines() if (cells := line.split())[: len(first)] == list(first)]
    assert len(rows) == 1, text
    return rows[0]


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    """Three prompts of two levels. The best response by reward is right once of three times, the majority twice, the oracle always."""
    right, wrong = graded(1.0, "42"), graded(0.0, "7")
    prompts = [
        [Told(0.9, {"math": wrong}), Told(0.5, {"math": right}), Told(0.3, {"math": right})],
        [Told(0.9, {"math": right}), Told(0.1, {"math": wrong}), Told(0.1, {"math": right})],
        [Told(0.9, {"math": wrong}), Told(0.1, {"math": wrong}), Told(0.2, {"math": right})],
    ]
    run = write_run(tmp_path / "run", prompts, [{"level": level, "subject": "Algebra"} for level in (10, 2, 2)])
    return of_task(run, "math")


def test_each_metric_has_its_interval(sums: Path) -> None:
    found = found_in(sums)
    assert (found["name"], found["notes"], list(found["scorers"])) == ("math", [], ["math"])
    metrics = found["scorers"]["math"]["metrics"]
    values = {name: metric["estimate"]["value"] for name, metric in metrics.items()}
    assert values == pytest.approx({"accuracy": 1 / 3, "majority": 2 / 3, "weighted_vote": 1 / 3, "oracle": 1.0})
    exact = wilson(1, 3)
    assert metrics["accuracy"] == {"estimate": {"value": exact.value, "low": exact.low, "high": exact.high, "prompts": 3}, "missing": 0, "note": ""}
    by_level = found["scorers"]["math"]["by"]["level"]
    assert {level: group["accuracy"]["estimate"]["value"] for level, group in by_level.items()} == {"10": 0.0, "2": 0.5}
    assert found["scorers"]["math"]["guided"] is False


def test_tables_for_people(sums: Path) -> None:
    text = shown(sums)
    assert "results of the task math" in text
    assert row(text, "math", "accuracy") == ["math", "accuracy", "0.333", "[0.0615,", "0.792]", "3", "-"]
    lines = text.splitlines()
    (levels,) = [number for number, line in enumerate(lines) if line.split()[:2] == ["level", "prompts"]]
    assert [line.split()[:4] for line in lines[levels + 1 : levels + 3]] == [["2", "2", "0.5", "[0.0945,"], ["10", "1", "0", "[0,"]]
    assert "Algebra" not in text  # one group is the same as all
    assert "guided the search" not in text


def test_a_grader_that_guided_is_marked(sums: Path) -> None:
    of_task(sums, "math", {"parts": [{"kind": "math", "weight": 1.0, "optional": False}]})
    assert "math guided the search, so it is no judge from outside" in shown(sums)
    assert found_in(sums)["scorers"]["math"]["guided"] is True


def test_another_scorer_under_the_name_of_a_grader_is_not_taken_for_it(tmp_path: Path) -> None:
    scores = {"rules": graded(1.0, "1"), "gsm8k_rules": graded(0.0, "2")}
    run = of_task(write_run(tmp_path / "run", [[Told(0.5, scores)]]), "gsm8k", {"parts": [{"kind": "rules", "weight": 1.0}]})
    found = found_in(run)["scorers"]
    assert {name: scorer["metrics"]["accuracy"]["estimate"]["value"] for name, scorer in found.items()} == {"gsm8k_rules": 0.0}


def test_several_graders_stand_beside_each_other(tmp_path: Path) -> None:
    prompts = [[Told(0.5, {"ifeval_strict": float(number > 0), "ifeval_loose": 1.0})] for number in range(4)]
    found = found_in(of_task(write_run(tmp_path / "run", prompts), "ifeval"))
    accuracies = {name: scorer["metrics"]["accuracy"]["estimate"]["value"] for name, scorer in found["scorers"].items()}
    assert accuracies == {"ifeval_strict": 0.75, "ifeval_loose": 1.0}


def test_what_is_not_graded_is_told(tmp_path: Path, sums: Path) -> None:
    run = of_task(write_run(tmp_path / "bare", [[Told(0.5, {"confidence": 0.5})]]), "gsm8k")
    assert f"none of its graders (rules) has scored this run; add them: multigraft score {run} --with task" in shown(run).replace("\n", "")
    assert found_in(run)["scorers"] == {}
    partly = write_run(tmp_path / "partly", [[Told(0.5, {"rules": graded(1.0, "1")}), Told(0.1)]])
    accuracy, majority = (found_in(of_task(partly, "gsm8k"))["scorers"]["rules"]["metrics"][name] for name in ("accuracy", "majority"))
    assert accuracy["estimate"]["value"] == 1.0
    assert (majority["estimate"], majority["missing"], majority["note"]) == (None, 1, "no prompt has what it takes of scorer 'rules'")
    assert "rules, majority: no prompt has what it takes of scorer 'rules'" in shown(partly)
    (task := tmp_path / "own.toml").write_text("", "utf-8")
    assert f"{task}: field 'title': Field required" in found_in(of_task(sums, str(task)))["notes"][0]
    task.unlink()
    assert f"reading {task}" in shown(of_task(sums, str(task))).replace("\n", "")


def test_a_run_without_a_task_has_no_results(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [[Told(0.5, {"rules": 0.5})]])
    assert "task" not in json.loads(shown(run, "--json"))
    assert "results of" not in shown(run)


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    prompts = [[Told(0.9, {"pairwise": pairwise(float(number % 4 > 0), 90 + number % 7, 92)})] for number in range(24)]
    return of_task(write_run(tmp_path / "run", prompts, [{"dataset": "koala"}] * 24), "alpaca_eval")


def test_win_rates_also_at_equal_length(compared: Path) -> None:
    metrics = found_in(compared)["scorers"]["pairwise"]["metrics"]
    assert list(metrics) == ["length_controlled_win_rate", "win_rate"]
    assert metrics["win_rate"]["estimate"]["value"] == 0.75
    assert 0.5 < metrics["length_controlled_win_rate"]["estimate"]["value"] < 1.0


def test_without_numpy_all_else_is_told(compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    for name in ("numpy", "scipy"):
        monkeypatch.setitem(sys.modules, name, None)
    metrics = found_in(compared)["scorers"]["pairwise"]["metrics"]
    assert metrics["win_rate"]["estimate"]["value"] == 0.75
    assert metrics["length_controlled_win_rate"]["estimate"] is None
    said = "pairwise, length_controlled_win_rate: length-controlled win rates need numpy and scipy; type: pip install 'multigraft[analysis]'"
    assert said in shown(compared)


def test_values_that_are_no_preferences_make_no_win_rate(tmp_path: Path) -> None:
    run = of_task(write_run(tmp_path / "run", [[Told(0.9, {"pairwise": 7.0})]]), "arena_hard")
    won = found_in(run)["scorers"]["pairwise"]["metrics"]["win_rate"]
    assert won["estimate"] is None
    assert won["note"].startswith("scorer 'pairwise' gave 7 to prompt prompt-0: no preference")


def test_task_files_and_the_analysis_know_the_same_metrics() -> None:
    (metrics, _) = get_args(SummaryTable.model_fields["metrics"].annotation)
    assert set(get_args(metrics)) == set(METRICS)
    assert {metric for name in library() for metric in load_task(name).table.summary.metrics} == set(METRICS)
