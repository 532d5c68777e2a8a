"""Four ways in which a sandbox of the usual parts does not hold, each found by trying."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from tests.sandbox.matrix import live_inside

from multigraft.sandbox.cgroups import Cgroups
from multigraft.sandbox.outcomes import Run
from multigraft.sandbox.sandbox import Sandbox
from multigraft.sandbox.walls import FIRST_UID

SECRET = "sk-canary-51aa90"
SHARED = Path(__file__).resolve().parents[2] / "src"


async def ran(sandbox: Sandbox, source: str) -> Run:
    result = await sandbox.run(textwrap.dedent(source))
    assert isinstance(result, Run), result
    return result


def test_pid_1_shows_no_environment_of_ours(sandbox: Sandbox) -> None:
    """Clearing the environment inside leaves it readable in `/proc/1/environ`: bubblewrap itself must start without it."""
    code = """
        import asyncio
        from multigraft.sandbox.sandbox import Sandbox
        async def main():
            sandbox = Sandbox(slots=1)
            await sandbox.start()
            print((await sandbox.run("print(open('/proc/1/environ', 'rb').read(), open('/proc/self/environ', 'rb').read())")).stdout)
            await sandbox.close()
        asyncio.run(main())
    """
    environment = {**os.environ, "OPENAI_API_KEY": SECRET}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, check=True)
    assert "PATH=/usr/bin:/bin" in done.stdout
    assert SECRET not in done.stdout
    assert "OPENAI_API_KEY" not in done.stdout


async def test_nothing_but_tmp_can_be_written_and_tmp_is_bounded(sandbox: Sandbox) -> None:
    """The root, `/dev` and `/dev/shm` are memory without a bound until they are made read-only."""
    result = await ran(
        sandbox,
        """
        import errno, json
        found = {}
        for folder in ("/", "/dev", "/dev/shm", "/usr", "/code"):
            try:
                open(f"{folder}/x", "wb").close()
                found[folder] = "written"
            except OSError as error:
                found[folder] = errno.errorcode[error.errno]
        written = 0
        try:
            for number in range(64):
                with open(f"/tmp/{number}", "wb") as file:
                    file.write(bytes(1 << 20))
                written += 1
        except OSError as error:
            found["/tmp"] = errno.errorcode[error.errno]
        print(json.dumps([found, written]))
        """,
    )
    found, written = json.loads(result.stdout)
    assert found == {"/": "EROFS", "/dev": "EROFS", "/dev/shm": "EROFS", "/usr": "EROFS", "/code": "EROFS", "/tmp": "ENOSPC"}
    assert 30 <= written <= 32


async def test_processes_are_bounded_also_when_we_are_root(walled: None) -> None:
    """The kernel excuses root from the limit on processes, whatever the uid inside: the user must change before the walls go up."""
    sandbox = Sandbox(slots=1)
    await sandbox.start()
    assert sandbox._open is not None
    # A control group would stop them as well, and not every machine has one.
    sandbox._open = replace(sandbox._open, cgroups=Cgroups(()))
    result = await ran(
        sandbox,
        """
        import os, time
        started = 0
        try:
            while started < 100:
                if os.fork() == 0:
                    time.sleep(20)
                    os._exit(0)
                started += 1
        except BlockingIOError as error:
            print("stopped", started, error.errno)
        """,
    )
    await sandbox.close()
    assert result.stdout == "stopped 15 11\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives each place a user of its own")
async def test_each_place_has_a_user_of_its_own(sandbox: Sandbox) -> None:
    runs = [asyncio.create_task(sandbox.run("import time; time.sleep(1)")) for _ in range(3)]
    await asyncio.sleep(0.7)
    users = {uid_of(pid) for pid in live_inside()}
    await asyncio.gather(*runs)
    assert users == {FIRST_UID, FIRST_UID + 2, FIRST_UID + 4}


def uid_of(pid: int) -> int:
    (line,) = [line for line in Path("/proc", str(pid), "status").read_text("utf-8").splitlines() if line.startswith("Uid:")]
    return int(line.split()[1])


async def test_one_run_does_not_use_up_the_processes_of_another(walled: None) -> None:
    """With one user for all, the limit counts the processes of every run together, and right programs fail."""
    sandbox = Sandbox(slots=8)
    await sandbox.start()
    source = """
        import threading, time
        threads = [threading.Thread(target=time.sleep, args=(0.5,)) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("all twelve")
    """
    results = await asyncio.gather(*(ran(sandbox, source) for _ in range(8)))
    await sandbox.close()
    assert [result.stdout for result in results] == ["all twelve\n"] * 8


def test_an_ordinary_user_gets_the_same_walls(sandbox: Sandbox, tmp_path: Path) -> None:
    """No root, no other users: processes are then counted in the user namespace of each run."""
    if os.geteuid() != 0:
        pytest.skip("the other tests run as an ordinary user already")
    interpreter = "/usr/bin/python3"
    code = f"""
        import asyncio, sys
        sys.path.insert(0, {str(SHARED)!r})
        from multigraft.sandbox.sandbox import Sandbox
        forks = "import os, time\\nfor n in range(99):\\n    try: os.fork() or time.sleep(9)\\n    except OSError: print(n); break\\n"
        async def main():
            sandbox = Sandbox(slots=4)
            await sandbox.start()
            print(sandbox.description)
            print(sorted([(await result).stdout for result in [asyncio.create_task(sandbox.run(forks)) for _ in range(4)]]))
            await sandbox.close()
        asyncio.run(main())
    """
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", interpreter, "-B", "-c", textwrap.dedent(code)]
    version = subprocess.run([interpreter, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, text=True, check=False)
    if version.stdout != "True\n":
        pytest.skip("the system's Python is older than what the package takes")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": os.environ["PATH"]}, cwd="/")
    if "Permission denied" in done.stderr and "multigraft" in done.stderr:
        pytest.skip("an ordinary user cannot read this checkout")
    assert done.returncode == 0, done.stderr
    assert "the user's own uid" in done.stdout
    assert "['15\\n', '15\\n', '15\\n', '15\\n']" in done.stdout
