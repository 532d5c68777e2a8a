"""The command as a process of its own, over scripted models."""

import json
from pathlib import Path

import pytest
from tests.cli.pilots import MODELS, found_in, laid_out, number_of, pilot
from tests.reports.command import multigraft
from typer.testing import CliRunner

from multigraft.cli.main import app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return laid_out(tmp_path)


def test_a_pilot_says_what_it_will_take_and_takes_as_much(folder: Path) -> None:
    planned = json.loads(pilot(folder, "--dry-run", "--json").out)
    assert not (folder / "found").exists()
    done = pilot(folder)
    assert done.code == 0, done.err
    assert f"in all {planned['calls']} calls, at most " in done.err
    assert number_of(folder, "SELECT count(*) FROM sent") == planned["calls"] == sum(planned["calls_by_part"].values())
    assert planned["questions"] == 6, "a third of all"
    assert planned["models"] == ["small", "large"]
    assert planned["sink"] == {"model": "small", "role": "assistant"}, "of two models the cheaper"
    assert planned["usd"] is None
    assert planned["flops"] > 0


def test_a_pilot_ends_in_findings_a_figure_and_a_verdict(folder: Path) -> None:
    done = pilot(folder)
    assert done.code == 0, done.err
    for begin in ("best alone: ", "copies of small: best at ", "copies of large: ", "width of small: ", "depth of small: ", "how they trade: ", "verdict: "):
        assert sum(line.startswith(begin) for line in done.out.splitlines()) == 1, done.out
    found = found_in(folder)
    assert [single["model"] for single in found["singles"]] == ["small", "large"]
    assert [(each["model"], each["copies"]) for each in found["copies"]] == [("small", 1), ("small", 2), ("large", 1), ("large", 2)]
    assert [(cell["width"], cell["depth"]) for cell in found["grid"]] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert [mix["counts"] for mix in found["mixes"]] == [{"small": 3}, {"large": 1}]
    assert {single["questions"] for single in found["singles"]} == {6}
    assert len(set(found["questions"])) == 6
    assert found["prompt_tokens"] > 0
    assert found["completion_tokens"] > 0
    assert found["singles"][1]["units"] == pytest.approx(3, rel=0.5)
    assert found["about"] == {"task": str(folder / "questions.jsonl"), "models": ["small", "large"], "seed": 0}
    assert "<svg" in (folder / "found" / "pilot.svg").read_text()


def test_the_same_pilot_again_pays_nothing_and_finds_the_same(folder: Path) -> None:
    assert pilot(folder, "-q").code == 0
    text, calls = (folder / "found" / "pilot.json").read_text(), number_of(folder, "SELECT count(*) FROM sent")
    again = pilot(folder, "--json", "-q")
    assert again.code == 0, again.err
    assert number_of(folder, "SELECT count(*) FROM sent") == calls
    assert (folder / "found" / "pilot.json").read_text() == text
    printed = json.loads(again.out)
    assert {name: value for name, value in printed.items() if name in json.loads(text)} == json.loads(text)
    assert printed["whole"] is True
    assert printed["stopped"] is None
    assert printed["paid"]["calls"] == calls
    assert printed["verdict"][-1].startswith("verdict: ")


def test_a_larger_pilot_builds_on_a_smaller_one(folder: Path) -> None:
    assert pilot(folder, "-q", settings=("--parts", "singles", "-n", "4")).code == 0
    assert number_of(folder, "SELECT count(*) FROM sent") == 2 * 4
    done = pilot(folder, "-q", settings=("--parts", "width", "--widths", "1,2", "-n", "6"))
    assert done.code == 0, done.err
    # Two models alone on two more questions; one more agent, and sinks of one and of two, on all six.
    assert number_of(folder, "SELECT count(*) FROM sent") == 2 * 4 + 2 * 2 + 3 * 6
    assert [each["width"] for each in found_in(folder)["widths"]] == [1, 2]


def test_a_spending_limit_stops_it_with_what_was_found_and_more_lets_it_go_on(folder: Path) -> None:
    assert pilot(folder, "-q", output="whole").code == 0
    stopped = pilot(folder, "--spend", "calls=30", "-q")
    assert stopped.code == 0, stopped.err
    assert "not finished; so far, on the questions that were answered:" in stopped.out
    assert "best alone: " in stopped.out
    assert "stopped: the run's limit of 30 calls" in stopped.err
    assert "Go on with: multigraft resume found" in stopped.err
    assert not (folder / "found" / "pilot.json").exists()
    resumed = multigraft(folder, "resume", "found", "--budget", "calls=5000", "-q")
    assert resumed.code == 0, resumed.err
    assert found_in(folder) == found_in(folder, "whole")
    assert number_of(folder, "SELECT count(*) FROM (SELECT digest FROM outputs GROUP BY digest HAVING count(*) > 1)") == 0
    assert number_of(folder, "SELECT count(*) FROM sent") == number_of(folder, "SELECT count(*) FROM sent", "whole")


def test_without_the_library_for_figures_there_are_the_findings_and_a_note(folder: Path) -> None:
    done = pilot(folder, "-q", prelude="import sys; sys.modules['matplotlib'] = None; ")
    assert done.code == 0, done.err
    assert "note: the figure of a pilot needs matplotlib; type: pip install 'multigraft[plots]'" in done.err
    assert found_in(folder)["schema"] == "multigraft.pilot"
    assert not (folder / "found" / "pilot.svg").exists()


def test_a_dry_run_shows_each_part_and_leaves_nothing(folder: Path) -> None:
    done = pilot(folder, "--dry-run", "--tokens", "20,5")
    assert done.code == 0, done.err
    assert "6 questions; models, cheapest first: small, large; small reads the answers and gives the last one" in done.out
    assert "each model alone: 2 graphs, 12 calls" in done.out
    assert "mixes at one budget: 2 graphs, " in done.out
    assert "calls, about " in done.out
    assert not (folder / "found").exists()


def test_thousands_of_calls_are_not_started_unasked(folder: Path) -> None:
    many = ("-n", "18", "--parts", "depth", "--depths", "600")
    done = pilot(folder, *many, settings=())
    assert done.code == 2
    assert "this pilot may ask for 10,836 calls, which is not started unasked: say --spend calls=10836" in done.err
    assert not (folder / "found").exists()
    asked = pilot(folder, *many, "--spend", "calls=20", "-q", settings=())
    assert asked.code == 0, asked.err
    assert number_of(folder, "SELECT count(*) FROM sent") <= 20


def test_a_task_brings_its_questions_and_its_grader(tmp_path: Path) -> None:
    arguments = ("pilot", "puzzles", "--task-option", "count=9", "--models", "scripted:ann,scripted:bob", "--parts", "width", "--widths", "1,2", "-o", "found")
    done = multigraft(tmp_path, *arguments, "-q")
    assert done.code == 0, done.err
    found = found_in(tmp_path)
    assert found["about"]["task"] == "puzzles"
    assert [(single["questions"], single["units"]) for single in found["singles"]] == [(3, None), (3, None)], "sizes of scripted models are not known"


def test_settings_of_a_run_file_are_changed_by_flags(folder: Path) -> None:
    (folder / "run.toml").write_text(MODELS + '[pilot]\nquestions = 4\nparts = ["width"]\nwidths = [1, 2]\nsink = "large"\n[optimize]\nmethod = "bayes"\n')
    planned = json.loads(pilot(folder, "--dry-run", "--json", settings=()).out)
    assert (planned["questions"], planned["graphs"], planned["sink"]["model"]) == (4, 4, "large")
    changed = json.loads(pilot(folder, "--dry-run", "--json", "-n", "5", "--sink", "vote", "--widths", "1,2,4", settings=()).out)
    assert (changed["questions"], changed["graphs"], changed["sink"]["role"]) == (5, 5, "vote")
    assert changed["calls"] == 5 * (2 + 3), "a sink that chooses asks nothing"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--parts", "widths"), "pilot.parts"),
        (("--copies", "0,2"), "'0,2' are no whole numbers from 1 on; write them like 1,2,4,8"),
        (("--widths", "1,x"), "'1,x' are no whole numbers"),
        (("--block-model", "huge"), "'huge' is no model of the pool; known: small, large"),
        (("--sink", "small,vote"), "'small,vote' is not one sink"),
        (("--sink", "larg"), "Did you mean 'large'?"),
        (("-n", "19"), "there are 18 questions, not 19"),
        (("--spend", "usd=1"), "the price of 'large', 'small' is not known"),
        (("--models", "tiny"), "'tiny' is neither a model of the run file"),
    ],
)
def test_mistakes_are_said_before_a_folder_is_made(folder: Path, flags: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, ["pilot", "questions.jsonl", "-c", "run.toml", "-o", "found", *flags])
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert not (folder / "found").exists()
