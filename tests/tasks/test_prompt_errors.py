"""Each bad row gives one error with the file, the line and the field."""

import json
import sys
from pathlib import Path

import pytest

from multigraft.errors import InputError
from multigraft.tasks.prompts import load_prompts

GOOD = '{"prompt": "fine"}'


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


BAD_ROWS = [
    ('{"prompt": ""}', "prompt", "is empty"),
    ('{"prompt": " \\n\\t "}', "prompt", "is empty"),
    ('{"prompt": 3}', "prompt", "must be a text, not a number"),
    ('{"prompt": {"a": 1}}', "prompt", "must be a text, not an object"),
    ('{"prompt": true}', "prompt", "must be a text, not true or false"),
    ('{"prompt": null}', "prompt", "a row needs one of"),
    ('{"text": "x", "promt": "y"}', "prompt", "(it has the fields: promt, text)"),
    ("{}", "prompt", "(it has the fields: none)"),
    ('{"prompt": "a", "messages": [{"role": "user", "content": "b"}]}', "messages", "this has 'messages' and 'prompt'"),
    ('{"prompt": "a", "instruction": "b"}', "prompt", "this has 'prompt' and 'instruction'"),
    ('{"instruction": "a", "input": ["b"]}', "input", "must be a text, not a list"),
    ('{"instruction": ["a"]}', "instruction", "must be a text, not a list"),
    ('{"messages": "hello"}', "messages", "as a text it is no JSON"),
    ('{"messages": {"role": "user"}}', "messages", "must be a list, not an object"),
    ('{"messages": []}', "messages", "holds no message"),
    ('{"prompt": []}', "prompt", "holds no message"),
    ('{"messages": ["hello"]}', "messages[0]", "must be an object with 'role' and 'content', not a text"),
    ('{"messages": [{"role": "tool", "content": "x"}]}', "messages[0].role", "unknown role 'tool'; known: system, user, assistant"),
    ('{"messages": [{"role": ["user"], "content": "x"}]}', "messages[0].role", "unknown role"),
    ('{"messages": [{"content": "x"}]}', "messages[0].role", "unknown role 'None'"),
    ('{"messages": [{"role": "user", "content": "x"}, {"role": "user"}]}', "messages[1].content", "must be a text, not null"),
    ('{"messages": [{"role": "user", "content": [{"type": "text"}]}]}', "messages[0].content", "must be a text, not a list"),
    ('{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}', "messages[1].role", "the last message must be the user's"),
    ('{"prompt": "x", "id": ["a"]}', "id", "must be a text or a number, not a list"),
    ('{"prompt": "x", "id": true}', "id", "must be a text or a number, not true or false"),
    ('{"prompt": "x", "reference": {"a": 1}}', "reference", "must be a text or a number, not an object"),
    ('{"prompt": "x", "reference": false}', "reference", "must be a text or a number, not true or false"),
    ('{"prompt": "x", "instruction_id_list": ["a"]}', "kwargs", "is missing"),
    ('{"prompt": "x", "kwargs": [{}]}', "instruction_id_list", "is missing"),
    ('{"prompt": "x", "instruction_id_list": ["a"], "kwargs": []}', "kwargs", "has 0 entries for 1"),
    ('{"prompt": "x", "instruction_id_list": "a", "kwargs": []}', "instruction_id_list", "as a text it is no JSON"),
    ('{"prompt": "x", "instruction_id_list": {"a": 1}, "kwargs": []}', "instruction_id_list", "must be a list, not an object"),
    ('{"prompt": "x", "instruction_id_list": ["a", 1], "kwargs": [{}, {}]}', "instruction_id_list[1]", "not a number"),
    ('{"prompt": "x", "instruction_id_list": [""], "kwargs": [{}]}', "instruction_id_list[0]", "not an empty text"),
    ('{"prompt": "x", "instruction_id_list": ["a"], "kwargs": [3]}', "kwargs[0]", "must be an object, not a number"),
    ('{"prompt": "x", "prompt": "y"}', "prompt", "given twice in one object"),
    ('{"prompt": "x", "a": {"b": 1, "b": 2}}', "b", "given twice in one object"),
    ('{"prompt": "x", "n": NaN}', None, "NaN is no JSON; use null"),
    ('{"prompt": "x", "n": -Infinity}', None, "-Infinity is no JSON; use null"),
    ('{"prompt": "x", "n": 1e400}', None, "number 1e400 is beyond a 64-bit float"),
    ('{"prompt": "x", "n": 9223372036854775808}', "n", "9223372036854775808 does not fit 64 bits"),
    ('{"prompt": "x", "n": ' + "9" * 5000 + "}", None, "a number with too many digits"),
    ('{"prompt": "x", "n": ' + deep(66) + "}", "n", "nested deeper than 64 levels"),
    ('{"prompt": "x", "n": ' + deep(200_000) + "}", None, "nested too deep"),
    ('{"prompt": "x"', None, "bad JSON: Expecting ',' delimiter (column 15)"),
    ('{"prompt": "x"} {"prompt": "y"}', None, "bad JSON: Extra data (column 17)"),
    ("{'prompt': 'x'}", None, "bad JSON: Expecting property name"),
    ('["prompt"]', None, "a row is one JSON object on one line, this is a list"),
    ('"prompt"', None, "this is 'prompt'"),
]


@pytest.mark.parametrize(("row", "field", "message"), BAD_ROWS, ids=range(len(BAD_ROWS)))
def test_a_bad_row_is_named(tmp_path: Path, row: str, field: str | None, message: str) -> None:
    path = tmp_path / "some prompts.jsonl"
    path.write_text(f"{GOOD}\n\n{row}\n{GOOD}\n{{]\n")

    with pytest.raises(InputError) as caught:
        load_prompts(path)

    assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), 3, field)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:3: " + (f"field '{field}': " if field else ""))
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("content", [b"", b"\n\n \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_file_without_rows(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)

    with pytest.raises(InputError) as caught:
        load_prompts(path)

    assert str(caught.value) == f"{path}: no prompt in it"


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "windows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"prompt": "a"}\r\n\r\n{"prompt": "b"}')

    assert [prompt.messages[0].content for prompt in load_prompts(path)] == ["a", "b"]


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes(GOOD.encode() + b'\n{"prompt": "caf\xe9"}\n')

    with pytest.raises(InputError) as caught:
        load_prompts(path)

    assert str(caught.value) == f"{path}:2: not UTF-8 (byte 0xe9 at byte 16 of the line); convert the file to UTF-8"


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_prompts(tmp_path / "missing.jsonl")
    assert str(caught.value) == f"{tmp_path}/missing.jsonl: no such file"
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder, not a file"):
        load_prompts(tmp_path / "folder.csv")
    (tmp_path / "prompts.txt").write_text(GOOD)
    with pytest.raises(InputError, match=r"ends in \.jsonl, \.ndjson, \.csv, \.parquet; '\.txt' is none of them"):
        load_prompts(tmp_path / "prompts.txt")
    (tmp_path / "no.parquet").write_text(GOOD)
    with pytest.raises(InputError, match=r"reading .*no\.parquet: "):
        load_prompts(tmp_path / "no.parquet")


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(InputError, match=r"pip install 'multigraft\[parquet\]'"):
        load_prompts(tmp_path / "some.parquet")


def test_the_error_survives_json(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"prompt": "x", "\\ud800": 99999999999999999999}\n')

    with pytest.raises(InputError) as caught:
        load_prompts(path)

    json.dumps(str(caught.value), ensure_ascii=False).encode("utf-8", "strict")
