"""The append-only log of a run."""

from pathlib import Path
from typing import Final

from multigraft.records.folder import LOG_NAME
from multigraft.records.journal import Journal, Layout
from multigraft.records.rows import Row
from multigraft.records.schema import COLUMNS, CREATE, SCHEMA_VERSION, UPGRADES, values_of

LAYOUT: Final = Layout(SCHEMA_VERSION, CREATE, COLUMNS, UPGRADES)


class RunLog(Journal):
    """Writes the record of a run. The caller owns the folder (`owner.owned`).

    Args:
        folder: the run's folder; a missing log is made.

    Raises:
        RecordError: the log cannot be opened, is damaged, or was written by another schema.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / LOG_NAME, LAYOUT)

    def append(self, row: Row) -> int:
        """Put a row at the end of the record. It is safe once a later `durable` has returned.

        Returns:
            Its place in the record.
        """
        self._sequence += 1
        self._rows.append(values_of(self._sequence, row))
        return self._sequence
