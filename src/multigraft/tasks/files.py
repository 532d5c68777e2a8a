"""Rows of a JSONL, CSV or Parquet file, one at a time, each with its place in the file.

JSONL is split at line feeds alone: texts may hold U+2028, U+0085 and other characters that some readers take for the end of a line.
"""

import csv
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from multigraft.errors import InputError, boundary
from multigraft.tasks.strict_json import StrictJsonError, parse
from multigraft.tasks.text import without_surrogates
from multigraft.types import Json

if TYPE_CHECKING:
    import pyarrow as pa

_BOM = b"\xef\xbb\xbf"
_ROWS_A_BATCH = 256


@dataclass(frozen=True, slots=True)
class Row:
    """One row and where it stands."""

    file: str
    line: int
    """1-based; of a CSV row the line it begins in, of a Parquet row its number."""
    values: Mapping[str, Json]

    def error(self, message: str, field: str | None = None) -> InputError:
        """Make the error that names this place."""
        named = None if field is None else without_surrogates(field)
        return InputError(without_surrogates(message), file=self.file, line=self.line, field=named)


def read_rows(path: Path) -> Iterator[Row]:
    """Walk over the rows of a file, one in memory at a time.

    Args:
        path: its suffix says what it is: `.jsonl` or `.ndjson`, `.csv`, `.parquet`.

    Raises:
        InputError: the file cannot be read, or a row of it is not what its format asks for.
    """
    readers = {".jsonl": _jsonl, ".ndjson": _jsonl, ".csv": _csv, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        message = f"a prompt file ends in {', '.join(readers)}; '{path.suffix}' is none of them"
        raise InputError(message, file=str(path))
    if not path.is_file():
        message = "is a folder, not a file" if path.is_dir() else "no such file"
        raise InputError(message, file=str(path))
    with boundary(InputError, f"reading {path}", OSError):
        yield from reader(path)


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    # A binary file is split at b"\n" only.
    for line, raw in enumerate(file, start=1):
        content = raw.removeprefix(_BOM) if line == 1 else raw
        try:
            yield line, content.decode()
        except UnicodeDecodeError as error:
            message = f"not UTF-8 (byte {content[error.start]:#04x} at byte {error.start + 1} of the line); convert the file to UTF-8"
            raise InputError(message, file=name, line=line) from None


def _jsonl(path: Path) -> Iterator[Row]:
    name = str(path)
    with path.open("rb") as file:
        for line, text in _lines(file, name):
            if not text.strip(" \t\r\n"):
                continue
            try:
                values = parse(text.rstrip("\r\n"))
            except StrictJsonError as error:
                raise Row(name, line, {}).error(str(error), error.key) from None
            if not isinstance(values, dict):
                message = f"a row is one JSON object on one line, this is {'a list' if isinstance(values, list) else repr(values)[:40]}"
                raise Row(name, line, {}).error(message)
            yield Row(name, line, values)


@contextmanager
def _cells_of_any_size() -> Iterator[None]:
    # The limit is one for the whole process, so it is put back.
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _csv(path: Path) -> Iterator[Row]:
    name = str(path)
    with path.open("rb") as file:
        reader = csv.reader((text for _, text in _lines(file, name)), strict=True)
        header: list[str] | None = None
        while True:
            line = reader.line_num + 1
            try:
                with _cells_of_any_size():
                    cells = next(reader, None)
            except csv.Error as error:
                message = f"bad CSV: {error}"
                raise InputError(message, file=name, line=line) from None
            if cells is None:
                return
            if not cells:
                continue
            if header is None:
                header = _header(cells, name, line)
                continue
            if len(cells) != len(header):
                message = f"{len(cells)} cells under {len(header)} columns; put texts that hold a comma or a line break into double quotes"
                raise InputError(message, file=name, line=line)
            # An empty cell is a value that is not there.
            yield Row(name, line, {column: cell for column, cell in zip(header, cells, strict=True) if cell})


def _header(columns: list[str], name: str, line: int | None) -> list[str]:
    if "" in columns:
        message = f"column {columns.index('') + 1} has no name"
        raise InputError(message, file=name, line=line)
    twice = next((column for column in columns if columns.count(column) > 1), None)
    if twice is not None:
        message = "two columns have this name"
        raise InputError(message, file=name, line=line, field=twice)
    return columns


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above
    except ImportError:
        message = "reading Parquet needs pyarrow: pip install 'multigraft[parquet]', or give the prompts as JSONL"
        raise InputError(message, file=str(path)) from None
    name = str(path)
    with boundary(InputError, f"reading {path}", pa.ArrowException), pq.ParquetFile(path) as file:
        columns = _header(list(file.schema_arrow.names), name, None)
        line = 0
        for batch in file.iter_batches(batch_size=_ROWS_A_BATCH):
            for index in range(batch.num_rows):
                line += 1
                yield Row(name, line, {column: _cell(batch, column, index, (name, line)) for column in columns})


def _cell(batch: "pa.RecordBatch", column: str, index: int, place: tuple[str, int]) -> Json:
    try:
        return plain(batch.column(column)[index].as_py())
    except (UnicodeDecodeError, ValueError, TypeError) as error:
        message = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InputError(message, file=place[0], line=place[1], field=column) from None


def plain(value: object) -> Json:
    """Turn a value of a table into what JSON can carry.

    Raises:
        TypeError: nothing of JSON stands for it.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            # Tables mark a missing number by NaN.
            return None if isnan(value) else value
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case _:
            message = f"a value of type {type(value).__name__} cannot be written as JSON; leave the column out or make it text"
            raise TypeError(message)
