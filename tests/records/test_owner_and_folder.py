import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from multigraft.errors import RecordError, RunLockedError, SettingsChangedError
from multigraft.records.folder import differences, read_settings, refuse_changes, write_settings
from multigraft.records.owner import owned
from multigraft.types import Json

HOLDER = """
import sys, time
from pathlib import Path
from multigraft.records.owner import owned
with owned(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(60)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "mine\n"
    return process


def test_a_second_owner_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    process = holder(tmp_path)
    try:
        began = time.monotonic()
        with pytest.raises(RunLockedError, match=f"in use by process {process.pid} on "), owned(tmp_path):
            pass
        assert time.monotonic() - began < 2
    finally:
        process.kill()
        process.communicate()


def test_a_killed_owner_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    process = holder(tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with owned(tmp_path):
        assert str(os.getpid()) in (tmp_path / "owner.json").read_text()
    assert not (tmp_path / "owner.json").exists()
    with owned(tmp_path):
        pass


def test_changed_settings_are_refused_and_shown(tmp_path: Path) -> None:
    before: dict[str, Json] = {
        "seed": 0,
        "models": [{"name": "a"}],
        "strategy": {"name": "toa", "n": 16},
        "concurrency": {"max_attempts": 6},
        "prompts": "a.jsonl",
    }
    write_settings(tmp_path, before)
    refuse_changes(tmp_path, before | {"concurrency": {"max_attempts": 2}, "prompts": "moved.jsonl"})
    changed: dict[str, Json] = before | {"strategy": {"name": "toa", "n": 8}, "models": [{"name": "a"}, {"name": "b"}]}
    assert differences(before, changed) == ["models[1].name: (not set) -> 'b'", "strategy.n: 16 -> 8"]
    with pytest.raises(SettingsChangedError, match=r"strategy\.n: 16 -> 8"):
        refuse_changes(tmp_path, changed)
    assert read_settings(tmp_path) == before


def test_damaged_settings_are_named(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("seed = ")
    with pytest.raises(RecordError, match=r"reading .*run\.toml"):
        read_settings(tmp_path)
