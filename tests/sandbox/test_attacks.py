import pytest
from tests.sandbox.attacks import PROGRAMS, SUBMISSIONS
from tests.sandbox.matrix import Findings, attack, attack_all, live_inside, outside

from multigraft.sandbox.sandbox import Sandbox

REACHES_OUT = ["file of the host", "files of the system", "loopback server", "datagrams and raw sockets", "abstract socket of the host"]


@pytest.mark.parametrize("name", [*PROGRAMS, *SUBMISSIONS, "honest"])
async def test_an_attack_gets_nothing(sandbox: Sandbox, name: str) -> None:
    findings = Findings()
    async with outside() as around:
        await attack(sandbox, name, around, findings)
        assert live_inside() == []
        assert around.hits == []
    assert findings.wrong == findings.late


async def test_attacks_at_once_are_as_harmless(sandbox: Sandbox) -> None:
    names = ["fork bomb", "honest", "filling /tmp", "honest", "signals to everything", "honest", "daemon that outlives", "honest"]
    findings = await attack_all(sandbox, names, at_once=4)
    assert findings.wrong == findings.late
    assert findings.runs == len(names)


async def test_the_same_programs_do_get_out_where_there_are_no_walls() -> None:
    """Otherwise it would not be the walls that are tested."""
    sandbox = Sandbox(slots=1, unsafe=True)
    findings = await attack_all(sandbox, REACHES_OUT, at_once=1)
    await sandbox.close()
    assert [line.split(":")[0] for line in findings.escapes if not line.startswith("the server")] == REACHES_OUT
    assert len([line for line in findings.escapes if line.startswith("the server")]) == 3


async def test_no_false_verdict_without_walls_either() -> None:
    """The judge is a process of its own there, too; what needs walls is left out: finding and changing that process."""
    sandbox = Sandbox(slots=2, unsafe=True)
    needs_walls = {"signals to everything", "looks for the nonce", "writes a verdict to every descriptor", "answers without end"}
    findings = await attack_all(sandbox, [name for name in SUBMISSIONS if name not in needs_walls], at_once=2)
    await sandbox.close()
    assert findings.wrong == findings.late
