import hashlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from multigraft.errors import MultigraftError, WeightsError
from multigraft.models.local import hub
from multigraft.models.local.sources import HubSource
from multigraft.models.local.weights import cached, fetch

CONTENT = b"GGUF of the hub" * 100
SHA256 = hashlib.sha256(CONTENT).hexdigest()
COMMIT = "a" * 40


async def resolve(request: web.Request) -> web.Response:
    if request.match_info["revision"] not in {"main", "v1"} or request.match_info["file"] != "sub/q.gguf":
        return web.Response(status=404, headers={"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
    return web.Response(body=CONTENT, headers={"X-Repo-Commit": COMMIT, "ETag": f'"{SHA256}"'})


def large_files(folder: Path) -> list[Path]:
    return [entry for entry in folder.rglob("*") if entry.is_file() and entry.stat().st_size >= len(CONTENT)]


@pytest.fixture
async def endpoint() -> AsyncIterator[str]:
    pytest.importorskip("huggingface_hub")
    app = web.Application()
    app.router.add_get("/{owner}/{repo}/resolve/{revision}/{file:.+}", resolve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_a_file_of_a_revision_comes_into_the_clients_cache(endpoint: str, tmp_path: Path) -> None:
    source = HubSource(repo="owner/repo", filename="sub/q.gguf", revision="v1", sha256=SHA256)
    path = await hub.fetch_hub(source, name="q", endpoint=endpoint, cache=tmp_path)
    assert path.read_bytes() == CONTENT
    assert path.is_relative_to(tmp_path)
    assert path.parts[-3:] == (COMMIT, "sub", "q.gguf")
    assert cached(source, name="q") is None


async def test_another_hash_is_refused_and_deleted(endpoint: str, tmp_path: Path) -> None:
    source = HubSource(repo="owner/repo", filename="sub/q.gguf", sha256="2" * 64)
    with pytest.raises(WeightsError, match=f"have SHA-256 {SHA256}, but {'2' * 64} is pinned"):
        await hub.fetch_hub(source, name="q", endpoint=endpoint, cache=tmp_path)
    assert large_files(tmp_path) == []


async def test_a_file_that_is_not_there_is_named(endpoint: str, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"fetching none\.gguf of owner/repo at main: "):
        await hub.fetch_hub(HubSource(repo="owner/repo", filename="none.gguf"), name="q", endpoint=endpoint, cache=tmp_path)


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in this table is Python's own way to say that a module cannot be imported.
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MultigraftError, match=r"needs the extra 'hub': pip install 'multigraft\[hub\]'"):
        await fetch(HubSource(repo="o/r", filename="q.gguf"), name="q")
