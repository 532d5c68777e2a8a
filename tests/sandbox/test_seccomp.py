import errno
import struct

import pytest

from multigraft.errors import SandboxError
from multigraft.sandbox.seccomp import MACHINES, program

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
NEW_USER = 0x10000000
AF_UNIX, AF_INET, AF_NETLINK = 1, 2, 16


def decision(code: bytes, *, number: int, architecture: int, first: int = 0) -> int:
    """Run the filter as the kernel does: four kinds of instruction, forward jumps only."""
    data = struct.pack("<IIQQQQQQQ", number, architecture, 0, first, 0, 0, 0, 0, 0)
    rules = [struct.unpack_from("=HBBI", code, offset) for offset in range(0, len(code), 8)]
    value, at = 0, 0
    while True:
        kind, when, otherwise, operand = rules[at]
        at += 1
        if kind == 0x06:
            return int(operand)
        if kind == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[kind]
            at += when if holds else otherwise


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_denied_and_what_is_not(name: str) -> None:
    machine = MACHINES[name]
    code = program(name)
    for number in range(600):
        found = decision(code, number=number, architecture=machine.architecture, first=AF_UNIX)
        wanted = EPERM if number in machine.denied.values() else ENOSYS if number == machine.clone3 else ALLOW
        assert found == wanted, number
    for call, first, wanted in (
        (machine.clone, 0x01200011, ALLOW),
        (machine.clone, 0x01200011 | NEW_USER, EPERM),
        (machine.clone, NEW_USER, EPERM),
        (machine.socket, AF_INET, EPERM),
        (machine.socket, AF_NETLINK, EPERM),
        (machine.socket, AF_UNIX | 2, EPERM),
        (machine.socket, AF_UNIX, ALLOW),
    ):
        assert decision(code, number=call, architecture=machine.architecture, first=first) == wanted, (call, first)


def test_another_set_of_numbers_kills() -> None:
    for name in MACHINES:
        assert decision(program(name), number=1, architecture=0x40000003) == KILL
    assert decision(program("x86_64"), number=0x40000000 | 1, architecture=0xC000003E) == KILL


def test_every_machine_denies_the_same_calls() -> None:
    names = [set(machine.denied) for machine in MACHINES.values()]
    assert names[0] == names[1]
    wanted = {"ptrace", "bpf", "io_uring_setup", "userfaultfd", "perf_event_open", "keyctl", "mount", "umount2", "setns", "unshare"}
    assert names[0] >= wanted


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(SandboxError, match="of kind 'sparc64'"):
        program("sparc64")
