"""A pilot and a search: in one folder, where what one paid for is known to the other, and in two."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.pilots import MODELS, found_in, laid_out, number_of, pilot, search
from tests.reports.command import multigraft

from multigraft.cli.pilot_sharing import refuse_mixing
from multigraft.errors import SettingsChangedError
from multigraft.optimize.pilot.pilot_file import told_by
from multigraft.randomness import key_of

SPLIT = ("--split", "6,6,6")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return laid_out(tmp_path)


def test_a_search_goes_by_the_pilot_of_its_folder_and_pays_for_nothing_twice(folder: Path) -> None:
    assert pilot(folder, "-q").code == 0
    of_pilot = number_of(folder, "SELECT count(*) FROM sent")
    assert search(folder, *SPLIT).code == 0
    together = number_of(folder, "SELECT count(*) FROM sent")
    assert number_of(folder, "SELECT count(*) FROM (SELECT digest FROM outputs GROUP BY digest HAVING count(*) > 1)") == 0
    told = told_by((folder / "found" / "pilot.json").read_text()).findings
    assert number_of(folder, "SELECT value FROM facts WHERE name = 'pilot'") == f"{key_of(repr(told)):x}"
    elsewhere = search(folder, *SPLIT, "--pilot", "found/pilot.json", output="alone")
    assert elsewhere.code == 0, elsewhere.err
    alone = number_of(folder, "SELECT count(*) FROM sent", "alone")
    first, second = (json.loads((folder / name / "report.json").read_text()) for name in ("found", "alone"))
    assert [entry["graph_id"] for entry in first["entries"]] == [entry["graph_id"] for entry in second["entries"]]
    assert [entry["train"] for entry in first["entries"]] == [entry["train"] for entry in second["entries"]]
    assert together < of_pilot + alone, "single models on training questions, at the least, were known"
    assert multigraft(folder, "resume", "found", "-q").code == 0
    assert number_of(folder, "SELECT count(*) FROM sent") == together
    assert pilot(folder, "-q").code == 0, "the same pilot again is welcome"


def test_what_a_pilot_has_seen_neither_chooses_nor_compares(folder: Path) -> None:
    assert pilot(folder, "-q", "-n", "9", "--seed", "5").code == 0
    seen = set(found_in(folder)["questions"])
    done = search(folder, "--pilot", "found/pilot.json", "--seed", "0", output="other")
    assert done.code == 0, done.err
    report = json.loads((folder / "other" / "report.json").read_text())
    assert report["search"]["questions"] == {"train": 6, "validation": 5, "test": 4}
    everything = set(number_of(folder, "SELECT group_concat(DISTINCT prompt_id) FROM trials", "other").split(","))
    assert len(everything & seen) <= 6, "those trained on, and no other"
    assert len(everything - seen) == 9
    refused = search(folder, "--pilot", "found/pilot.json", "--split", "6,5,5", output="another")
    assert refused.code == 2
    assert "the pilot has seen 9 of 18 questions, and 5 + 5 others are asked for" in refused.err


@pytest.mark.parametrize(
    ("before", "flags", "said"),
    [
        ("pilot", ("--seed", "1"), "seed: 0 -> 1"),
        ("pilot", ("--models", "small"), "optimize.models: ['large', 'small'] -> ['small']"),
        ("pilot", ("--reward", "final_answer"), "reward.parts[0].kind"),
        ("search", ("--seed", "1"), "seed: 0 -> 1"),
        ("search", ("-q",), "the search in found was started with no pilot, and goes on as it began"),
        ("both", ("--copies", "1,2,4"), "was started with its pilot (pilot.copies: [1, 2] -> [1, 2, 4])"),
        ("elsewhere", ("-q",), "the search in found was started with a pilot made elsewhere"),
    ],
)
def test_what_does_not_go_together_is_refused(folder: Path, before: str, flags: tuple[str, ...], said: str) -> None:
    few = ("--parts", "replicate", "--copies", "1,2")
    if before in {"pilot", "both", "elsewhere"}:
        assert pilot(folder, "-q", settings=few, output="first" if before == "elsewhere" else "found").code == 0
    if before in {"search", "both", "elsewhere"}:
        assert search(folder, *(("--pilot", "first/pilot.json") if before == "elsewhere" else ())).code == 0
    calls = number_of(folder, "SELECT count(*) FROM sent")
    done = search(folder, *flags) if before == "pilot" else pilot(folder, *flags, settings=few[:2] if before == "both" else few)
    assert done.code == 2, done.err
    assert said in done.err
    assert number_of(folder, "SELECT count(*) FROM sent") == calls


def test_an_unfinished_pilot_tells_nothing_and_this_is_said(folder: Path) -> None:
    assert pilot(folder, "-q", "--spend", "calls=20").code == 0
    done = search(folder)
    assert done.code == 0, done.err
    assert "note: the pilot in found is not finished, and tells nothing" in done.err


def test_a_folder_of_another_run_is_refused(folder: Path) -> None:
    assert multigraft(folder, "synth", "questions.jsonl", "-c", "run.toml", "-n", "1", "-o", "found", "-q").code == 0
    done = pilot(folder)
    assert done.code == 2
    assert "found holds another kind of run" in done.err


def settings(**changes: Any) -> dict[str, Any]:
    models = [{"name": "small", "kind": "scripted"}, {"name": "large", "kind": "scripted"}]
    plain = {"seed": 0, "prompts": "q.jsonl", "models": models, "reward": {"parts": ["rules"]}, "optimize": {"models": ["small", "large"], "sinks": []}}
    return plain | changes


JUDGE: Mapping[str, Any] = {"parts": [{"kind": "numeric"}]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"prompts": "moved.jsonl", "budget": {"usd": 3.0}, "concurrency": {"max_in_flight": 2}, "versions": {"multigraft": "2"}}),
        ({}, {"optimize": {"models": ["large", "small"], "sinks": ["large"], "method": "bayes", "caps": {"units": 3.0}, "evaluations": 3}}),
        ({}, {"models": [*settings()["models"], {"name": "wise", "kind": "openai"}], "pilot": {"copies": [1]}}),
        ({"judge": JUDGE}, {"judge": JUDGE, "reward": {"parts": ["other"]}}),
    ],
)
def test_what_changes_no_answer_and_no_grade_may_differ(before: dict[str, Any], after: dict[str, Any], tmp_path: Path) -> None:
    refuse_mixing(tmp_path, settings(**before), settings(**after))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"sampling": {"temperature": 0.1}}, r"sampling\.temperature"),
        ({}, {"models": [{"name": "small", "kind": "openai"}, {"name": "large", "kind": "scripted"}]}, r"models\.small\.kind: 'scripted' -> 'openai'"),
        ({}, {"reward": {"parts": ["other"]}}, r"reward\.parts"),
        ({}, {"judge": JUDGE}, "graded by"),
        ({}, {"budget": {"cost_form": "exact"}}, r"budget\.cost_form"),
        ({}, {"optimize": {"models": ["small", "large"], "tokens": [1.0, 2.0]}}, r"optimize\.tokens"),
        (
            {"judge": JUDGE, "optimize": {"models": ["small"], "sinks": ["best"]}},
            {"judge": JUDGE, "optimize": {"models": ["small"], "sinks": ["large", "vote"]}, "reward": {"parts": ["other"]}},
            r"reward\.parts",
        ),
    ],
)
def test_what_changes_answers_or_grades_is_refused(before: dict[str, Any], after: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsChangedError, match=said):
        refuse_mixing(tmp_path, settings(**before), settings(**after))


def test_the_run_file_of_a_search_may_hold_a_pilot(folder: Path) -> None:
    (folder / "run.toml").write_text(MODELS + '[pilot]\nparts = ["singles"]\n[optimize]\nmethod = "random"\nevaluations = 2\n')
    assert multigraft(folder, "pilot", "questions.jsonl", "-c", "run.toml", "-o", "found", "-q").code == 0
    assert multigraft(folder, "optimize", "questions.jsonl", "-c", "run.toml", "-o", "found", "-q").code == 0
    assert "[pilot]" in (folder / "found" / "pilot.toml").read_text()
    assert "[pilot]" not in (folder / "found" / "run.toml").read_text()
