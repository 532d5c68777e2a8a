"""The card of a dataset: what it says, and that nothing in it can break out of YAML or Markdown."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft import __version__
from multigraft.budget.amount import Amount
from multigraft.datasets.card import render_card, write_card
from multigraft.datasets.escape import fenced, markdown_text, yaml_text
from multigraft.datasets.export import Exported, Target, export
from multigraft.datasets.preference import PreferencePairs
from multigraft.datasets.selection import Selection
from multigraft.datasets.settings import ModelFacts, model_facts, public_settings
from multigraft.datasets.sft import BestResponses
from multigraft.records.reader import PromptRecord
from multigraft.types import FailureKind, Json

Make = Callable[..., PromptRecord]

SETTINGS: dict[str, Json] = {
    "seed": 7,
    "strategy": {"name": "toa", "num_calls": 16, "tau": "auto"},
    "reward": {"kind": "remote", "url": "http://10.0.0.1/score", "api_key_env": "SECRET_NAME", "batch": 8},
    "budget": {"calls": 500, "tokens": 1000000},
    "models": {
        "m1": {"source": "pypi:some-weights", "licence": "Apache-2.0"},
        "m2": {"endpoints": [{"url": "http://user:password@10.0.0.2"}], "model": "Qwen/Qwen2.5-0.5B"},
    },
    "concurrency": 9,
}

TITLES = ["Models", "How it was made", "Counts", "Rewards", "Where the best responses come from", "Columns", "How to load it"]


def exported(make_record: Make, folder: Path, selection: Selection, name: str = "pairs.jsonl") -> Exported:
    records = [
        make_record(("a", 0.25), {"text": "b", "reward": 0.75, "parents": [0]}, {"failure": FailureKind.TIMEOUT}, number=0, fields={"topic": "x"}),
        make_record(("a", 0.5), ("b", 0.5), {"text": "c", "reason": FailureKind.UNREADABLE}, number=1, ended=None),
    ]
    return export(records, [Target(selection, folder / name)])[0]


def front_matter(card: str) -> Mapping[str, object]:
    found = yaml.safe_load(card.partition("\n---\n")[0].removeprefix("---\n"))
    assert isinstance(found, dict)
    return found


def test_the_front_matter_is_what_the_hub_reads(tmp_path: Path, make_record: Make) -> None:
    path = write_card(exported(make_record, tmp_path, PreferencePairs()), SETTINGS)

    assert path == tmp_path / "pairs.jsonl.card.md"
    assert front_matter(path.read_text()) == {
        "pretty_name": "pairs",
        "tags": ["multigraft", "synthetic", "trl", "dpo"],
        "task_categories": ["text-generation"],
        "size_categories": ["n<1K"],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "pairs.jsonl"}]}],
    }


def test_the_card_says_how_the_data_was_made(tmp_path: Path, make_record: Make) -> None:
    card = render_card(exported(make_record, tmp_path, PreferencePairs()), SETTINGS)

    assert f"Made with multigraft {__version__}, strategy toa, seed 7: the best response of each prompt against the one ranked 30" in card
    assert "1 rows from 2 prompts." in card
    rows = {cells[0]: cells[1:] for line in card.splitlines() if line.startswith("| ") for cells in [line.strip("| ").split(" | ")]}
    assert rows["m1"] == ["pypi:some-weights", "Apache-2.0"]
    assert rows["prompts still unfinished"] == ["1"]
    assert rows["calls failed: timeout"] == ["1"]
    assert rows["responses without a reward: unreadable"] == ["1"]
    assert rows["responses left out: unscored"] == ["1"]
    assert rows["prompts without a row: tie"] == ["1"]
    assert rows["tokens spent"] == ["90"]
    assert rows["dollars spent"] == ["1.5000"]
    assert rows["best response of each prompt"] == ["2", "0.625", "0.1768"]
    assert rows["first response of each prompt"] == ["2", "0.375", "0.1768"]
    assert rows["all responses"] == ["4", "0.5", "0.2041"]
    assert rows["m2"] == ["1", "100.0%"]
    assert rows["1"] == ["1", "100.0%"]
    assert rows["topic"] == ["text", "of the prompt's row"]
    assert rows[r"chosen\_reward"] == ["number", "its reward"]
    assert "trainer = DPOTrainer(" in card
    for secret in ("10.0.0", "password", "SECRET_NAME", "concurrency"):
        assert secret not in card.replace("\\", "")


def test_what_is_not_known_to_be_spent_is_not_told(tmp_path: Path, make_record: Make) -> None:
    found = exported(make_record, tmp_path, PreferencePairs())
    assert "| FLOPs spent |" in render_card(found, SETTINGS)
    unpriced = replace(found, statistics=replace(found.statistics, spent=Amount(tokens=90, calls=5)))
    card = render_card(unpriced, SETTINGS)
    assert "| tokens spent | 90 |" in card
    assert "FLOPs spent" not in card
    assert "dollars spent" not in card


def test_licences_can_come_from_elsewhere(tmp_path: Path, make_record: Make) -> None:
    given: dict[str, Json] = {
        "models": [{"name": "a", "source": "hf:x"}, {"name": "b", "licence": "MIT"}, {"name": "c", "source": {"wheels": ["w1", "w2"]}}, "d"]
    }

    card = render_card(exported(make_record, tmp_path, BestResponses()), given, {"hf:x": "Apache-2.0", "b": "ignored", "d": "Gemma"})

    for row in ("| a | hf:x | Apache-2.0 |", "| b | not stated | MIT |", "| c | wheels w1, w2 | not stated |", "| d | not stated | Gemma |"):
        assert row in card


def test_settings_in_any_form_are_borne() -> None:
    assert model_facts({"models": ["a", {"name": "b", "license": "MIT", "source": "hf:x/y"}, 3]}) == [
        ModelFacts("a", None, None),
        ModelFacts("b", "hf:x/y", "MIT"),
        ModelFacts("3", None, None),
    ]
    assert model_facts({"models": {"a": "hf:x/y"}}) == [ModelFacts("a", None, None)]
    assert model_facts({}) == []
    assert public_settings({"strategy": "toa", "rewards": [{"headers": {"a": "b"}, "name": "x"}], "output": "/home/me"}) == {
        "strategy": "toa",
        "rewards": [{"name": "x"}],
    }


def test_places_of_this_machine_are_left_out() -> None:
    settings: dict[str, Json] = {
        "task": {"name": "/home/me/capitals.toml", "items": "/home/me/items.jsonl", "options": {"count": 3}},
        "judge": {"parts": [{"kind": "remote", "endpoints": [{"url": "http://me"}]}]},
    }
    assert public_settings(settings) == {"task": {"name": "capitals", "options": {"count": 3}}, "judge": {"parts": [{"kind": "remote"}]}}


@pytest.mark.parametrize("settings_given", [{}, {"strategy": None, "models": None, "seed": None}, {"strategy": "toa"}, {"strategy": {"toa": {"tau": 1}}}])
def test_a_card_needs_no_settings(tmp_path: Path, make_record: Make, settings_given: dict[str, Json]) -> None:
    card = render_card(exported(make_record, tmp_path, BestResponses(), "sft.parquet"), settings_given)

    assert ("strategy toa" in card) is bool(settings_given.get("strategy"))
    assert "frame = polars.read_parquet('sft.parquet')" in card
    assert "trainer = SFTTrainer(" in card


def test_hostile_names_stay_names(tmp_path: Path, make_record: Make) -> None:
    name = '"]\n---\n# x <script>alert(1)</script> | `a` ![x](http://evil) \x00\u2028{{ 9*9 }} ```'
    record = make_record({"text": "x", "reward": 1.0, "model": name}, fields={name: 1})
    path = tmp_path / "a 'b\": ```#.jsonl"
    (found,) = export([record], [Target(BestResponses(), path)])

    card = render_card(found, {"models": [name], "strategy": name, "budget": {name: "```\n# heading"}, "reward": name})

    assert front_matter(card)["configs"] == [{"config_name": "default", "data_files": [{"split": "train", "path": path.name}]}]
    assert card.count("\n---\n") == 1
    body = re.sub(r"(?ms)^(`{3,})\w+\n.*?^\1$", "", card.partition("\n---\n")[2])
    for own in ("`field_`", "`license:`"):
        body = body.replace(own, "")
    assert not re.search(r"(?<!\\)[`!<>\[]", body)
    assert re.findall(r"(?m)^#.*", body)[1:] == [f"## {title}" for title in TITLES]
    assert all(len(re.findall(r"(?<!\\)\|", line)) in {3, 4, 5} for line in body.splitlines() if line.startswith("| "))


@given(st.text(st.characters(), max_size=30))
@settings(deadline=None, max_examples=200)
def test_yaml_reads_every_text_back(text: str) -> None:
    clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    assert yaml.safe_load(f"a: {yaml_text(text)}\nb: 1") == {"a": clean, "b": 1}


def test_markdown_and_fences() -> None:
    assert markdown_text("a*b_c|d\n# e<b>&amp;") == r"a\*b\_c\|d \# e&lt;b&gt;&amp;amp;"
    assert markdown_text("http://x www.x a@b ![x](y) \\") == r"http\://x www\.x a\@b \!\[x\](y) \\"
    assert markdown_text("x" * 500) == "x" * 397 + "..."
    assert fenced("a\n````\nb", "json") == "`````json\na\n````\nb\n`````"
    assert json.loads(fenced('{"a": 1}', "json").split("\n")[1]) == {"a": 1}
