"""One owner a run: a lock the operating system drops when its holder dies, however it dies."""

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
from filelock import FileLock, Timeout

from multigraft.errors import RunLockedError
from multigraft.records.disk import on_disk

LOCK_NAME = "lock"
OWNER_NAME = "owner.json"


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Own a run's folder for as long as the block lasts.

    Raises:
        RunLockedError: another living process owns it; says which.
    """
    lock = FileLock(folder / LOCK_NAME, timeout=0)
    owner = folder / OWNER_NAME
    with on_disk(f"locking {folder}"):
        try:
            lock.acquire()
        except Timeout as error:
            message = f"{folder} is in use by {_owner(owner)}. Wait for it to end, or stop it; what it has recorded is safe."
            raise RunLockedError(message) from error
    try:
        facts = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}
        with on_disk(f"writing {owner}"):
            owner.write_bytes(orjson.dumps(facts))
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def _owner(path: Path) -> str:
    try:
        facts = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return "another process"
    return f"process {facts.get('pid')} on {facts.get('host')}, started {facts.get('since')}"
