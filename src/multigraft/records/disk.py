"""What goes wrong with a disk, told apart: no space, which passes, and everything else."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from multigraft.errors import DiskFullError, RecordError

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SQLITE_NO_SPACE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
"""A full disk; a quota or a limit on file sizes; no room for the index of the write-ahead log."""


@contextmanager
def on_disk(what: str) -> Iterator[None]:
    """Turn what a file operation raises into an error of ours.

    Args:
        what: what was being done, such as "writing run.toml".

    Raises:
        DiskFullError: there is no space.
        RecordError: anything else.
    """
    try:
        yield
    except OSError as error:
        raise _error(what, error, full=error.errno in _NO_SPACE) from error


def database_error(what: str, error: sqlite3.Error) -> RecordError:
    """Return the error of ours for one of SQLite's."""
    return _error(what, error, full=getattr(error, "sqlite_errorcode", None) in _SQLITE_NO_SPACE)


def _error(what: str, error: Exception, *, full: bool) -> RecordError:
    if not full:
        return RecordError(f"{what}: {error}")
    return DiskFullError(f"{what}: no space left on the disk. Every recorded answer is safe; free some space, and resume the run.")
