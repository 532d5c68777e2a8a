"""Everything a run leaves behind or prints, read by readers that take no number that is none."""

import csv
import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pyarrow.parquet as pq
from tests.reports.command import multigraft

KEEP = ("duplicate", "truncated", "refusal", "partly_scored")


def _refuse(literal: str) -> NoReturn:
    message = f"{literal} in JSON"
    raise AssertionError(message)


def _finite(literal: str) -> float:
    number = float(literal)
    assert math.isfinite(number), f"{literal[:20]} in JSON"
    return number


def strict(text: str) -> Any:
    """Read JSON that holds neither NaN nor Infinity, also not as a number beyond a float."""
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def check_everything(run: Path) -> int:
    """Show and export a run in every form and read all of it, and the record.

    Returns:
        How many numbers were seen.
    """
    folder = run.parent
    seen = sum(len(numbers_of(shown(folder, run, *flags))) for flags in ((), ("0",)))
    keep = [flag for rule in KEEP for flag in ("--keep", rule)]
    for suffix in ("jsonl", "parquet", "csv"):
        files = {flag: folder / f"{flag}.{suffix}" for flag in ("sft", "dpo", "all")}
        flags = [part for flag, path in files.items() for part in (f"--{flag}", path)]
        done = multigraft(folder, "export", run, *flags, *keep, "--rejected-rank", "2", "--spreadsheet", "--json")
        assert done.code == 0, done.err
        strict(done.out)
        for path in files.values():
            seen += check_file(path)
            card = path.with_name(path.name + ".card.md").read_text()
            for block in card.split("```json\n")[1:]:
                strict(block.split("```")[0])
    return seen + check_record(run / "log.db")


def shown(folder: Path, run: Path, *flags: str) -> Any:
    done = multigraft(folder, "show", run, *flags, "--json")
    assert done.code == 0, done.err
    return strict(done.out)


def check_file(path: Path) -> int:
    if path.suffix == ".jsonl":
        return sum(len(numbers_of(strict(line))) for line in path.read_text().splitlines())
    if path.suffix == ".parquet":
        found = [number for row in pq.read_table(path).to_pylist() for number in numbers_of(row)]
        assert all(map(math.isfinite, found))
        return len(found)
    with path.open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in list(csv.reader(file))[1:] for cell in row]
    assert not {cell.strip().lower() for cell in cells} & {"nan", "inf", "-inf", "infinity", "-infinity"}
    for cell in cells:
        if cell.startswith(("[", "{")):
            strict(cell)
    return len(cells)


def check_record(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        values = [value for table in tables for row in database.execute(f"SELECT * FROM {table}") for value in row]  # noqa: S608 - names of our own tables
    numbers = [value for value in values if isinstance(value, int | float)]
    assert all(map(math.isfinite, numbers))
    for value in values:
        if isinstance(value, str) and value.startswith(("{", "[")):
            strict(value)
    return len(numbers)


def numbers_of(value: Any) -> list[float]:
    return list(_numbers(value))


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value
