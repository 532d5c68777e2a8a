import json
from typing import Any

import pytest

from multigraft.sandbox import probes
from multigraft.sandbox.limits import Limits
from multigraft.sandbox.outcomes import Fault, Run
from multigraft.sandbox.sandbox import Sandbox

STATUS = {"CapEff": "0000000000000000", "CapBnd": "0", "NoNewPrivs": "1", "Seccomp": "2", "Uid": "70000"}
HELD: dict[str, Any] = {
    "network": "PermissionError",
    "file": "FileNotFoundError",
    "root": "OSError",
    "device": "OSError",
    "environ": "PATH=/usr/bin\0LANG=C.UTF-8\0",
    "pids": 1,
    "status": STATUS,
    "fork": 15,
    "memory": "MemoryError",
}


def failures(**found: object) -> list[str]:
    return probes.failures(Run(json.dumps(HELD | found), "", 0, timed_out=False, truncated=False, wall_s=0.1), Limits())


def test_walls_that_hold() -> None:
    assert failures() == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"network": "open"}, "the network can be reached (open)"),
        ({"network": "ConnectionRefusedError"}, "the network can be reached (ConnectionRefusedError)"),
        ({"file": "open"}, "a file outside can be read (open)"),
        ({"root": "open"}, "the root folder can be written (open)"),
        ({"device": "open"}, "/dev can be written (open)"),
        ({"environ": "PATH=/usr/bin\0API_KEY=x\0"}, "the environment outside can be read"),
        ({"pids": 210}, "processes outside can be seen (210)"),
        ({"fork": 24}, "24 processes could be started, at most 16 should"),
        ({"fork": 0}, "0 processes could be started, at most 16 should"),
        ({"memory": 1 << 30}, "memory is not bounded (1073741824)"),
    ],
)
def test_a_wall_that_does_not_hold_is_named(found: dict[str, object], said: str) -> None:
    assert failures(**found) == [said]


def test_capabilities_and_the_filter_are_looked_at() -> None:
    assert failures(status=STATUS | {"CapEff": "00000000a80425fb"})[0].startswith("capabilities are left")
    assert failures(status=STATUS | {"NoNewPrivs": "0"})[0].startswith("capabilities are left")
    assert failures(status=STATUS | {"Seccomp": "0"})[0].startswith("system calls are not filtered")


def test_a_test_program_that_does_not_run_holds_nothing() -> None:
    assert probes.failures(Fault("bwrap: No permissions to create new namespace"), Limits()) == ["bwrap: No permissions to create new namespace"]
    ended = Run("", "Killed", 137, timed_out=False, truncated=False, wall_s=0.1)
    assert probes.failures(ended, Limits()) == ["the test program did not end well (exit code 137): Killed"]


async def test_the_test_program_finds_the_way_out_where_there_are_no_walls() -> None:
    sandbox = Sandbox(slots=1, unsafe=True)
    limits = Limits(processes=4)
    with probes.surroundings() as around:
        found = probes.failures(await sandbox.run(probes.source(around, limits), limits=limits), limits)
    await sandbox.close()
    for said in ("the network can be reached (open)", "a file outside can be read (open)", "processes outside can be seen", "system calls are not filtered"):
        assert any(line.startswith(said) for line in found), found
