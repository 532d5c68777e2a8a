"""The reference says what the program says."""

import re

import pytest
from tests.docs.blocks import ROOT
from tests.docs.reference import GENERATED, commands, renewed

from multigraft.cli.main import app
from multigraft.cli.signals import CODES
from multigraft.errors import MultigraftError
from multigraft.records.schema import COLUMNS, SCHEMA_VERSION
from multigraft.types import FailureKind

REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.parametrize("name", GENERATED)
def test_the_generated_parts_are_up_to_date(name: str) -> None:
    """If this fails: `python -m tests.docs.reference`, then read the difference."""
    page = (REFERENCE / name).read_text("utf-8")
    assert renewed(page, GENERATED[name]()) == page


def test_every_command_has_help_and_json() -> None:
    found = dict(commands(app, "multigraft"))
    assert {"multigraft synth", "multigraft resume", "multigraft show", "multigraft export", "multigraft init", "multigraft dry-run"} <= found.keys()
    assert {"multigraft models list", "multigraft models pull", "multigraft models check"} <= found.keys()
    page = (REFERENCE / "command-line.md").read_text("utf-8")
    for name in found.keys() - {"multigraft reward serve"}:  # whose first line is JSON in any case
        section = page.split(f"## {name}\n")[1].split("\n## ")[0]
        assert "`--json`" in section, name


def test_no_field_of_a_run_file_is_without_a_meaning() -> None:
    page = (REFERENCE / "run-file.md").read_text("utf-8")
    rows = re.findall(r"^\| (`\w+`) \|.*\| (.*) \|$", page, flags=re.MULTILINE)
    assert [field for field, meaning in rows if not meaning] == []
    assert len(rows) > 60


def test_the_record_page_lists_every_table_and_column() -> None:
    page = (REFERENCE / "record.md").read_text("utf-8")
    assert f"schema version {SCHEMA_VERSION}" in page
    for table, columns in COLUMNS.items():
        section = page.split(f"### {table}\n")[1].split("\n### ")[0].split("\n## ")[0]
        listed = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section, flags=re.MULTILINE)
        assert [name for names in listed for name in re.findall(r"`(\w+)`", names)] == columns.split(", "), table


def test_every_kind_of_failure_is_explained() -> None:
    page = (REFERENCE / "record.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", page.split("## Kinds of failure\n")[1].split("\n## ")[0], flags=re.MULTILINE)
    assert rows == list(FailureKind)


def test_every_exit_code_is_explained() -> None:
    page = (REFERENCE / "exit-codes.md").read_text("utf-8")
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", page, flags=re.MULTILINE)}
    waiting = [MultigraftError]
    codes = {0, *CODES.values()}
    while waiting:
        error = waiting.pop()
        codes.add(error.exit_code)
        waiting += error.__subclasses__()
    assert listed == codes
