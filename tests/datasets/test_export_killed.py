"""A process killed while it exports leaves no partial file, and the next export cleans up after it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from multigraft.datasets.export import Target, export
from multigraft.datasets.sft import BestResponses
from multigraft.records.reader import PromptRecord

EXPORTER = """
import sys
from pathlib import Path
from multigraft.budget.amount import Amount
from multigraft.datasets.export import Target, export
from multigraft.datasets.sft import BestResponses
from multigraft.records.reader import CallRecord, PromptRecord
from multigraft.types import Call, Completion, Finish, Message, Prompt, Role, Usage

def records():
    for number in range(10**9):
        if number == 300:
            print("under way", flush=True)
        call = CallRecord(0, Call(0, "m", (), Role.ANSWER, 0), Completion("x" * 200, Finish.STOP, Usage()), Amount(), (), "", 1.0)
        yield PromptRecord(number, Prompt(f"{number}-0", (Message("user", "?"),)), {0: call}, "done")

export(records(), [Target(BestResponses(), Path(sys.argv[1]))])
"""


@pytest.mark.parametrize("name", ["sft.jsonl", "sft.parquet"])
def test_killed_midway(tmp_path: Path, make_record: Callable[..., PromptRecord], name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"what was there before")
    # Another program's hidden file, and one of a process that still lives, are not ours to remove.
    others = [tmp_path / f".{name}.swp", tmp_path / f".{name}.elsewhere.1.abcd.partial"]
    for other in others:
        other.write_bytes(b"")

    with subprocess.Popen([sys.executable, "-c", EXPORTER, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"under way\n"
        visible = [found.name for found in tmp_path.iterdir() if not found.name.startswith(".")]
        time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL

    assert visible == [name]
    assert [found.name for found in tmp_path.iterdir() if not found.name.startswith(".")] == [name]
    assert path.read_bytes() == b"what was there before"
    assert len(list(tmp_path.glob(".*.partial"))) == 2

    export([make_record(("x", 1.0))], [Target(BestResponses(), path)])

    assert sorted(tmp_path.iterdir()) == sorted([path, *others])
    assert path.read_bytes() != b"what was there before"
