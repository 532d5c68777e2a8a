"""`multigraft task list`, `show` and `check`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from multigraft.cli.task import task
from multigraft.tasks.task import library

DATA = Path(__file__).parents[1] / "data" / "tasks"
MINE = """\
title = "Mine"
description = "d"
licence = "l"
fields.question = ["question"]
ask.answer = "Say: {{question}}"
read = { form = "text", meaning = "m" }
summary = { metrics = ["mean"] }

[[grade]]
kind = "rules"
rules = [{ rule = "choice" }]
"""


def multigraft_task(*arguments: str | Path) -> Result:
    return CliRunner().invoke(task, [str(argument) for argument in arguments])


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE, "utf-8")
    return path


def test_list_names_every_task() -> None:
    done = multigraft_task("list")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[1:] if line[0] != " "] == list(library())
    rows = {row["name"]: row for row in json.loads(multigraft_task("list", "--json").stdout)}
    assert rows["gsm8k"]["items"] == ["hf:openai/gsm8k@740312add88f"]
    assert (rows["gsm8k"]["title"], rows["gsm8k"]["grader"], rows["gsm8k"]["needs_the_hub"]) == ("GSM8K", ["rules"], True)
    assert rows["puzzles"]["needs_the_hub"] is False


def test_show_renders_a_made_up_item_in_every_role() -> None:
    done = multigraft_task("show", "puzzles", "--task-option", "family=sort3", "--task-option", "shots=0")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "puzzles: Puzzles"
    assert "item sort3/seed0/0, reference road, shadow, squirrel" in lines
    roles = ["answer: user", "refine: user", "aggregate: system", "aggregate: user", "fuse: user", "conclude: user"]
    assert [line for line in lines if line.startswith("--- ")] == [f"--- {role}" for role in roles]
    assert "(an earlier response)" in done.stdout


@pytest.mark.parametrize("name", library())
def test_show_and_check_know_every_task_and_fetch_nothing(name: str) -> None:
    shown = multigraft_task("show", name)
    assert shown.exit_code == 0
    assert "--- " in shown.stdout
    page = json.loads(multigraft_task("show", name, "--json").stdout)
    assert page["name"] == name
    assert ("item" in page) is (name == "puzzles")
    checked = multigraft_task("check", name)
    assert (checked.exit_code, checked.stderr) == (0, "")


def test_show_with_items_of_a_file() -> None:
    page = json.loads(multigraft_task("show", "gsm8k", "--items", DATA / "gsm8k.jsonl", "--json").stdout)
    assert page["item"]["reference"] == "18"
    assert page["item"]["messages"]["refine"][-1]["content"].startswith("Janet")


def test_items_do_not_steer_the_terminal(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"question": "\\u001b[31mred\\u202e"}\n', "utf-8")
    done = multigraft_task("show", mine, "--items", tmp_path / "items.jsonl")
    assert "Say: \u241b[31mred\u2423" in done.stdout
    assert "\x1b" not in done.stdout


def test_check_counts_scorers_and_items(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"question": "a?"}\n{"question": "b?"}\n', "utf-8")
    assert multigraft_task("check", mine).stdout == f"{mine}: a task of 1 scorer(s); its items are given when it is used\n"
    done = multigraft_task("check", mine, "--items", tmp_path / "items.jsonl", "--json")
    assert json.loads(done.stdout) == {"task": "mine", "scorers": 1, "items": 2}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Mine"', "", "{file}: field 'title': Field required"),
        ('rule = "choice"', 'rule = "choise"', "unknown rule 'choise'. Did you mean 'choice'?"),
        ('kind = "rules"', 'kind = "rulez"', "{file}: field 'grade[0]': unknown reward 'rulez'. Did you mean 'rules'?"),
        ('kind = "rules"', 'kind = "rules"\nmax_batches = 3', "unknown setting of grade[0]: 'max_batches'. Did you mean 'max_batch'?"),
        ('metrics = ["mean"]', 'metrics = ["man"]', "{file}:7: field 'summary.metrics.0': Input should be 'mean'"),
        ('"Say: {{question}}"', '"Say: {{answer}}"', "'answer' is no field of this task; [fields] has question"),
    ],
)
def test_check_names_file_and_field(mine: Path, old: str, new: str, message: str) -> None:
    mine.write_text(MINE.replace(old, new), "utf-8")
    done = multigraft_task("check", mine)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {mine}")
    assert message.format(file=mine) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_check_names_the_item(mine: Path, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"question": "a?"}\n{"qestion": "b?"}\n', "utf-8")
    done = multigraft_task("check", mine, "--items", path, "--json")
    assert done.exit_code == 2
    assert done.stderr == f"error: {path}:2: field 'question': is missing; it comes from 'question' (the row has: qestion)\n"
    assert json.loads(done.stdout)["error"]["kind"] == "InputError"


def test_options_are_checked() -> None:
    done = multigraft_task("show", "puzzles", "--task-option", "famly=sort")
    assert done.exit_code == 2
    assert "unknown option of the task 'famly'. Did you mean 'family'?" in done.stderr
    done = multigraft_task("check", "puzzles", "--task-option", "count")
    assert done.stderr == "error: field '--task-option': write it as NAME=VALUE, not 'count'\n"
