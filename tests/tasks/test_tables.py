"""CSV and Parquet give the same prompts as JSONL."""

import csv
import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from multigraft.errors import InputError
from multigraft.tasks.prompts import load_prompts
from multigraft.types import Json

ROWS: list[dict[str, Json]] = [
    {"id": "a", "prompt": 'Say "hi",\nplease\u2028now', "reference": "42", "instruction_id_list": ["x:y"], "kwargs": [{"n": 3, "relation": None}]},
    {"id": "b", "messages": [{"role": "user", "content": "line\r\nbreak"}], "topic": "ß"},
    {"id": "c", "prompt": "plain"},
]
COLUMNS = ["id", "prompt", "messages", "reference", "instruction_id_list", "kwargs", "topic"]


def jsonl(folder: Path) -> Path:
    path = folder / "p.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS), encoding="utf-8")
    return path


def cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list) else value


def test_csv_gives_the_same_prompts(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in ROWS)

    assert load_prompts(path) == load_prompts(jsonl(tmp_path))


def test_parquet_gives_the_same_prompts(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS} for row in ROWS]), path, row_group_size=1)

    found, expected = load_prompts(path), load_prompts(jsonl(tmp_path))

    assert [(prompt.prompt_id, prompt.name, prompt.constraints) for prompt in found] == [(p.prompt_id, p.name, p.constraints) for p in expected]
    assert [prompt.messages for prompt in found] == [prompt.messages for prompt in expected]
    assert found[1].fields == {"topic": "ß"}
    assert found[2].fields == {"topic": None}


def test_a_large_cell_and_the_limit_put_back(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = tmp_path / "big.csv"
    path.write_text("prompt,id\n" + "x" * 300_000 + ",1\n")

    assert len(load_prompts(path)[0].messages[0].content) == 300_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "line", "field", "message"),
    [
        ("prompt,id\na,1\nb\n", 3, None, "1 cells under 2 columns"),
        ("prompt,id\na,b,c\n", 2, None, "3 cells under 2 columns"),
        ("prompt,prompt\na,b\n", 1, "prompt", "two columns have this name"),
        ("prompt,\na,b\n", 1, None, "column 2 has no name"),
        ('prompt,id\n"a\nb",1\n\n,2\n', 5, "prompt", "a row needs one of"),
        ('prompt,id\na,1\n"never closed,2\nmore\n', 3, None, "bad CSV: unexpected end of data"),
        ('prompt,id\n"a"b,1\n', 2, None, "bad CSV: ',' expected after '\"'"),
        ("prompt,kwargs,instruction_id_list\na,{},[]\n", 2, "kwargs", "must be a list, not an object"),
        ('messages\n"[{""role"": ""user"", ""role"": ""user""}]"\n', 2, "messages", "given twice"),
        ("prompt,id\n", None, None, "no prompt in it"),
    ],
)
def test_a_bad_csv_is_named(tmp_path: Path, content: str, line: int | None, field: str | None, message: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(content)

    with pytest.raises(InputError) as caught:
        load_prompts(path)

    assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), line, field)
    assert message in str(caught.value)


def test_a_csv_that_is_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(b"prompt,id\nfine,1\ncaf\xe9,2\n")

    with pytest.raises(InputError, match=r"p\.csv:3: not UTF-8"):
        load_prompts(path)


def test_parquet_values_without_a_json_form(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    day = dt.datetime(2024, 5, 1, 12, 30, tzinfo=dt.UTC)
    table = pa.table({"prompt": ["a", "b"], "score": [float("nan"), 2.5], "day": [day, None], "price": [Decimal("1.50"), None]})
    pq.write_table(table, path)

    first, second = load_prompts(path)

    assert first.fields == {"score": None, "day": "2024-05-01T12:30:00+00:00", "price": "1.50"}
    assert second.fields == {"score": 2.5, "day": None, "price": None}

    pq.write_table(pa.table({"prompt": ["a", "b"], "image": [None, b"\x00"]}), path)
    with pytest.raises(InputError) as caught:
        load_prompts(path)
    assert (caught.value.line, caught.value.field) == (2, "image")
    assert "a value of type bytes cannot be written as JSON" in str(caught.value)


def test_parquet_text_that_is_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    raw = pa.array([b"fine", b"caf\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"prompt": raw}), path)

    with pytest.raises(InputError) as caught:
        load_prompts(path)

    assert (caught.value.line, caught.value.field) == (2, "prompt")
