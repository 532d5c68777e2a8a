"""`synth --graph`: a graph run end to end, stopped in the middle, with a model that is down, and refused where it cannot work."""

import json
from pathlib import Path

import pytest
from tests.reports.command import Done, multigraft, records_of
from tests.strategies.made_graphs import graph_from

from multigraft.graphs.graph_file import text_of
from multigraft.records.reader import PromptRecord
from multigraft.types import Completion, Role

GRAPH = "x:ann y:bob z:ann/f<x,y sink:bob<y,z"
SCRIPTED = ("--models", "scripted:ann,scripted:bob")


def laid_out(folder: Path, graph: str = GRAPH, run_file: str = "") -> Path:
    (folder / "prompts.jsonl").write_text('{"prompt": "What is 2+2?", "reference": "4"}\n{"prompt": "Name a colour", "reference": "red"}\n', "utf-8")
    (folder / "graph.json").write_text(text_of(graph_from(graph), about={"found by": "hand"}), "utf-8")
    (folder / "run.toml").write_text(run_file, "utf-8")
    return folder


def run(folder: Path, *arguments: str) -> Done:
    return multigraft(folder, "synth", "prompts.jsonl", "--graph", "graph.json", "-q", *arguments)


def calls_of(record: PromptRecord) -> list[tuple[object, ...]]:
    return [(found.call, found.text, found.reward) for found in record.calls.values()]


def test_the_answer_is_the_sinks_in_the_record_in_show_and_in_the_dataset(tmp_path: Path) -> None:
    folder = laid_out(tmp_path)
    done = run(folder, *SCRIPTED, "-o", "run", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["responses"] == 8
    for record in records_of(folder / "run"):
        best = record.best()
        assert (record.concludes, record.ended) == (True, "done")
        assert best is not None
        assert (best.call.role, best.call.model) == (Role.CONCLUDE, "bob")
    assert multigraft(folder, "export", "run", "--sft", "sft.jsonl").code == 0
    rows = [json.loads(line) for line in (folder / "sft.jsonl").read_text("utf-8").splitlines()]
    assert [row["completion"][0]["content"] for row in rows] == [record.calls[record.answer or 0].text for record in records_of(folder / "run")]
    shown = multigraft(folder, "show", "run", "0").out
    assert [line.split()[:3] for line in shown.splitlines()[2:6]] == [["0", "x", "ann"], ["y", "bob", "answer"], ["1", "z", "ann"], ["2", "sink", "bob"]]
    assert {call["node"]: call["role"] for call in json.loads(multigraft(folder, "show", "run", "0", "--json").out)["calls"]} == {
        "x": "answer", "y": "answer", "z": "fuse", "sink": "conclude",
    }  # fmt: skip


def test_a_run_needs_the_file_no_more_and_goes_on_in_the_middle_of_a_graph(tmp_path: Path) -> None:
    folder = laid_out(tmp_path)
    assert run(folder, *SCRIPTED, "-o", "whole").code == 0
    cut_off = run(folder, *SCRIPTED, "-o", "cut", "--budget", "calls=3")
    assert (cut_off.code, "no prompt has an answer" in cut_off.err) == (1, True)
    (first, *_) = records_of(folder / "cut")
    assert first.ended == "budget"
    assert sum(len(record.calls) for record in records_of(folder / "cut")) == 3
    assert all(record.answer is None for record in records_of(folder / "cut"))
    (folder / "graph.json").unlink()
    done = multigraft(folder, "resume", "cut", "--budget", "calls=100", "-q", "--json")
    assert (done.code, json.loads(done.out)["spent"]["calls"]) == (0, 8)
    whole, cut = ({record.prompt.prompt_id: calls_of(record) for record in records_of(folder / name)} for name in ("whole", "cut"))
    assert {prompt: sorted(calls, key=str) for prompt, calls in whole.items()} == {prompt: sorted(calls, key=str) for prompt, calls in cut.items()}
    assert {record.prompt.prompt_id: record.answer for record in records_of(folder / "whole")} == {
        record.prompt.prompt_id: record.answer for record in records_of(folder / "cut")
    }


def test_a_run_file_names_the_graph_and_its_n_says_nothing(tmp_path: Path) -> None:
    models = "".join(f'[[models]]\nname = "{name}"\nkind = "scripted"\n' for name in ("ann", "bob"))
    folder = laid_out(tmp_path, run_file=f'prompts = "prompts.jsonl"\n[strategy]\nname = "graph"\ngraph = "graph.json"\nn = 16\n{models}')
    done = multigraft(folder, "synth", "-c", "run.toml", "-o", "run", "-q")
    assert done.code == 0
    assert "n = 16 says nothing here: the graph gives 4 responses to each prompt" in done.err
    assert [len(record.calls) for record in records_of(folder / "run")] == [4, 4]
    again = multigraft(folder, "synth", "prompts.jsonl", "-c", "run.toml", "-o", "run", "-q")
    assert (again.code, [len(record.calls) for record in records_of(folder / "run")]) == (0, [4, 4])


def test_a_model_that_is_down_costs_its_nodes_and_not_the_prompt(tmp_path: Path) -> None:
    down = '[[models]]\nname = "ann"\nkind = "openai"\nendpoints = [{ url = "http://127.0.0.1:9/v1" }]\n'
    quick = '[concurrency]\nmax_attempts = 1\ngive_up_s = 0.2\n[strategy]\nname = "graph"\nmax_failures = 2\n'
    folder = laid_out(tmp_path, run_file=f'{quick}[[models]]\nname = "bob"\nkind = "scripted"\n{down}')
    done = run(folder, "-c", "run.toml", "-o", "run")
    assert done.code == 0, done.err
    for record in records_of(folder / "run"):
        answered = [found for found in record.calls.values() if isinstance(found.sample, Completion)]
        assert [(found.call.model, found.call.role, len(found.call.parents)) for found in answered] == [("bob", Role.ANSWER, 0), ("bob", Role.CONCLUDE, 1)]
        assert record.best() is answered[1]
    shown = multigraft(folder, "show", "run", "0").out
    assert "failed: " in shown
    assert "sink went on without z, and was asked to conclude" in shown


def test_votes_are_counted_without_a_reference_and_without_a_reward_named(tmp_path: Path) -> None:
    answers = {"ann": "4", "bob": "5", "eve": "The answer is 4."}
    models = "".join(f'[[models]]\nname = "{name}"\nkind = "scripted"\nanswers = ["{answer}"]\n' for name, answer in answers.items())
    folder = laid_out(tmp_path, "b:bob a:ann e:eve s:/v<b,a,e", models)
    (folder / "prompts.jsonl").write_text('{"prompt": "What is 2+2?"}\n', "utf-8")
    done = run(folder, "-c", "run.toml", "-o", "run")
    assert done.code == 0
    assert "the sink's votes are counted by final_answer (form text)" in done.err
    (record,) = records_of(folder / "run")
    best = record.best()
    assert best is not None
    assert best.call.model in {"ann", "eve"}
    assert "the response of" in multigraft(folder, "show", "run", "0").out


def test_a_vote_that_was_cut_off_counts_the_answers_of_both_sessions(tmp_path: Path) -> None:
    answers = {"ann": "4", "bob": "5", "eve": "The answer is 4."}
    models = "".join(f'[[models]]\nname = "{name}"\nkind = "scripted"\nanswers = ["{answer}"]\n' for name, answer in answers.items())
    folder = laid_out(tmp_path, "b:bob a:ann e:eve s:/v<b,a,e", models)
    (folder / "prompts.jsonl").write_text('{"prompt": "What is 2+2?"}\n', "utf-8")
    for calls in (1, 2, 3):
        cut_off = run(folder, "-c", "run.toml", "-o", "cut", "--budget", "calls=1") if calls == 1 else None
        done = cut_off or multigraft(folder, "resume", "cut", "--budget", f"calls={calls}", "-q")
        (record,) = records_of(folder / "cut")
        assert (len(record.calls), record.answer is None, done.code) == (calls, calls < 3, 0 if calls == 3 else 1)
    best = record.best()
    assert best is not None
    assert best.call.model in {"ann", "eve"}


@pytest.mark.parametrize(
    ("graph", "arguments", "said"),
    [
        (GRAPH, ("--models", "scripted:ann"), "nodes call 'bob', and the models of the run that answer are ann"),
        (GRAPH, (*SCRIPTED, "-n", "16"), "field '-n': this graph gives 4 responses to each prompt"),
        (GRAPH, (*SCRIPTED, "--strategy", "moa"), "field '--graph': goes with --strategy graph"),
        (GRAPH, (), "'ann' is neither a model of the run file nor one of"),
        ("x:ann y:bob s:/v<x,y", (*SCRIPTED, "--reward", "confidence"), "the sink votes, and no part of the reward reads answers"),
        ("x:ann y:bob s:/b<x,y", (*SCRIPTED, "-c", "tournament.toml"), "this strategy needs a reward of each as it goes"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_paid(tmp_path: Path, graph: str, arguments: tuple[str, ...], said: str) -> None:
    folder = laid_out(tmp_path, graph)
    (folder / "tournament.toml").write_text('[[reward.parts]]\nkind = "tournament"\nmodel = "ann"\n', "utf-8")
    done = run(folder, *arguments, "-o", "run")
    assert done.code == 2
    assert said in done.err
    assert not (folder / "run" / "log.db").exists()


def test_another_graph_in_the_same_folder_is_refused_and_another_layout_of_the_same_is_not(tmp_path: Path) -> None:
    folder = laid_out(tmp_path)
    assert run(folder, *SCRIPTED, "-o", "run").code == 0
    (folder / "graph.json").write_text(json.dumps(json.loads((folder / "graph.json").read_text("utf-8"))), "utf-8")
    assert run(folder, *SCRIPTED, "-o", "run").code == 0
    laid_out(tmp_path, "x:ann y:bob sink:bob<x,y")
    done = run(folder, *SCRIPTED, "-o", "run")
    assert (done.code, "strategy.graph" in done.err) == (2, True)
