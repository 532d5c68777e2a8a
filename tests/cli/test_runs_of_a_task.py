"""`multigraft synth --task`: what a task brings along, what a user may say otherwise, and how such a run goes on."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from multigraft.cli.main import app

DATA = Path(__file__).parents[1] / "data" / "tasks"
PUZZLES = ("--task", "puzzles", "--task-option", "family=extract", "--task-option", "count=2")
MODELS = ("--models", "scripted:ann", "-n", "2", "-q", "--json")


def multigraft(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def totals_of(*arguments: str | Path) -> dict[str, Any]:
    done = multigraft(*arguments)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def synth(run: Path, *arguments: str | Path) -> dict[str, Any]:
    return totals_of("synth", *arguments, *MODELS, "-o", run)


def refused(*arguments: str | Path) -> str:
    done = multigraft(*arguments)
    assert done.exit_code == 2, done.output
    return done.stderr


def settings_in(run: Path) -> dict[str, Any]:
    return tomllib.loads((run / "run.toml").read_text("utf-8"))


def scored(totals: dict[str, Any]) -> dict[str, int]:
    return {name: scorer["scored"] for name, scorer in totals["scorers"].items()}


@pytest.fixture
def gsm8k(tmp_path: Path) -> Path:
    """Two items of a file."""
    path = tmp_path / "gsm8k.jsonl"
    path.write_text("".join((DATA / "gsm8k.jsonl").read_text("utf-8").splitlines(keepends=True)[:2]), "utf-8")
    return path


def test_a_task_brings_prompts_a_reward_and_graders(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = multigraft("synth", *PUZZLES, *MODELS, "-o", run)
    assert done.exit_code == 0
    assert done.stderr == "note: guided by confidence, as the task 'puzzles' suggests; --reward names another (`multigraft task show puzzles`)\n"
    assert scored(json.loads(done.stdout)) == {"confidence": 4, "puzzle": 4}
    settings = settings_in(run)
    assert settings["task"] == {"name": "puzzles", "options": {"family": "extract", "count": 2}}
    assert "prompts" not in settings
    assert [(part["kind"], part["at"]) for part in settings["judge"]["parts"]] == [("puzzle", "all")]


@pytest.mark.parametrize(
    ("judge", "scorers"), [("none", ["scripted"]), ("task", ["scripted", "puzzle"]), ("task+confidence", ["scripted", "puzzle", "confidence"])]
)
def test_judges_may_be_others(judge: str, scorers: Sequence[str], tmp_path: Path) -> None:
    assert list(scored(synth(tmp_path / "run", *PUZZLES, "--reward", "scripted", "--judge", judge))) == scorers


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--task", "puzzels"), "error: unknown task 'puzzels'. Did you mean 'puzzles'? Known: "),
        (
            (*PUZZLES, "--task-option", "famly=sort"),
            "error: unknown option of the task 'famly'. Did you mean 'family'? Known: count, difficulty, family, seed, shots.",
        ),
        ((*PUZZLES, "--task-option", "shots=many"), "error: field 'shots': takes an integer, not 'many'"),
        ((*PUZZLES, "--task-option", "count=3"), "error: field '--task-option': 'count' is given twice; separate its values by commas"),
        ((*PUZZLES, "--task-option", "shots"), "error: field '--task-option': write it as NAME=VALUE, not 'shots'"),
        (("--task-option", "count=3"), "error: field '--task-option': are options of a task; name one with --task"),
        ((*PUZZLES, "--judge", "tsak"), "error: unknown reward 'tsak'."),
        ((*PUZZLES, "--judge", "task:scripted:bob"), "error: field '--judge': no grader of the task 'puzzles' asks a model; write task alone"),
        (("--task", "alpaca_eval", DATA / "alpaca_eval.jsonl", "--reward", "confidence", "--judge", "task"), "needs a model: write task:MODEL"),
        (("--task", "humaneval", DATA / "gsm8k.jsonl", "--reward", "confidence", "--judge", "none"), "gsm8k.jsonl:1: field 'test': is missing"),
        (("p.jsonl", "--judge", "task"), "error: field '--judge': this run has no task whose graders could judge"),
    ],
)
def test_mistakes_are_named_before_anything_is_made(arguments: Sequence[str], message: str, tmp_path: Path) -> None:
    assert message in refused("synth", *arguments, *MODELS, "-o", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_task_without_a_reward_that_stands_alone_says_which_fit(tmp_path: Path) -> None:
    said = refused("synth", DATA / "wmt.jsonl", "--task", "wmt", *MODELS, "-o", tmp_path / "run")
    assert said == "error: field '--reward': name the reward that guides the search; for the task 'wmt' fit: comet:wmt22-cometkiwi-da\n"


def test_graders_that_ask_a_model_take_it_from_the_flag(tmp_path: Path) -> None:
    items = (DATA / "alpaca_eval.jsonl", "--task", "alpaca_eval", "--limit", "1", "--reward", "scripted")
    done = multigraft("synth", *items, *MODELS, "-o", tmp_path / "ungraded")
    assert (done.exit_code, done.stderr) == (0, "note: not graded: pairwise needs a model, as --judge task:MODEL\n")
    (tmp_path / "run.toml").write_text(
        '[[models]]\nname = "ann"\nkind = "scripted"\n[[models]]\nname = "critic"\nkind = "scripted"\nanswers = ["[[A]]"]\n', "utf-8"
    )
    graded = totals_of("synth", *items, "-c", tmp_path / "run.toml", "--judge", "task:critic", "-n", "2", "-q", "--json", "-o", tmp_path / "graded")
    assert scored(graded) == {"scripted": 2, "pairwise": 2}
    assert list(graded["models"]) == ["ann"]
    later = totals_of("score", tmp_path / "ungraded", "--with", "task:critic", "-c", tmp_path / "run.toml", "--json", "-q")
    assert later["scorers"]["pairwise"]["scored"] == 2


def test_a_grader_keeps_clear_of_the_reward(gsm8k: Path, tmp_path: Path) -> None:
    """Another scorer of its name guides: it gets the task's name before its own. It guides itself: it need not speak twice."""
    totals = synth(tmp_path / "run", gsm8k, "--task", "gsm8k", "--reward", "rules")
    assert scored(totals) == {"rules": 4, "gsm8k_rules": 4}
    later = tmp_path / "later"
    assert scored(synth(later, gsm8k, "--task", "gsm8k", "--reward", "rules", "--judge", "none")) == {"rules": 4}
    assert list(totals_of("score", later, "--with", "task", "--json", "-q")["scorers"]) == ["gsm8k_rules"]
    assert scored(synth(tmp_path / "same", *PUZZLES, "--reward", "puzzle")) == {"puzzle": 4}


def test_a_run_of_made_up_items_goes_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = totals_of("synth", *PUZZLES, *MODELS, "--budget", "calls=1", "-o", run)
    assert (first["responses"], first["stopped"]) == (1, None)
    totals = totals_of("resume", run, "--budget", "calls=9", "--json", "-q")
    assert (totals["ends"], totals["responses"], scored(totals)) == ({"done": 2}, 4, {"confidence": 4, "puzzle": 4})
    assert totals_of("resume", run, "--json", "-q")["spent"] == totals["spent"]


def test_a_run_of_a_file_of_items_goes_on_where_they_are_now(gsm8k: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    monkeypatch.chdir(tmp_path)
    assert synth(run, gsm8k.name, "--task", "gsm8k")["ends"] == {"done": 2}
    assert settings_in(run)["task"]["items"] == str(gsm8k)
    gsm8k.rename(tmp_path / "moved.jsonl")
    assert refused("resume", run, "-q") == f"error: {gsm8k}: the prompts of this run are not there any more; say with --prompts where they are now\n"
    totals = totals_of("resume", run, "--prompts", "moved.jsonl", "--json", "-q")
    assert (totals["prompts"], totals["spent"]["calls"]) == (2, 4)
    assert settings_in(run)["task"]["items"] == str(tmp_path / "moved.jsonl")
    assert synth(run, "moved.jsonl", "--task", "gsm8k")["spent"]["calls"] == 4


def test_items_of_another_choice_are_not_mixed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    synth(run, *PUZZLES)
    said = refused("synth", "--task", "puzzles", "--task-option", "family=sort", "--task-option", "count=2", *MODELS, "-o", run)
    assert "answers made under different settings must not be mixed:\n  task.options.family: 'extract' -> 'sort'\n" in said
    assert "task.name: 'puzzles' -> (not set)" in refused("synth", DATA / "gsm8k.jsonl", "--reward", "confidence", *MODELS, "-o", run)


def test_a_task_of_a_run_file(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        '[task]\nname = "puzzles"\noptions = { family = ["extract", "sort3"], count = 4 }\n[[models]]\nname = "ann"\nkind = "scripted"\n', "utf-8"
    )
    totals = totals_of("synth", "-c", tmp_path / "run.toml", "-n", "1", "--limit", "3", "--json", "-q", "-o", tmp_path / "run")
    assert (totals["prompts"], scored(totals)) == (3, {"confidence": 3, "puzzle": 3})
    (tmp_path / "wrong.toml").write_text('[task]\nname = "puzzles"\noptions = { cuont = 4 }\n[[models]]\nname = "ann"\nkind = "scripted"\n', "utf-8")
    assert "unknown option of the task 'cuont'. Did you mean 'count'?" in refused("synth", "-c", tmp_path / "wrong.toml", "-o", tmp_path / "other")


def test_the_data_say_what_judged_from_outside(gsm8k: Path, tmp_path: Path) -> None:
    run, data = tmp_path / "run", tmp_path / "all.jsonl"
    synth(run, gsm8k, "--task", "gsm8k", "--reward", "confidence")
    totals_of("score", run, "--with", "scripted", "--json", "-q")
    assert multigraft("export", run, "--all", data).exit_code == 0
    rows = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    external = [{score["scorer"]: score["external"] for score in row["scores"]} for row in rows]
    assert external == [{"confidence": False, "rules": True, "scripted": True}] * 4
    card = (tmp_path / "all.jsonl.card.md").read_text("utf-8")
    assert '"name": "gsm8k"' in card
    assert '"kind": "rules"' in card
    assert str(tmp_path) not in card
