"""The fenced blocks of the project's Markdown pages, and what a mark above a block says of it.

A mark is an HTML comment on the line right above the fence, which a reader of the rendered page does not see:

    <!-- file: NAME -->   the block is the content of this file, not a command
    <!-- output -->       what the command right above prints; a line `...` stands for any lines, `...` within a line for any part of it
    <!-- real -->         needs a real embedded model
    <!-- fails: CODE -->  the command ends with this exit code
    <!-- picture -->      a drawing or a form to fill in; nothing runs

`main-job` and `tests`, the two marks of the README, are commands that other tests run.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARKS = frozenset({"file", "output", "real", "fails", "picture", "main-job", "tests"})
_MARK = re.compile(r"<!-- ([a-z-]+)(?:: (.+?))? -->")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str]

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page a reader may open."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])


def blocks_of(page: Path) -> list[Block]:
    lines = page.read_text("utf-8").splitlines()
    found: list[Block] = []
    start: int | None = None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start is None:
            start = number
            continue
        language = lines[start].removeprefix("```").strip()
        found.append(Block(page, start + 1, language, "\n".join(lines[start + 1 : number]) + "\n", _marks_above(lines, start)))
        start = None
    assert start is None, f"{page}: the fence of line {start} is never closed"
    return found


def _marks_above(lines: list[str], fence: int) -> dict[str, str]:
    marks: dict[str, str] = {}
    number = fence - 1
    while number >= 0 and (match := _MARK.fullmatch(lines[number].strip())):
        assert match[1] in MARKS, f"unknown mark {match[0]}"
        marks[match[1]] = match[2] or ""
        number -= 1
    return marks


def prose_of(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
