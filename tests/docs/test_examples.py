"""Every fenced example runs: the blocks of a page one after the other, as a reader would, in one empty folder."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.docs.blocks import ROOT, Block, blocks_of, pages
from tests.servers.launch import fake_server

from multigraft.config import checked

SERVER = "http://localhost:8000"
"""Where the pages say a server is; a fake one that listens elsewhere takes its place."""
SHELLS = {"bash", "sh"}
ANY_LINES = r"(?:.*\n)*?"

WITH_BLOCKS = [page for page in pages() if blocks_of(page)]
WITH_REAL = [page for page in WITH_BLOCKS if any("real" in block.marks for block in blocks_of(page))]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


class Reader:
    """Works through one page."""

    def __init__(self, folder: Path, server: str | None) -> None:
        self.folder = folder
        self.server = server
        self.printed = ""
        shown = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
        self.environment = {**os.environ, **shown, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def read(self, block: Block) -> None:
        text = block.text if self.server is None else block.text.replace(SERVER, self.server)
        if block.language == "toml":
            self.check_toml(block, text)
        if "file" in block.marks:
            path = self.folder / block.marks["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        elif "output" in block.marks:
            assert_matches(self.printed, block)
        elif block.language in SHELLS:
            self.run(["bash", "-euo", "pipefail", "-c", text], block)
        elif block.language == "python":
            self.run([sys.executable, "-W", "error", "-c", text], block)
        elif block.language == "json":
            json.loads(text)
        elif block.language == "jsonl":
            for line in text.splitlines():
                json.loads(line)
        else:
            assert block.language == "toml", f"{block.place}: nothing says what to do with a block of '{block.language}'"

    def run(self, command: list[str], block: Block) -> None:
        most_s = 600 if "real" in block.marks else 60
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=most_s, check=False)
        wanted = int(block.marks.get("fails", 0))
        assert done.returncode == wanted, f"{block.place}: exit code {done.returncode}, not {wanted}\n{done.stdout}\n{done.stderr}"
        self.printed = done.stdout + done.stderr
        if self.server is not None:
            self.printed = self.printed.replace(self.server, SERVER)

    def check_toml(self, block: Block, text: str) -> None:
        if block.marks.get("file", "run.toml").endswith("pyproject.toml"):
            tomllib.loads(text)
        else:
            checked(tomllib.loads(text), block.place)


def assert_matches(printed: str, block: Block) -> None:
    shown = [ANY_LINES if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n" for line in block.text.strip().splitlines()]
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    assert re.search("^" + "".join(shown), lines, flags=re.MULTILINE), f"{block.place}: the page shows\n{block.text}\nbut it prints\n{lines}"


@contextmanager
def server_of(page: Path) -> Iterator[str | None]:
    if SERVER not in page.read_text("utf-8"):
        yield None
        return
    with fake_server() as running:
        yield running.url


def runs(block: Block, *, real: bool) -> bool:
    return not ({"picture", "main-job", "tests"} & block.marks.keys()) and (real or "real" not in block.marks)


def read(page: Path, folder: Path, *, real: bool) -> None:
    with server_of(page) as server:
        reader = Reader(folder, server)
        for block in blocks_of(page):
            if runs(block, real=real):
                reader.read(block)


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=named)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    read(page, tmp_path, real=False)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_REAL, ids=named)
def test_the_examples_with_embedded_models_run(page: Path, tmp_path: Path) -> None:
    read(page, tmp_path, real=True)


def test_pictures_are_no_commands() -> None:
    """A command may not be marked as a picture to keep it from running."""
    for page in pages():
        for block in blocks_of(page):
            if "picture" in block.marks:
                assert block.language in {"", "text"}, block.place


def test_what_the_output_marks_promise(tmp_path: Path) -> None:
    block = Block(ROOT / "x.md", 1, "text", "one\n...\nthree ...\n", {"output": ""})
    assert_matches("zero\none\ntwo\nthree and more\n", block)
    with pytest.raises(AssertionError):
        assert_matches("one\ntwo\nfour\n", block)
    reader = Reader(tmp_path, None)
    with pytest.raises(AssertionError, match="exit code 3"):
        reader.read(Block(ROOT / "x.md", 1, "bash", "exit 3\n", {}))
    with pytest.raises(AssertionError, match="nothing says"):
        reader.read(Block(ROOT / "x.md", 1, "basic", "PRINT 1\n", {}))
