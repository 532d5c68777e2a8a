"""A file that is not there until it is complete."""

import errno
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from multigraft.errors import DiskFullError, InputError

_SUFFIX = ".partial"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system says about writing a file into an error of ours.

    Raises:
        DiskFullError: no space is left.
        InputError: the place cannot be written to.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            message = f"writing {path}: {reason}; nothing of it was kept, and the run itself is complete: export again when there is room"
            raise DiskFullError(message) from error
        message = f"cannot be written: {reason}"
        raise InputError(message, file=str(path)) from error


class UnfinishedFile:
    """Written under a hidden name in the same folder; `publish` renames it. Left without publishing, it is removed.

    A process that is killed leaves the hidden file behind; the next export to the same path removes it.

    Args:
        path: where the complete file shall stand; its folder is made where it is missing.

    Raises:
        DiskFullError: no space is left.
        InputError: the place cannot be written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        owner = f"{socket.gethostname().replace('.', '_')}.{os.getpid()}"
        self._hidden = path.with_name(f".{path.name}.{owner}.{secrets.token_hex(4)}{_SUFFIX}")
        with writing(path):
            _check_place(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(path)
            self.file = self._hidden.open("xb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # On a full disk closing fails once more; what matters was said.
        with suppress(OSError):
            self.file.close()
        self._hidden.unlink(missing_ok=True)

    def publish(self) -> None:
        """Make what was written durable, and give it its name."""
        with writing(self.path):
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
            self._hidden.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _check_place(path: Path) -> None:
    if path.is_dir():
        message = "is a folder; name a file in it"
        raise InputError(message, file=str(path))
    if path.parent.exists() and not path.parent.is_dir():
        message = f"{path.parent} is a file, not a folder"
        raise InputError(message, file=str(path))


def _remove_leftovers(path: Path) -> None:
    """Remove the hidden files of processes of this machine that are no more."""
    host = socket.gethostname().replace(".", "_")
    for found in path.parent.iterdir():
        middle = found.name.removeprefix(f".{path.name}.").removesuffix(_SUFFIX).split(".")
        if found.name.startswith(f".{path.name}.") and found.name.endswith(_SUFFIX) and len(middle) == 3:
            owner, process, _ = middle
            if owner == host and process.isdecimal() and not _is_alive(int(process)):
                found.unlink(missing_ok=True)


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
