"""The filter of system calls, as a classic BPF program written here: a table of numbers and three shapes of rules need no library.

Denied are the calls that open large parts of the kernel or undo the walls. The rest is what namespaces, dropped capabilities and limits are for.
"""

import errno
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from multigraft.errors import SandboxError

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets into the data of a call; of an argument, the low half, as both machines are little-endian."""
_CLONE_NEWUSER: Final = 0x10000000
_AF_UNIX: Final = 1
_FIRST_OF_X32: Final = 0x40000000


@dataclass(frozen=True, slots=True)
class Machine:
    """System calls of one kind of machine."""

    architecture: int
    """The audit number that the kernel reports with each call."""
    socket: int
    clone: int
    clone3: int
    denied: Mapping[str, int]
    second_table: bool = False
    """Whether a second set of numbers (x32) reaches the same calls."""


_NEWER: Final[Mapping[str, int]] = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
}
"""Calls added since the numbers are the same on every machine."""

MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": Machine(
        0xC000003E,
        socket=41,
        clone=56,
        clone3=435,
        second_table=True,
        denied={
            **_NEWER,
            "ptrace": 101,
            "pivot_root": 155,
            "chroot": 161,
            "mount": 165,
            "umount2": 166,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "unshare": 272,
            "perf_event_open": 298,
            "setns": 308,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "bpf": 321,
            "userfaultfd": 323,
        },
    ),
    "aarch64": Machine(
        0xC00000B7,
        socket=198,
        clone=220,
        clone3=435,
        denied={
            **_NEWER,
            "umount2": 39,
            "mount": 40,
            "pivot_root": 41,
            "chroot": 51,
            "unshare": 97,
            "ptrace": 117,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "perf_event_open": 241,
            "setns": 268,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "bpf": 280,
            "userfaultfd": 282,
        },
    ),
}


def program(machine: str | None = None) -> bytes:
    """Write the filter.

    Args:
        machine: as `platform.machine()` says it; None: this one.

    Returns:
        An array of `struct sock_filter`, as the kernel and bubblewrap take it.

    Raises:
        SandboxError: the numbers of this machine are not known.

    Source:
        `linux/seccomp.h`, `linux/filter.h`; system call tables of Linux 6.
    """
    name = machine or platform.machine()
    known = MACHINES.get(name)
    if known is None:
        message = f"no filter of system calls for a machine of kind '{name}': run generated code on {' or '.join(MACHINES)}"
        raise SandboxError(message)
    refuse = _ERRNO | errno.EPERM
    rules: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, known.architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if known.second_table:
        rules += _when(_JUMP_AT_LEAST, _FIRST_OF_X32, _KILL)
    for number in known.denied.values():
        rules += _when(_JUMP_EQUAL, number, refuse)
    # A C library that finds no clone3 falls back to clone, whose flags can be seen.
    rules += _when(_JUMP_EQUAL, known.clone3, _ERRNO | errno.ENOSYS)
    rules += [
        (_JUMP_EQUAL, 0, 4, known.clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_JUMP_ANY_BIT, 0, 1, _CLONE_NEWUSER),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
        (_JUMP_EQUAL, 0, 3, known.socket),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_JUMP_EQUAL, 1, 0, _AF_UNIX),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return packed(rules)


def _when(jump: int, value: int, result: int) -> list[tuple[int, int, int, int]]:
    return [(jump, 0, 1, value), (_RETURN, 0, 0, result)]


def packed(rules: Sequence[tuple[int, int, int, int]]) -> bytes:
    """Put instructions (code, jump if true, jump if false, operand) into the kernel's form."""
    return b"".join(struct.pack("=HBBI", *rule) for rule in rules)
