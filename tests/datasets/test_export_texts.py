"""Whatever a model wrote comes back as it was, through every format; half a surrogate pair becomes U+FFFD and is counted."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multigraft.datasets.export import Target, export
from multigraft.datasets.lines import encode
from multigraft.datasets.pick import Filters, Rule
from multigraft.datasets.preference import PreferencePairs
from multigraft.datasets.sft import BestResponses
from multigraft.records.reader import PromptRecord
from multigraft.tasks.text import without_surrogates
from multigraft.types import Json

Make = Callable[..., PromptRecord]

PIECES = [
    "\u2028",
    "\u2029",
    "\x85",
    "\x1c",
    "\x00",
    "\ufeff",
    "\u202e",
    "\ud835",
    "\udc00",
    "\ud83d\ude00",
    "👩‍👩‍👧",
    "e\u0301",
    "\\u2028",
    '"',
    "\r\n",
    "{}",
    "ب",
    "\U0010ffff",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(st.characters(), max_size=5), min_size=1, max_size=8).map("".join)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=6,
)
KEEP = Filters(keep=frozenset(Rule) - {Rule.FAILED})


def clean(value: Json) -> Json:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(name): clean(item) for name, item in value.items()}
    return value


@given(texts=st.lists(TEXTS, min_size=1, max_size=4), field=st.lists(VALUES, min_size=4, max_size=4), column=TEXTS)
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_texts_survive(tmp_path: Path, make_record: Make, texts: list[str], field: list[Json], column: str) -> None:
    records = [make_record((text, 1.0), number=index, prompt=text, name=text, fields={f"f{column}": field[index]}) for index, text in enumerate(texts)]
    lines, table, sheet = tmp_path / "a.jsonl", tmp_path / "a.parquet", tmp_path / "a.csv"

    found, _, _ = export(records, [Target(BestResponses(filters=KEEP), path) for path in (lines, table, sheet)], spreadsheet_safe=True)

    expected, name = [without_surrogates(text) for text in texts], without_surrogates(f"f{column}")
    content = lines.read_bytes().decode()
    assert [json.loads(line)["completion"][0]["content"] for line in content.split("\n")[:-1]] == expected
    assert len(content.splitlines()) == len(texts)
    assert [json.loads(line)[name] for line in content.splitlines()] == [clean(value) for value in field[: len(texts)]]
    schema: dict[str, pl.DataType | type[pl.String]] = {"name": pl.String, "completion": pl.List(pl.Struct({"role": pl.String, "content": pl.String}))}
    assert pl.read_ndjson(lines, schema=schema)["name"].to_list() == expected
    frame = pl.read_parquet(table)
    assert [cell.to_list()[0]["content"] for cell in frame["prompt"]] == expected
    as_json = json.loads(pq.read_schema(table).metadata[b"multigraft.json_columns"])
    cells = frame[name].to_list()
    assert [json.loads(cell) if as_json and cell is not None else cell for cell in cells] == [clean(value) for value in field[: len(texts)]]
    assert pl.read_csv(sheet, infer_schema=False).height == len(texts)
    changed = [text != without_surrogates(text) or clean(value) != value or name != f"f{column}" for text, value in zip(texts, field, strict=False)]
    assert found.counts.normalised == sum(changed)


def test_two_thousand_texts_in_one_file(tmp_path: Path, make_record: Make) -> None:
    emoji = "👩‍👩‍👧".encode()
    broken = [emoji[:cut].decode("utf-8", "surrogateescape") for cut in range(1, len(emoji))]
    texts = [f"{piece}{index}{PIECES[index % len(PIECES)]}" for index, piece in enumerate((PIECES + broken) * 60)][:2000]
    texts.append("e" + "\u0301" * 1_000_000)
    records = [make_record((text, 1.0), (f"{text} other", 0.0), number=index) for index, text in enumerate(texts)]
    targets = [Target(PreferencePairs(filters=Filters.keeping(["empty"])), tmp_path / name) for name in ("a.jsonl", "a.parquet")]

    lines, _ = export(records, targets)

    assert lines.counts.rows == len(texts)
    assert lines.counts.normalised == sum(text != without_surrogates(text) for text in texts) > 0
    expected = [without_surrogates(text) for text in texts]
    frame = pl.read_ndjson(tmp_path / "a.jsonl", infer_schema_length=None)
    for chosen in (frame["chosen"], pl.read_parquet(tmp_path / "a.parquet")["chosen"]):
        assert [cell.to_list()[0]["content"] for cell in chosen] == expected


@pytest.mark.parametrize(("value", "text"), [(float("nan"), "null"), (float("inf"), "null"), (2**70, str(2**70)), (1.0, "1.0")])
def test_numbers_are_strict_json(value: float, text: str) -> None:
    assert encode({"a": value}) == (f'{{"a":{text}}}\n'.encode(), False)
    assert encode({"a": [value, "\ud800"]}) == (f'{{"a":[{text},"\ufffd"]}}\n'.encode(), True)
