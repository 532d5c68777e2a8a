"""However the process that opened a sandbox ends, nothing of it is left."""

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.sandbox.matrix import live_inside
from tests.sandbox.needed import need_walls

OWNER = textwrap.dedent(
    """
    import asyncio, sys
    from multigraft.sandbox.outcomes import Examination
    from multigraft.sandbox.sandbox import Sandbox
    async def busy(sandbox):
        while True:
            await sandbox.run("import os, time\\nfor _ in range(3):\\n    os.fork()\\ntime.sleep(0.1)")
            await sandbox.check(Examination(sources=["def f(x): return x"], entry_point="f", tests="assert f(1) == 1"))
    async def main():
        sandbox = Sandbox(slots=3)
        await sandbox.start()
        print(sandbox._open.code_folder, *sandbox._open.cgroups.folders, flush=True)
        await asyncio.gather(*(busy(sandbox) for _ in range(3)))
    asyncio.run(main())
    """
)


def gone(owner: int, folders: list[Path]) -> bool:
    until_s = time.monotonic() + 8
    while time.monotonic() < until_s:
        if not live_inside(owner) and not any(folder.exists() for folder in folders):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_owner_leaves_nothing(how: signal.Signals) -> None:
    need_walls()
    moments = random.Random(int(how))
    for _ in range(4):
        with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True) as owner:
            assert owner.stdout is not None
            folders = [Path(word) for word in owner.stdout.readline().split()]
            assert folders
            assert all(folder.is_dir() for folder in folders)
            time.sleep(moments.uniform(0.05, 0.4))
            assert live_inside(owner.pid) != []
            owner.send_signal(how)
        assert gone(owner.pid, folders), live_inside(owner.pid)
