"""Files of datasets: complete or not there, and what other readers make of them."""

import csv
import gc
import json
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from multigraft.datasets.columns import Kind
from multigraft.datasets.everything import AllResponses
from multigraft.datasets.export import Target, export
from multigraft.datasets.preference import PreferencePairs
from multigraft.datasets.sft import BestResponses
from multigraft.datasets.unfinished import UnfinishedFile
from multigraft.errors import DiskFullError, InputError
from multigraft.records.reader import PromptRecord
from multigraft.tasks.prompts import load_prompts
from multigraft.types import FailureKind, Json

Make = Callable[..., PromptRecord]


@pytest.fixture
def records(make_record: Make) -> list[PromptRecord]:
    made = [make_record((f"a{n}", 0.5), (f"b{n}", 1.0), {"failure": FailureKind.SERVER}, number=n, name=None if n < 150 else f"n{n}") for n in range(151)]
    return [*made, make_record(("only", 0.5), number=151, ended=None)]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_polars_loads_every_dataset(tmp_path: Path, records: list[PromptRecord], suffix: str) -> None:
    targets = [
        Target(BestResponses(), tmp_path / f"new folder/sft{suffix}"),
        Target(PreferencePairs(), tmp_path / f"dpo{suffix}"),
        Target(AllResponses(), tmp_path / f"all{suffix}"),
    ]

    sft, dpo, everything = export(iter(records), targets)
    frames = [pl.read_ndjson(target.path, infer_schema_length=None) if suffix == ".jsonl" else pl.read_parquet(target.path) for target in targets]

    assert [frame.height for frame in frames] == [sft.counts.rows, dpo.counts.rows, everything.counts.rows] == [152, 151, 454]
    # Polars gives the columns of lines in any order once it has looked at all of them.
    assert [sorted(frame.columns) for frame in frames] == [sorted(target.selection.columns) for target in targets]
    turns = pl.List(pl.Struct({"role": pl.String, "content": pl.String}))
    assert frames[0].schema["prompt"] == frames[0].schema["completion"] == frames[1].schema["chosen"] == frames[1].schema["rejected"] == turns
    assert frames[0]["completion"][3].to_list() == [{"role": "assistant", "content": "b3"}]
    assert frames[1]["rejected"][3].to_list() == [{"role": "assistant", "content": "a3"}]
    assert frames[1]["reward_margin"].to_list() == [0.5] * 151
    assert frames[0]["name"].null_count() == 151
    assert frames[2].filter(pl.col("failed"))["failure"].unique().to_list() == ["server"]
    assert dict(dpo.counts.skipped) == {"single": 1}
    assert (sft.statistics.prompts, sft.statistics.unfinished, sft.statistics.responses, dict(sft.statistics.failures)) == (152, 1, 303, {"server": 151})
    assert sft.statistics.spent.tokens == 454 * 15
    assert sft.statistics.best_rewards.mean == pytest.approx((151 * 1.0 + 0.5) / 152)
    assert sft.statistics.first_rewards.mean == 0.5


def test_an_empty_dataset_is_still_a_file(tmp_path: Path, make_record: Make) -> None:
    record = make_record({"failure": FailureKind.SERVER}, fields={"topic": "x"})

    (lines, table) = export([record], [Target(BestResponses(), tmp_path / "a.jsonl"), Target(BestResponses(), tmp_path / "a.parquet")])

    assert (lines.counts.rows, lines.counts.skipped, table.counts.rows) == (0, {"no_response": 1}, 0)
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    assert pl.read_parquet(tmp_path / "a.parquet").columns == list(BestResponses.columns)


def test_row_groups_are_bounded(tmp_path: Path, make_record: Make) -> None:
    many = (make_record(("x", 1.0), number=number) for number in range(2500))
    large = (make_record(("x" * 5_000_000, 1.0), number=number) for number in range(8))

    export(many, [Target(BestResponses(), tmp_path / "many.parquet")])
    export(large, [Target(BestResponses(), tmp_path / "large.parquet")])

    file = pq.ParquetFile(tmp_path / "many.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [1000, 1000, 500]
    file = pq.ParquetFile(tmp_path / "large.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [7, 1]


def test_fields_get_one_type_over_all_rows(tmp_path: Path, make_record: Make) -> None:
    values: dict[str, list[Json]] = {
        "whole": [1, None, 3],
        "number": [1, 2.5, None],
        "inexact": [2**60, 2.5, 1],
        "mixed": [1, "a", None],
        "texts": [[], ["a", None], None],
        "numbers": [[1], [2.5], []],
        "ragged": [["a"], [1], None],
        "nested": [{"a": 1}, {"b": [2]}, None],
        "turns": [[{"role": "user", "content": "x"}], [], None],
        "flag": [True, None, False],
        "flag_or_number": [True, 1, 0],
        "nothing": [None, None, None],
        "empty_or_text": [[], "a", None],
    }
    made = [make_record(("x", 1.0), number=row, fields={name: given[row] for name, given in values.items()}) for row in range(3)]
    made.append(make_record(("x", 1.0), number=3, fields={"late": "only here"}))

    (found,) = export(made, [Target(BestResponses(), tmp_path / "a.parquet")])
    frame = pl.read_parquet(tmp_path / "a.parquet")

    as_json = {"inexact", "mixed", "ragged", "nested", "turns", "flag_or_number", "empty_or_text"}
    assert {name for name, kind in found.field_kinds.items() if kind is Kind.JSON} == as_json
    assert json.loads(pq.read_schema(tmp_path / "a.parquet").metadata[b"multigraft.json_columns"]) == [name for name in values if name in as_json]
    for name, given in values.items():
        cells = frame[name].to_list()
        assert cells[3] is None
        assert [json.loads(cell) if name in as_json and cell is not None else cell for cell in cells[:3]] == given, name
    assert frame["late"].to_list() == [None, None, None, "only here"]


def test_exported_prompts_can_be_prompts_again(tmp_path: Path, make_record: Make) -> None:
    source = tmp_path / "in.jsonl"
    row = {"prompt": "x", "id": "n", "reference": 4, "instruction_id_list": ["a:b"], "kwargs": [{"n": 3, "k": ["a"]}], "topic": "t"}
    source.write_text(json.dumps(row))
    (prompt,) = load_prompts(source)
    record = make_record(("y", 1.0))
    record.prompt = prompt

    for name in ("out.jsonl", "out.parquet"):
        export([record], [Target(BestResponses(), tmp_path / name)])
        (again,) = load_prompts(tmp_path / name)
        assert (again.prompt_id, again.messages, again.reference, again.constraints) == (prompt.prompt_id, prompt.messages, "4", prompt.constraints)
        assert again.fields["topic"] == "t"


def test_a_csv_has_to_be_asked_for_and_runs_no_formula(tmp_path: Path, make_record: Make) -> None:
    hostile = ['=HYPERLINK("http://x","y")', "+1+1", "-2", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\uff1d1", "fine = 1", "nul \x00", 'quote " and, comma\nline']
    made = [make_record((text, 1.0), number=number, prompt=text, name=text, fields={"=evil": text, "n": -1}) for number, text in enumerate(hostile)]
    path = tmp_path / "a.csv"

    with pytest.raises(InputError, match="a CSV is for spreadsheets"):
        export(made, [Target(BestResponses(), path)])
    assert list(tmp_path.iterdir()) == []
    export(made, [Target(BestResponses(), path)], spreadsheet_safe=True)

    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [f"'{text}" if number < 8 else text.replace("\x00", "\ufffd") for number, text in enumerate(hostile)]
    assert [row["name"] for row in rows] == expected
    assert [row["'=evil"] for row in rows] == expected
    assert {row["n"] for row in rows} == {"-1"}
    assert [json.loads(row["completion"])[0]["content"] for row in rows] == hostile
    assert pl.read_csv(path).height == len(hostile)


def test_nothing_changes_when_the_record_fails_midway(tmp_path: Path, make_record: Make) -> None:
    old = tmp_path / "a.jsonl"
    old.write_text("old\n")

    def broken() -> Iterator[PromptRecord]:
        yield make_record(("x", 1.0))
        message = "damaged"
        raise ValueError(message)

    with pytest.raises(ValueError, match="damaged"):
        export(broken(), [Target(BestResponses(), old), Target(BestResponses(), tmp_path / "b.parquet")])

    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    assert old.read_text() == "old\n"


def test_files_have_the_usual_permissions(tmp_path: Path, make_record: Make) -> None:
    before = os.umask(0o027)
    try:
        export([make_record(("x", 1.0))], [Target(BestResponses(), tmp_path / "a.jsonl")])
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == 0o640


def test_places_that_cannot_be_written_to(tmp_path: Path, make_record: Make) -> None:
    def write(*paths: Path) -> None:
        export([make_record(("x", 1.0))], [Target(BestResponses(), path) for path in paths])

    with pytest.raises(InputError, match=r"a\.txt: a dataset ends in \.jsonl, \.ndjson, \.parquet, \.csv; '\.txt' is none of them"):
        write(tmp_path / "a.txt")
    with pytest.raises(InputError, match="two datasets cannot share one file"):
        write(tmp_path / "a.jsonl", tmp_path / "x/../a.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        write(tmp_path / "folder.jsonl")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/a\.jsonl: .*/file is a file, not a folder"):
        write(tmp_path / "file/a.jsonl")
    with pytest.raises(InputError, match=r"b/a\.jsonl: cannot be written: Not a directory"):
        write(tmp_path / "file/b/a.jsonl")
    with pytest.raises(InputError, match="cannot be written: File name too long"):
        write(tmp_path / ("x" * 250 + ".jsonl"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_apart(tmp_path: Path) -> None:
    def write() -> None:
        with UnfinishedFile(tmp_path / "a.jsonl") as unfinished:
            unfinished.file.close()
            unfinished.file = Path("/dev/full").open("wb")  # noqa: SIM115 - closed by the context
            unfinished.file.write(b"x")
            unfinished.publish()

    with warnings.catch_warnings(action="ignore", category=pytest.PytestUnraisableExceptionWarning):
        with pytest.raises(DiskFullError, match="No space left on device; nothing of it was kept") as caught:
            write()
        del caught
        gc.collect()

    assert list(tmp_path.iterdir()) == []


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, make_record: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    with pytest.raises(InputError, match=r"pip install 'multigraft\[parquet\]'"):
        export([make_record(("x", 1.0))], [Target(BestResponses(), tmp_path / "a.parquet")])
    assert list(tmp_path.iterdir()) == []
