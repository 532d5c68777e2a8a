"""The append-only log of a run: SQLite in WAL mode with full synchronisation, many rows a commit.

A commit costs one disk synchronisation, some milliseconds; so rows that arrive while one is under way wait together for the next (group commit). The disk is
only ever touched in one worker thread, never in the event loop.
"""

import asyncio
import sqlite3
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from multigraft.errors import RecordError
from multigraft.records.disk import database_error
from multigraft.records.folder import LOG_NAME
from multigraft.records.rows import Row
from multigraft.records.schema import COLUMNS, CREATE, SCHEMA_VERSION, Value, values_of

_INSERT = {table: f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(columns.split(',')))})" for table, columns in COLUMNS.items()}  # noqa: S608 - fixed texts


class RunLog:
    """Writes the record of a run. The caller owns the folder (`owner.owned`).

    Args:
        folder: the run's folder; a missing log is made.

    Raises:
        RecordError: the log cannot be opened, is damaged, or was written by another schema.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG_NAME
        self._thread = ThreadPoolExecutor(1, "record")
        self._rows: list[tuple[str, tuple[Value, ...]]] = []
        self._waiters: list[asyncio.Future[None]] = []
        self._writing: asyncio.Future[None] | None = None
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
            for statement in CREATE.split(";\n"):
                database.execute(statement)
            database.execute("INSERT INTO meta VALUES ('schema_version', ?)", (str(SCHEMA_VERSION),))
        found = int(database.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()[0])
        if found != SCHEMA_VERSION:
            message = f"{self._path}: written in schema {found}, this multigraft writes {SCHEMA_VERSION}; use the version that wrote it"
            raise RecordError(message)
        latest = (database.execute(f"SELECT max(sequence) FROM {table}").fetchone()[0] or 0 for table in COLUMNS)  # noqa: S608 - fixed texts
        self._sequence = self._durable = max(latest)
        database.execute("COMMIT")
        return database

    def append(self, row: Row) -> int:
        """Put a row at the end of the record. It is safe once a later `durable` has returned.

        Returns:
            Its place in the record.
        """
        self._sequence += 1
        self._rows.append(values_of(self._sequence, row))
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
                self._database.executemany(_INSERT[table], many)
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
