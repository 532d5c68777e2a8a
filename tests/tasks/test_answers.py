from pathlib import Path

import pytest

from multigraft.errors import InputError
from multigraft.tasks.answers import read_answers


def test_answers_are_read_by_whatever_names_their_prompt(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"id": 7, "answer": "seven"}\n{"uid": "q-8", "output": "eight"}\n{"question_id": "q-9", "text": "nine"}\n', "utf-8")
    assert read_answers(file) == {"7": "seven", "q-8": "eight", "q-9": "nine"}


def test_half_a_surrogate_pair_becomes_what_any_request_can_carry(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(r'{"id": "a\ud800", "answer": "x \udc00 y"}' + "\n", "utf-8")
    assert read_answers(file) == {"a\ufffd": "x \ufffd y"}


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ('{"answer": "x"}\n', "needs the name or id of its prompt"),
        ('{"id": true, "answer": "x"}\n', "needs the name or id of its prompt"),
        ('{"id": "a"}\n', "needs a text"),
        ('{"id": "a", "answer": "x"}\n{"name": "a", "answer": "y"}\n', "a second answer to 'a'"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, rows: str, problem: str) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(rows, "utf-8")
    with pytest.raises(InputError, match=problem):
        read_answers(file)
