"""The command as a process of its own, over scripted models."""

import json
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.pilots import MODELS
from tests.reports.command import Done, multigraft
from typer.testing import CliRunner

from multigraft.cli.main import app
from multigraft.cli.optimize_output import markdown_of
from multigraft.graphs.graph_file import about_of, graph_of
from multigraft.strategies.graph import Collaboration


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"prompt": f"Question {number}: what is it?", "reference": str(1 + number % 3)} for number in range(12)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "run.toml").write_text(MODELS)
    return tmp_path


def optimize(folder: Path, *more: str, output: str = "found") -> Done:
    fixed = ("--method", "random", "--evaluations", "4", "--split", "4,4,4", "-o", output)
    return multigraft(folder, "optimize", "questions.jsonl", "-c", "run.toml", *fixed, *more)


def number_of(folder: Path, statement: str) -> Any:
    with closing(sqlite3.connect(folder / "found" / "search.db")) as database:
        return database.execute(statement).fetchone()[0]


def test_a_search_ends_in_a_graph_that_runs(folder: Path) -> None:
    done = optimize(folder, "--budget", "units=9")
    assert done.code == 0, done.err
    assert "The best graph is number" in done.out
    assert "On 4 test questions, which the search never saw:" in done.out
    assert "4 of 4 graphs" in done.err or "best so far" in done.err
    text = (folder / "found" / "graph.json").read_text()
    graph, about = graph_of(text), about_of(text)
    assert {node.model for node in graph.nodes} <= {"small", "large", ""}
    assert about["caps"] == {"units": 9.0}
    assert about["questions"] == {"train": 4, "validation": 4, "test": 4}
    report = json.loads((folder / "found" / "report.json").read_text())
    assert report["whole"] is True
    assert report["test"][0]["name"] == "the best graph"
    assert all(entry["cost"]["units"] <= 9 * (1 + 1e-9) for entry in report["entries"])
    assert report["paid"]["calls"] == number_of(folder, "SELECT count(*) FROM outputs")
    assert "The best graph" in (folder / "found" / "report.md").read_text()
    assert (folder / "found" / "graph.svg").read_text().startswith("<svg")
    assert set(Collaboration(graph=text).models) <= {"small", "large"}


@pytest.mark.parametrize("models", [("-c", "run.toml"), ("--models", "scripted:small,scripted:large", "--reward", "final_answer")])
def test_the_command_it_ends_with_runs_the_graph_and_goes_on_as_a_run(folder: Path, models: tuple[str, ...]) -> None:
    done = multigraft(folder, "optimize", "questions.jsonl", *models, "--method", "random", "--evaluations", "2", "--split", "4,4,0", "-o", "found", "-q")
    assert done.code == 0, done.err
    (command,) = (line.removeprefix("run it: ") for line in done.out.splitlines() if line.startswith("run it: "))
    ran = multigraft(folder, *shlex.split(command)[1:], "-o", "again", "-q")
    assert ran.code == 0, ran.err
    assert "note:" not in ran.err
    record = multigraft(folder, "show", "again")
    assert "12" in record.out
    assert multigraft(folder, "resume", "again", "-q").code == 0
    assert not (folder / "again" / "search.db").exists()


def test_a_question_that_is_there_twice_counts_once(folder: Path) -> None:
    rows = (folder / "questions.jsonl").read_text()
    (folder / "questions.jsonl").write_text(rows + rows)
    done = optimize(folder, "--budget", "units=9", "--split", "4,4,5")
    assert done.code == 2
    assert "note: 12 of 24 questions are there more than once" in done.err
    assert "there are 12 questions, and 4 + 4 + 5 are asked for" in done.err
    done = optimize(folder, "--budget", "units=9")
    assert done.code == 0, done.err
    assert number_of(folder, "SELECT count(DISTINCT substr(prompt_id, 1, 32)) = count(DISTINCT prompt_id) FROM trials") == 1


def test_the_report_holds_no_markup_but_its_own() -> None:
    page = markdown_of(["The best is a<b>*x*\x1b[31m[y](z)\n# head.", "  One call.", "  2 calls.", "It ended."])
    assert page == "# Graph search\n\nThe best is a\\<b\\>\\*x\\*␛[31m[y]\\(z)⏎# head.\n\n- One call.\n- 2 calls.\n\nIt ended.\n\n"


def test_a_search_without_anything_that_says_what_is_right_is_refused(folder: Path) -> None:
    done = multigraft(folder, "optimize", "questions.jsonl", "--models", "scripted:ann", "--method", "random")
    assert done.code == 2
    assert "field '--reward': nothing says which answers are right" in done.err


def test_the_same_command_again_pays_nothing(folder: Path) -> None:
    first = optimize(folder, "--budget", "units=9", "--json", "-q")
    assert first.code == 0, first.err
    calls = number_of(folder, "SELECT count(*) FROM sent")
    again = optimize(folder, "--budget", "units=9", "--json", "-q")
    assert again.code == 0, again.err
    assert number_of(folder, "SELECT count(*) FROM sent") == calls
    one, other = json.loads(first.out), json.loads(again.out)
    assert one == other
    assert (one["stopped"], one["cut_short"]) == ("evaluations", None)


def test_a_spending_limit_stops_it_with_what_was_found_and_more_lets_it_go_on(folder: Path) -> None:
    whole = optimize(folder, "--budget", "units=9", "-q", output="whole")
    assert whole.code == 0, whole.err
    stopped = optimize(folder, "--budget", "units=9", "--spend", "calls=30", "-q")
    assert stopped.code == 0, stopped.err
    assert "stopped: the run's limit of 30 calls" in stopped.err
    assert "multigraft resume found" in stopped.err
    assert number_of(folder, "SELECT count(*) FROM sent") <= 30
    assert json.loads((folder / "found" / "report.json").read_text())["whole"] is False
    resumed = multigraft(folder, "resume", "found", "--budget", "calls=5000", "-q")
    assert resumed.code == 0, resumed.err
    assert "stopped:" not in resumed.err
    first, second = ((folder / name / "graph.json").read_text() for name in ("whole", "found"))
    assert graph_of(first) == graph_of(second)
    assert number_of(folder, "SELECT count(*) FROM (SELECT digest FROM outputs GROUP BY digest HAVING count(*) > 1)") == 0


def test_what_graphs_took_is_what_was_paid_however_often_it_was_stopped(folder: Path) -> None:
    reports = []
    # Most stops lie within a trial, whose outputs are there already when it is done again.
    for limit in (23, 31, 38, 45, 53, 5000):
        assert optimize(folder, "--budget", "units=9", "--spend", f"calls={limit}", "-q").code == 0
        reports.append(json.loads((folder / "found" / "report.json").read_text()))
        assert reports[-1]["spent"]["calls"] == number_of(folder, "SELECT count(*) FROM outputs")
        assert reports[-1]["spent"] == pytest.approx(reports[-1]["paid"])
    assert [report["whole"] for report in reports] == [False] * 5 + [True]
    assert f"Spent on graphs: {reports[-1]['spent']['calls']} calls" in (folder / "found" / "report.md").read_text()


def test_a_budget_that_nothing_fits_is_refused_before_anything_is_paid(folder: Path) -> None:
    done = optimize(folder, "--budget", "units=0.5", "--tokens", "20,5")
    assert done.code == 2
    assert "no graph fits into units=0.5: the smallest is small, and it takes 1" in done.err
    assert number_of(folder, "SELECT count(*) FROM sent") == 0


def test_tokens_are_measured_on_the_first_questions_alone(folder: Path) -> None:
    done = optimize(folder, "--budget", "units=0.5")
    assert done.code == 2
    assert number_of(folder, "SELECT count(*) FROM sent") == 8  # two models on four training questions
    kept = json.loads(number_of(folder, "SELECT value FROM facts WHERE name = 'workload'"))
    assert kept["by_model"].keys() == {"small", "large"}
    assert kept["prompt"] > 0
    assert kept["completion"] > 0


def test_changed_settings_are_refused_and_a_longer_search_is_not(folder: Path) -> None:
    assert optimize(folder, "--budget", "units=9", "-q").code == 0
    changed = optimize(folder, "--budget", "units=10", "-q")
    assert changed.code == 2
    assert "optimize.caps.units: 9.0 -> 10.0" in changed.err
    longer = optimize(folder, "--budget", "units=9", "-q", "--evaluations", "6", "--patience", "20")
    assert longer.code == 0, longer.err
    assert json.loads((folder / "found" / "report.json").read_text())["counts"]["evaluations"] == 6


def test_changed_questions_are_refused(folder: Path) -> None:
    assert optimize(folder, "--budget", "units=9", "-q").code == 0
    questions = (folder / "questions.jsonl").read_text()
    (folder / "questions.jsonl").write_text(questions.replace("Question", "Riddle"))
    done = optimize(folder, "--budget", "units=9", "-q")
    assert done.code == 2
    assert "the questions are not those it was started with" in done.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--method", "randm"), "Did you mean 'random'?"),
        (("--sink", "larg"), "Did you mean 'large'?"),
        (("--objective", "speed"), "unknown objective 'speed'"),
        (("--split", "10,10,10"), "there are 12 questions, and 10 + 10 + 10 are asked for"),
        (("--spend", "usd=1"), "the price of 'large', 'small' is not known"),
        (("--models", "tiny"), "'tiny' is neither a model of the run file"),
        (("-s", "edges=2"), "edges"),
    ],
)
def test_mistakes_are_said_before_a_folder_is_made(folder: Path, flags: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, ["optimize", "questions.jsonl", "-c", "run.toml", "--method", "random", "-o", "found", *flags])
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert not (folder / "found").exists()
