"""The first steps of every process behind the walls, before it sees one byte of what it shall run."""

from __future__ import annotations

import os
import resource
import sys

from multigraft.sandbox.inside import lean_json

READY = b"ready\n"
MOST_DIGITS = 50_000
"""Of an integer that is written or read."""


def begin() -> dict[str, object]:
    """Set the limits, say that the walls stand, and wait for the job.

    The command line holds whose sandbox this is, the limits by name, such as `AS=536870912`, and last the descriptor of the report.

    Returns:
        The job. The process ends here when the one that sends it is gone.
    """
    for setting in sys.argv[2:-1]:
        name, value = setting.split("=")
        _limit(getattr(resource, "RLIMIT_" + name), int(value))
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(MOST_DIGITS)
    os.write(report_descriptor(), READY)
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        os._exit(3)
    job = lean_json.loads(line.decode("ascii"))
    if not isinstance(job, dict):
        os._exit(3)
    return job


def report_descriptor() -> int:
    """Where this process reports to the one that started it."""
    return int(sys.argv[-1])


def channel(job: dict[str, object], name: str) -> int:
    """Return a descriptor that the job names."""
    value = job[name]
    if not isinstance(value, int):
        os._exit(3)
    return value


def text(job: dict[str, object], name: str) -> str:
    """Return a text of the job; empty where there is none."""
    value = job.get(name)
    return value if isinstance(value, str) else ""


def write_line(descriptor: int, value: dict[str, object]) -> None:
    """Write a value as one line."""
    write_all(descriptor, lean_json.dumps(value).encode("ascii") + b"\n")


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything, however the pipe takes it."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _limit(which: int, value: int) -> None:
    _, most = resource.getrlimit(which)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(which, (value, value))
