"""What a row may hold, and which values of it become the prompt."""

import json
from pathlib import Path

import pytest

from multigraft.errors import InputError
from multigraft.tasks.prompts import NORMALISED, load_prompts
from multigraft.types import Constraint, Json, Message


def write(folder: Path, *rows: object) -> Path:
    path = folder / "prompts.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_prompt_an_instruction_with_input_and_messages(tmp_path: Path) -> None:
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "?"},
    ]
    path = write(
        tmp_path,
        {"prompt": "Two plus two?", "id": "sum", "reference": 4, "source": "mine", "tags": ["a", "b"], "level": None},
        {"instruction": "Translate.", "input": "chat", "output": "cat"},
        {"instruction": "Say hello.", "input": ""},
        {"messages": turns, "prompt": None, "id": 7},
        {"prompt": [{"role": "user", "content": "As messages", "weight": 1}]},
    )

    first, second, third, fourth, fifth = load_prompts(path)

    assert first.messages == (Message("user", "Two plus two?"),)
    assert (first.name, first.reference, first.fields) == ("sum", "4", {"source": "mine", "tags": ["a", "b"], "level": None})
    assert second.messages == (Message("user", "Translate.\n\nchat"),)
    assert (second.name, second.reference, second.fields) == (None, None, {"output": "cat"})
    assert third.messages == (Message("user", "Say hello."),)
    assert third.fields == {}
    assert fourth.messages == tuple(Message(turn["role"], turn["content"]) for turn in turns)
    assert (fourth.name, fourth.fields) == ("7", {})
    assert fifth.messages == (Message("user", "As messages"),)


def test_input_without_an_instruction_travels_along(tmp_path: Path) -> None:
    assert load_prompts(write(tmp_path, {"prompt": "Hi", "input": 3}))[0].fields == {"input": 3}


@pytest.mark.parametrize(
    ("given", "expected"),
    [(42, "42"), (42.0, "42"), (-3.5, "-3.5"), ("42", "42"), ("  ", None), ("", None), (None, None), (1e300, "1e+300"), ("a\u2028b", "a\u2028b")],
)
def test_a_reference_is_kept_as_text(tmp_path: Path, given: Json, expected: str | None) -> None:
    assert load_prompts(write(tmp_path, {"prompt": "x", "reference": given}))[0].reference == expected


def test_constraints_lose_their_nulls_and_whole_floats(tmp_path: Path) -> None:
    kinds = ["punctuation:no_comma", "length_constraints:number_words", "keywords:existence"]
    arguments = [None, {"relation": "at least", "num_words": 20.0, "keywords": None}, {"keywords": ["a", "b"], "num_words": None}]
    row = {"prompt": "x", "instruction_id_list": kinds, "kwargs": arguments}
    as_text = {"prompt": "x", "instruction_id_list": json.dumps(kinds), "kwargs": json.dumps(arguments)}

    first, second = load_prompts(write(tmp_path, row, as_text))

    assert first.constraints == (
        Constraint("punctuation:no_comma", {}),
        Constraint("length_constraints:number_words", {"relation": "at least", "num_words": 20}),
        Constraint("keywords:existence", {"keywords": ["a", "b"]}),
    )
    assert isinstance(first.constraints[1].arguments["num_words"], int)
    assert second.constraints == first.constraints
    assert "kwargs" not in first.fields


def test_constraints_are_checked_where_they_stand(tmp_path: Path) -> None:
    told: list[tuple[str, ...]] = []

    def check(constraints: object) -> None:
        assert isinstance(constraints, tuple)
        told.append(tuple(constraint.kind for constraint in constraints))
        if constraints[0].kind == "nonsense":
            message = "argument 'x' is missing"
            raise InputError(message, field="kwargs")

    good = {"prompt": "x", "instruction_id_list": ["fine"], "kwargs": [{}]}
    path = write(tmp_path, good, {"prompt": "unconstrained"}, {**good, "instruction_id_list": ["nonsense"]})

    with pytest.raises(InputError) as caught:
        load_prompts(path, check_constraints=check)

    assert str(caught.value) == f"{path}:3: field 'kwargs': argument 'x' is missing"
    assert told == [("fine",), ("nonsense",)]


def test_the_limit_stops_reading(tmp_path: Path) -> None:
    path = write(tmp_path, {"prompt": "a"}, {"prompt": "b"})
    path.write_text(path.read_text() + "rubbish\n")

    assert [prompt.messages[0].content for prompt in load_prompts(path, limit=2)] == ["a", "b"]
    with pytest.raises(InputError, match="limit must be at least 1, not 0"):
        load_prompts(path, limit=0)
    with pytest.raises(InputError, match=r":3: bad JSON"):
        load_prompts(path, limit=3)


def test_half_surrogate_pairs_are_replaced_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(
        r'{"prompt": "a\ud835b", "id": "\udc00", "x\ud800": {"k\ud800": ["\ud83d\ude00", "\ude00"]}}' + "\n"
        r'{"prompt": "whole \ud83d\ude00", "x": "\u0000\u2028"}' + "\n"
        r'{"messages": "[{\"role\": \"user\", \"content\": \"in text \\ud83d\"}]"}' + "\n"
    )
    notes: list[str] = []

    first, second, third = load_prompts(path, note=notes.append)

    assert first.messages[0].content == "a\ufffdb"
    assert first.name == "\ufffd"
    assert first.fields == {"x\ufffd": {"k\ufffd": ["😀", "\ufffd"]}, NORMALISED: True}
    assert second.messages[0].content == "whole 😀"
    assert second.fields == {"x": "\x00\u2028"}
    assert third.messages[0].content == "in text \ufffd"
    assert third.fields == {NORMALISED: True}
    assert len(notes) == 1
    assert "2 prompt(s)" in notes[0]
    for prompt in (first, second, third):
        json.dumps([prompt.messages[0].content, dict(prompt.fields)], ensure_ascii=False).encode()


def test_texts_keep_what_is_no_line_break_in_jsonl(tmp_path: Path) -> None:
    texts = ["a\u2028b\u2029c\u0085d", "\x1c\x1d\x1e\x0b\x0c", "nul \x00 inside", "\ufeffbom inside", "مرحبا", "e" + "\u0301" * 1000, "👩‍👩‍👧"]
    path = write(tmp_path, *({"prompt": f"x{text}"} for text in texts))

    assert [prompt.messages[0].content for prompt in load_prompts(path)] == [f"x{text}" for text in texts]
