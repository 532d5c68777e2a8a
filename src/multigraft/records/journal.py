"""An append-only database: SQLite in WAL mode with full synchronisation, many rows a commit.

A commit costs one disk synchronisation, some milliseconds; so rows that arrive while one is under way wait together for the next (group commit). The disk is
only ever touched in one worker thread, never in the event loop.
"""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from multigraft.errors import RecordError
from multigraft.records.disk import database_error
from multigraft.records.schema import Value


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables of a journal."""

    version: int
    """Of the tables; a journal of another is refused, unless `upgrades` holds the way from there."""
    create: str
    """Statements that make them, each on lines of its own and ended by `;`. One makes `meta (key, value)`; all others have a column `sequence`."""
    columns: Mapping[str, str]
    """Of each table but `meta`, in the order rows are written."""
    upgrades: Mapping[int, str] = field(default_factory=dict)
    """By earlier version: statements that make this layout of it, written as in `create`."""


SOON_S: Final = 0.005
"""How long rows that nobody waits for may lie in memory: long enough that most join the commit of what comes next."""


class Journal:
    """Writes rows at the end of tables. The caller owns the file (`owner.owned`).

    Args:
        path: of the database; a missing one is made.
        layout: its tables.

    Raises:
        RecordError: it cannot be opened, is damaged, or was written in another layout.
    """

    def __init__(self, path: Path, layout: Layout) -> None:
        self._path, self._layout = path, layout
        self._insert = {
            table: f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(columns.split(',')))})"  # noqa: S608 - fixed texts
            for table, columns in layout.columns.items()
        }
        self._thread = ThreadPoolExecutor(1, "record")
        self._rows: list[tuple[str, tuple[Value, ...]]] = []
        self._waiters: list[asyncio.Future[None]] = []
        self._writing: asyncio.Future[None] | None = None
        self._soon: asyncio.TimerHandle | None = None
        self.error: RecordError | None = None
        """Set once a commit failed; nothing is recorded from then on, and nothing more may be paid for."""
        try:
            self._database = self._thread.submit(self._open).result()
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN IMMEDIATE")
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            for statement in self._layout.create.split(";\n"):
                database.execute(statement)
            database.execute("INSERT INTO meta VALUES ('schema_version', ?)", (str(self._layout.version),))
        found = int(database.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()[0])
        if found in self._layout.upgrades:
            for statement in self._layout.upgrades[found].split(";\n"):
                database.execute(statement)
            database.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (str(self._layout.version),))
        elif found != self._layout.version:
            message = f"{self._path}: written in schema {found}, this multigraft writes {self._layout.version}; use the version that wrote it"
            raise RecordError(message)
        latest = (database.execute(f"SELECT max(sequence) FROM {table}").fetchone()[0] or 0 for table in self._layout.columns)  # noqa: S608 - fixed texts
        self._sequence = self._durable = max(latest)
        database.execute("COMMIT")
        return database

    def put(self, table: str, *values: Value) -> int:
        """Put a row at the end of a table. It is safe once a later `durable` has returned.

        Args:
            table: its name.
            values: of its columns after `sequence`.

        Returns:
            Its place in the record.
        """
        self._sequence += 1
        self._rows.append((table, (self._sequence, *values)))
        return self._sequence

    async def durable(self) -> None:
        """Wait until every row appended so far is on disk.

        Raises:
            DiskFullError: there is no space; the rows are kept and tried once more by `close`.
            RecordError: the log cannot be written.
        """
        if self.error is not None:
            raise self.error
        if self._durable >= self._sequence:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())
        await waiter

    def durable_soon(self) -> None:
        """See to it that every row appended so far is on disk a few milliseconds from now, without waiting for it.

        As rows are committed in their order, whoever waits for a later one waits for these, too. A failure is raised by the next `durable`.
        """
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SOON_S, self._begin)

    def _begin(self) -> None:
        self._soon = None
        if self.error is None and self._durable < self._sequence and self._writing is None:
            nobody = asyncio.get_running_loop().create_future()
            nobody.add_done_callback(lambda future: future.exception())
            self._waiters.append(nobody)
            self._writing = asyncio.ensure_future(self._write())

    async def _write(self) -> None:
        """Commit for as long as somebody waits; a failure is kept in `error` as well, as everybody who waits may be gone by then."""
        try:
            while self._waiters and self.error is None:
                await asyncio.sleep(0)  # whoever is ready now joins this commit
                rows, self._rows = self._rows, []
                waiters, self._waiters = self._waiters, []
                latest = self._sequence
                try:
                    await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, rows)
                    self._durable = latest
                except sqlite3.Error as error:
                    self._rows = rows + self._rows
                    self.error = self._failed(error)
                    self.error.__cause__ = error
                    waiters += self._waiters
                    self._waiters = []
                for waiter in waiters:
                    if not waiter.done():
                        waiter.set_result(None) if self.error is None else waiter.set_exception(self.error)
        finally:
            self._writing = None

    def _commit(self, rows: list[tuple[str, tuple[Value, ...]]]) -> None:
        tables: defaultdict[str, list[tuple[Value, ...]]] = defaultdict(list)
        for table, values in rows:
            tables[table].append(values)
        self._database.execute("BEGIN")
        try:
            for table, many in tables.items():
                self._database.executemany(self._insert[table], many)
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Write what is left and close the log.

        Raises:
            RecordError: what is left could not be written.
        """
        if self._soon is not None:
            self._soon.cancel()
        try:
            if self._rows:
                self._thread.submit(self._commit, self._rows).result()
                self._rows = []
        except sqlite3.Error as error:
            raise self._failed(error) from error
        finally:
            self._thread.submit(self._database.close).result()
            self._thread.shutdown()

    def _failed(self, error: sqlite3.Error) -> RecordError:
        return database_error(f"writing {self._path}", error)
