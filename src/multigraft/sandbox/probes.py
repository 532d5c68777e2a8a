"""The test that the walls pass before anything generated runs: a program that tries to get out, and what it must have found."""

import json
import secrets
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from multigraft.sandbox.limits import Limits
from multigraft.sandbox.outcomes import Fault, Run
from multigraft.sandbox.reading import shortened

_KNOWN = {"PATH", "LANG", "PYTHONHASHSEED", "PWD", "LC_CTYPE"}
_PROGRAM = """
import json, os, socket, time
around = json.loads({around!r})
found = {{}}

def tried(name, act):
    try:
        found[name] = act()
    except BaseException as error:
        found[name] = type(error).__name__

def connect():
    with socket.create_connection(("127.0.0.1", around["port"]), timeout=1):
        return "open"

def opened(path, mode):
    with open(path, mode) as file:
        file.write("x") if "w" in mode else file.read(1)
    return "open"

def status():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return {{name: lines[name].strip() for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Uid")}}

def fork():
    started = []
    try:
        while len(started) < around["most"] + 8:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            started.append(child)
    except OSError:
        pass
    for child in started:
        os.kill(child, 9)
        os.waitpid(child, 0)
    return len(started)

def fill():
    return len(bytearray(around["memory"] * 2))

tried("network", connect)
tried("file", lambda: opened(around["file"], "r"))
tried("root", lambda: opened("/escaped", "w"))
tried("device", lambda: opened("/dev/shm/escaped", "w"))
tried("environ", lambda: open("/proc/1/environ", "rb").read().decode("latin-1"))
tried("pids", lambda: sum(name.isdigit() for name in os.listdir("/proc")))
tried("status", status)
tried("fork", fork)
tried("memory", fill)
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What lies outside of the walls for the program to find."""

    file: str
    port: int


@contextmanager
def surroundings() -> Iterator[Surroundings]:
    """Put a file that everybody may read and an open port next to the walls."""
    with tempfile.NamedTemporaryFile("w", prefix="multigraft-probe-") as file, socket.create_server(("127.0.0.1", 0)) as server:
        file.write(secrets.token_hex(8))
        file.flush()
        Path(file.name).chmod(0o644)
        yield Surroundings(file.name, server.getsockname()[1])


def source(around: Surroundings, limits: Limits) -> str:
    """Write the program."""
    facts = {"file": around.file, "port": around.port, "most": limits.processes, "memory": limits.memory_bytes}
    return _PROGRAM.format(around=json.dumps(facts))


def failures(result: Run | Fault, limits: Limits) -> list[str]:
    """Say which walls do not hold.

    Args:
        result: of the program.
        limits: it ran under.

    Returns:
        One line for each; empty when all hold.
    """
    if isinstance(result, Fault):
        return [result.message]
    try:
        found = json.loads(result.stdout)
        status = found["status"]
    except (ValueError, KeyError, TypeError):
        return [f"the test program did not end well (exit code {result.exit_code}): {shortened(result.stderr)}"]
    forks = found["fork"]
    held = {
        f"the network can be reached ({found['network']})": found["network"] in {"PermissionError", "OSError"},
        f"a file outside can be read ({found['file']})": found["file"] == "FileNotFoundError",
        f"the root folder can be written ({found['root']})": found["root"] in {"OSError", "PermissionError"},
        f"/dev can be written ({found['device']})": found["device"] in {"OSError", "PermissionError"},
        "the environment outside can be read": {entry.split("=")[0] for entry in found["environ"].split("\0") if entry} <= _KNOWN,
        f"processes outside can be seen ({found['pids']})": found["pids"] == 1,
        f"capabilities are left ({status})": int(status["CapEff"], 16) == 0 and status["NoNewPrivs"] == "1",
        f"system calls are not filtered ({status})": status["Seccomp"] == "2",
        f"{forks} processes could be started, at most {limits.processes} should": isinstance(forks, int) and 1 <= forks < limits.processes,
        f"memory is not bounded ({found['memory']})": found["memory"] == "MemoryError",
    }
    return [what for what, holds in held.items() if not holds]
