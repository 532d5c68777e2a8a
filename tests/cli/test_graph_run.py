"""`multigraft graph run`: one question with its nodes, and many as a run of their own."""

import json
from pathlib import Path

import pytest
from tests.cli.test_graph_strategy import laid_out
from tests.reports.command import Done, multigraft, records_of

from multigraft.tasks.answers import read_answers

SCRIPTED = ("--models", "scripted:ann,scripted:bob")
TWO = "".join(f'[[models]]\nname = "{name}"\nkind = "scripted"\nanswers = ["{answer}"]\n' for name, answer in {"ann": "four", "bob": "4\\n5"}.items())


def ask(folder: Path, *arguments: str) -> Done:
    return multigraft(folder, "graph", "run", "graph.json", *arguments)


def test_one_question_prints_its_nodes_aside_and_the_answer_alone(tmp_path: Path) -> None:
    folder = laid_out(tmp_path, run_file=TWO)
    done = ask(folder, "--ask", "What is 2+2?", "-c", "run.toml")
    assert (done.code, done.out) == (0, "4\n5\n")
    lines = done.err.splitlines()
    assert {tuple(line.split()[:3]) for line in lines[:4]} == {
        ("x", "ann", "answer"),
        ("y", "bob", "answer"),
        ("z", "ann", "fuse"),
        ("sink", "bob", "conclude"),
    }
    assert lines[3].split()[0] == "sink"
    assert "the critical path " in lines[4]
    assert "4 calls" in lines[4]
    assert not list(folder.glob("run*/log.db"))
    quiet = ask(folder, "--ask", "What is 2+2?", "-c", "run.toml", "-q")
    assert (quiet.out, quiet.err) == ("4\n5\n", "")


def test_one_question_as_json_and_kept(tmp_path: Path) -> None:
    folder = laid_out(tmp_path, "x:ann y:bob s:/v<x,y", TWO)
    arguments = ("--ask", "What is 2+2?", "-c", "run.toml", "--run", "kept")
    said = json.loads(ask(folder, *arguments, "--json").out)
    assert said["answer"] in {"four", "4\n5"}
    assert {node["node"]: (node["model"], node["reads"]) for node in said["nodes"]} == {"x": ("ann", []), "y": ("bob", [])}
    assert said["spent"]["calls"] == 2
    assert said["critical_path"][-1] == "s"
    again = ask(folder, *arguments)
    assert (again.out.strip(), "answered before; nothing was called" in again.err) == (said["answer"], True)
    (record,) = records_of(folder / "kept")
    assert len(record.calls) == 2


def test_many_prompts_are_a_run_and_a_file_of_answers_in_their_order(tmp_path: Path) -> None:
    folder = laid_out(tmp_path)
    done = ask(folder, "prompts.jsonl", *SCRIPTED, "-q", "-o", "answers.jsonl")
    assert done.code == 0
    assert done.out.startswith("answers.jsonl: 2 of 2 prompts answered, ")
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    by_id = {record.prompt.prompt_id: record for record in records_of(folder / "runs/graph-prompts")}
    assert [by_id[row["prompt_id"]].prompt.reference for row in rows] == ["4", "red"]
    assert [row["answer"] for row in rows] == [found.text for row in rows if (found := by_id[row["prompt_id"]].best())]
    assert read_answers(folder / "answers.jsonl").keys() == by_id.keys()  # as a baseline of other runs
    calls = json.loads(ask(folder, "prompts.jsonl", *SCRIPTED, "-q", "--json").out)["spent"]["calls"]
    assert calls == 8  # nothing is paid twice
    assert (folder / "runs/graph-prompts/answers.jsonl").is_file()


def test_prompts_without_an_answer_are_told(tmp_path: Path) -> None:
    folder = laid_out(tmp_path)
    done = ask(folder, "prompts.jsonl", *SCRIPTED, "-q", "--budget", "calls=5", "-o", "answers.jsonl")
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    missing = sum(row["answer"] is None for row in rows)
    assert missing >= 1
    assert done.code == (0 if missing == 1 else 1)
    assert f"{missing} without an answer" in done.err
    assert {row["ended"] for row in rows if row["answer"] is None} == {"budget"}


def test_a_question_that_gets_no_answer_says_why(tmp_path: Path) -> None:
    folder = laid_out(tmp_path)
    done = ask(folder, "--ask", "What is 2+2?", *SCRIPTED, "--budget", "calls=3")
    assert (done.code, done.out) == (1, "")
    assert "error: no answer: the budget has no room for it" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a file of prompts, or ask one question with --ask"),
        (("prompts.jsonl", "--ask", "Why?"), "not both"),
        (("--ask", "  "), "is blank; write a question"),
        (("--ask", "Why?", "-o", "answers.jsonl"), "the answer to one question goes to standard output"),
        (("--ask", "Why?", "--models", "scripted:ann"), "nodes call 'bob', and the models of the run that answer are ann"),
    ],
)
def test_mistakes_are_said(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = ask(laid_out(tmp_path), *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_sink_that_no_reward_can_guide_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    folder = laid_out(tmp_path, "x:ann y:bob s:/b<x,y")
    done = ask(folder, "--ask", "What is 2+2?", *SCRIPTED, "--run", "kept")
    assert (done.code, done.out) == (2, "")
    assert "'rules' can give none: the prompts have neither constraints nor a reference" in done.err
    assert "--reward judge:MODEL" in done.err
    assert not (folder / "kept/log.db").exists()
    # With references it is a reward like any other, also where only some prompts have one.
    with (folder / "prompts.jsonl").open("a") as file:
        file.write('{"prompt": "Name a number"}\n')
    assert ask(folder, "prompts.jsonl", *SCRIPTED, "-q", "--run", "some").code == 0
    reads = ask(folder, "--ask", "What is 2+2?", *SCRIPTED, "-q", "--reward", "final_answer")
    assert (reads.code, bool(reads.out.strip())) == (0, True)
