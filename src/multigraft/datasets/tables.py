"""Rows as Parquet, in row groups of bounded size."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from multigraft import __version__
from multigraft.datasets.columns import Kind, Row
from multigraft.datasets.lines import json_text
from multigraft.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_A_GROUP = 1000
_BYTES_A_GROUP = 32 * 2**20


def require_pyarrow(path: Path) -> None:
    """Make sure, before anything is written, that Parquet can be.

    Raises:
        InputError: names the extra that brings it.
    """
    try:
        import pyarrow.parquet  # noqa: F401, PLC0415 - an extra, and slow to import
    except ImportError:
        message = "writing Parquet needs pyarrow: pip install 'multigraft[parquet]', or export to .jsonl"
        raise InputError(message, file=str(path)) from None


def write_parquet(rows: Iterable[tuple[Row, int]], kinds: Mapping[str, Kind], own_fields: Iterable[str], file: BinaryIO) -> None:
    """Write rows as Parquet.

    Args:
        rows: each with its size in bytes; a column a row does not have is null.
        kinds: of all columns, in order.
        own_fields: those that hold the prompt's own fields; their JSON columns hold values that are still to be written as text.
        file: to write to.
    """
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    as_json = [name for name in own_fields if kinds[name] is Kind.JSON]
    notes = {"multigraft.version": __version__, "multigraft.json_columns": json_text([*as_json])}
    schema = pa.schema([pa.field(name, _arrow_type(kind)) for name, kind in kinds.items()], metadata=notes)
    group: list[Row] = []
    group_bytes = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for row, size in rows:
            for name in as_json:
                value = row.get(name)
                row[name] = None if value is None else json_text(value)
            group.append(row)
            group_bytes += size
            if len(group) == _ROWS_A_GROUP or group_bytes >= _BYTES_A_GROUP:
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
                group, group_bytes = [], 0
        if group:
            writer.write_table(pa.Table.from_pylist(group, schema=schema))


def _arrow_type(kind: Kind) -> "pa.DataType":
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import

    details = pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())]))
    said = {"scorer": pa.string(), "version": pa.string(), "value": pa.float64(), "reason": pa.string(), "answer": pa.string(), "details": details}
    types: dict[Kind, pa.DataType] = {
        Kind.TEXT: pa.string(),
        Kind.JSON: pa.string(),
        Kind.INTEGER: pa.int64(),
        Kind.NUMBER: pa.float64(),
        Kind.FLAG: pa.bool_(),
        Kind.TEXTS: pa.list_(pa.string()),
        Kind.INTEGERS: pa.list_(pa.int64()),
        Kind.NUMBERS: pa.list_(pa.float64()),
        Kind.MESSAGES: pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())])),
        Kind.SCORES: pa.list_(pa.struct([*said.items(), ("truncated", pa.bool_()), ("external", pa.bool_())])),
    }
    return types[kind]
