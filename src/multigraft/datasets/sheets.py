"""Rows as a CSV that a spreadsheet can open without running what is in it."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from multigraft.datasets.columns import Row
from multigraft.datasets.lines import json_text
from multigraft.types import Json

# Also the full-width forms, which some spreadsheets take for the same.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def write_sheet(rows: Iterable[Row], columns: Sequence[str], file: BinaryIO) -> None:
    """Write rows as CSV: UTF-8 with a byte order mark, lists as JSON text, and an apostrophe before every text a spreadsheet would take for a formula.

    Args:
        rows: a column a row does not have stays empty.
        columns: in order.
        file: to write to.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow([_safe(column) for column in columns])
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])
    text.detach()


def _cell(value: Json) -> str | int | float | None:
    if isinstance(value, str):
        return _safe(value)
    if isinstance(value, bool | list | dict):
        return json_text(value)
    return value


def _safe(text: str) -> str:
    # Few programs read a CSV with NUL in it.
    kept = text.replace("\x00", "\ufffd")
    return f"'{kept}" if kept.startswith(_FORMULA) or kept.lstrip().startswith(_FORMULA) else kept
