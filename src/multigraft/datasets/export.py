"""Write datasets from the record of a run: all of each file or nothing of it, one prompt in memory at a time."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from multigraft.datasets.columns import Kind, Row
from multigraft.datasets.fields import FieldKinds
from multigraft.datasets.lines import decode, encode
from multigraft.datasets.selection import Counts, Selection
from multigraft.datasets.sheets import write_sheet
from multigraft.datasets.statistics import Statistics
from multigraft.datasets.tables import require_pyarrow, write_parquet
from multigraft.datasets.unfinished import UnfinishedFile, writing
from multigraft.errors import InputError
from multigraft.records.reader import PromptRecord
from multigraft.tasks.text import without_surrogates

SUFFIXES = (".jsonl", ".ndjson", ".parquet", ".csv")


class Target(NamedTuple):
    """A dataset to write."""

    selection: Selection
    path: Path
    """Its suffix says how: one of `SUFFIXES`."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A dataset that was written."""

    selection: Selection
    path: Path
    counts: Counts
    field_kinds: Mapping[str, Kind]
    """The columns of the prompts' own fields, with their types over all rows."""
    statistics: Statistics
    """Of the run; the same for all datasets of one export."""


def export(records: Iterable[PromptRecord], targets: Sequence[Target], *, spreadsheet_safe: bool = False) -> list[Exported]:
    """Write datasets in one walk over the record. No file appears before it is complete, and none is touched when anything goes wrong before that.

    Args:
        records: of the prompts, such as `RunRecord.prompts()`.
        targets: what to write and where.
        spreadsheet_safe: allow `.csv`; texts that a spreadsheet would take for a formula get an apostrophe before them.

    Returns:
        What was written, in the order of the targets.

    Raises:
        InputError: a path with another suffix, given twice, or that cannot be written to.
        DiskFullError: no space is left.
    """
    _check([target.path for target in targets], spreadsheet_safe=spreadsheet_safe)
    statistics = Statistics()
    with ExitStack() as stack:
        open_datasets = [_OpenDataset(target, stack) for target in targets]
        for record in records:
            statistics.add(record)
            for dataset in open_datasets:
                dataset.add(record)
        for dataset in open_datasets:
            dataset.finish()
        for dataset in open_datasets:
            dataset.unfinished.publish()
    return [Exported(dataset.target.selection, dataset.target.path, dataset.counts, dataset.field_kinds.kinds(), statistics) for dataset in open_datasets]


def _check(paths: Sequence[Path], *, spreadsheet_safe: bool) -> None:
    for path in paths:
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            message = f"a dataset ends in {', '.join(SUFFIXES)}; '{path.suffix}' is none of them"
            raise InputError(message, file=str(path))
        if suffix == ".csv" and not spreadsheet_safe:
            message = (
                "a CSV is for spreadsheets and alters texts that look like formulas; ask for the spreadsheet-safe form, or take .jsonl or .parquet to train on"
            )
            raise InputError(message, file=str(path))
        if suffix == ".parquet":
            require_pyarrow(path)
    resolved = [path.resolve() for path in paths]
    twice = next((path for path, place in zip(paths, resolved, strict=True) if resolved.count(place) > 1), None)
    if twice is not None:
        message = "two datasets cannot share one file"
        raise InputError(message, file=str(twice))


@dataclass(slots=True, init=False)
class _OpenDataset:
    """A dataset while it is being written. A table is written as lines first, since only then the types of its columns are known."""

    target: Target
    unfinished: UnfinishedFile
    lines: BinaryIO
    counts: Counts = field(default_factory=Counts)
    field_kinds: FieldKinds = field(default_factory=FieldKinds)

    def __init__(self, target: Target, stack: ExitStack) -> None:
        self.target, self.counts, self.field_kinds = target, Counts(), FieldKinds()
        self.unfinished = stack.enter_context(UnfinishedFile(target.path))
        self.lines = self.unfinished.file
        if self._is_table:
            with writing(target.path):
                spool = tempfile.TemporaryFile(dir=target.path.parent)  # noqa: SIM115 - the stack closes it
                self.lines = cast("BinaryIO", stack.enter_context(spool))

    @property
    def _is_table(self) -> bool:
        return self.target.path.suffix.lower() in {".parquet", ".csv"}

    def add(self, record: PromptRecord) -> None:
        """Write the rows of one prompt."""
        columns = self.target.selection.columns
        self.counts.prompts += 1
        for row in self.target.selection.rows(record, self.counts):
            line, normalised = encode(row)
            with writing(self.target.path):
                self.lines.write(line)
            self.counts.rows += 1
            self.counts.normalised += normalised
            for name, value in row.items():
                if name not in columns:
                    self.field_kinds.see(without_surrogates(name), value)

    def finish(self) -> None:
        """Make the table, if it is one."""
        if not self._is_table:
            return
        own = self.field_kinds.kinds()
        kinds = {**{name: column.kind for name, column in self.target.selection.columns.items()}, **own}
        with writing(self.target.path):
            self.lines.flush()
            self.lines.seek(0)
            if self.target.path.suffix.lower() == ".parquet":
                write_parquet(decode(self.lines), kinds, own, self.unfinished.file)
            else:
                write_sheet(self._decoded(), list(kinds), self.unfinished.file)

    def _decoded(self) -> Iterator[Row]:
        for row, _ in decode(self.lines):
            yield row
