"""A prompt is the same prompt whatever the order of the file."""

import json
import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multigraft.tasks.prompts import load_prompts
from multigraft.types import Json, Prompt

ROWS = st.fixed_dictionaries(
    {"prompt": st.sampled_from(["a", "b", "c"])},
    optional={"id": st.sampled_from(["x", "y"]), "reference": st.sampled_from([1, "1", 2]), "note": st.sampled_from([None, 1, [2]])},
)


def load(folder: Path, rows: Sequence[object]) -> list[Prompt]:
    path = folder / "p.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return load_prompts(path)


@given(st.lists(ROWS, min_size=1, max_size=12).flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_shuffling_moves_prompts_and_changes_none(tmp_path: Path, pair: tuple[list[dict[str, Json]], list[dict[str, Json]]]) -> None:
    rows, shuffled = pair

    before, after = load(tmp_path, rows), load(tmp_path, shuffled)

    def key(prompt: Prompt) -> str:
        return prompt.prompt_id

    assert sorted(before, key=key) == sorted(after, key=key)
    assert len({prompt.prompt_id for prompt in before}) == len(rows)


def test_ids_are_hash_and_ordinal(tmp_path: Path) -> None:
    first, second, third, other = load(tmp_path, [{"prompt": "a"}, {"prompt": "a", "id": "z"}, {"prompt": "a", "id": "b"}, {"prompt": "a "}])

    digest = first.prompt_id[:32]
    assert re.fullmatch(r"[0-9a-f]{32}-0", other.prompt_id)
    assert not other.prompt_id.startswith(digest)
    # In the order of their names: "b" before "z" before none.
    assert (third.prompt_id, second.prompt_id, first.prompt_id) == (f"{digest}-0", f"{digest}-1", f"{digest}-2")


def test_the_identity_of_a_prompt_stays_the_same_over_versions(tmp_path: Path) -> None:
    row = {"prompt": "é", "reference": 4.0, "instruction_id_list": ["k:x"], "kwargs": [{"b": 1, "a": 2.0}]}

    content = rb'[[["user","\u00e9"]],"4",[["k:x",{"a":2,"b":1}]]]'
    assert load(tmp_path, [row])[0].prompt_id == blake2b(content, digest_size=16).hexdigest() + "-0" == "4fc17120d2d3b149727e62284f521175-0"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"prompt": "a"}, {"messages": [{"role": "user", "content": "a"}]}, True),
        ({"prompt": "a", "x": 1}, {"x": 2, "prompt": "a", "id": 5}, True),
        ({"prompt": "a", "reference": 1}, {"prompt": "a", "reference": "1"}, True),
        ({"prompt": "a", "reference": 1}, {"prompt": "a"}, False),
        ({"prompt": "a"}, {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}]}, False),
        (
            {"prompt": "a", "instruction_id_list": ["k"], "kwargs": [{"n": 1, "m": 2}]},
            {"prompt": "a", "instruction_id_list": ["k"], "kwargs": [{"m": 2.0, "n": 1, "o": None}]},
            True,
        ),
        ({"prompt": "a", "instruction_id_list": ["k"], "kwargs": [{"n": 1}]}, {"prompt": "a", "instruction_id_list": ["k"], "kwargs": [{"n": 2}]}, False),
        ({"prompt": "a", "instruction_id_list": [], "kwargs": []}, {"prompt": "a"}, True),
    ],
)
def test_content_makes_the_identity(tmp_path: Path, one: dict[str, Json], other: dict[str, Json], same: bool) -> None:
    first, second = load(tmp_path, [one, other])

    assert (first.prompt_id[:32] == second.prompt_id[:32]) is same
    assert first.prompt_id != second.prompt_id
