"""The child process and its owner, with a stand-in for llama.cpp that behaves as the name of the file to serve says."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from multigraft.errors import MultigraftError, WeightsError
from multigraft.models.local.server import LocalServer
from multigraft.models.local.serving import Serving

STAND_IN = """
import os, signal, sys, time
from types import SimpleNamespace

class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace(), sampling=SimpleNamespace())

class Server:
    def __init__(self, params):
        name = os.path.basename(params.model.path)
        print("chatter on standard output", flush=True)
        if name == "illegal":
            os.kill(os.getpid(), signal.SIGILL)
        if name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "raises":
            print("E the tensors are upside down", file=sys.stderr, flush=True)
            raise RuntimeError("Failed to init server")
        if name == "slow":
            time.sleep(60)
        if name == "exits":
            os._exit(3)
        if name == "loud":
            for number in range(20_000):
                print(f"E line {number}", file=sys.stderr)
            sys.stderr.write("x" * 200_000)
            sys.stderr.flush()
        self.listening_address = f"http://127.0.0.1:{params.port + 1}"
"""


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "xllamacpp.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def server_of(name: str, **serving: float) -> LocalServer:
    return LocalServer(Path("/nowhere") / name, serving=Serving(start_timeout_s=serving.get("start_timeout_s", 30.0)))


def alive(pid: int) -> bool:
    try:
        # A zombie has ended; only its parent has not yet asked how.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pid: int, within_s: float = 10.0) -> bool:
    end = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


async def started(server: LocalServer) -> int:
    for _ in range(1_000):
        if server.pid is not None:
            return server.pid
        await asyncio.sleep(0.01)
    pytest.fail("no child was started")


async def test_it_serves_until_closed_and_can_be_started_again() -> None:
    server = server_of("fine")
    for _ in range(2):
        async with server:
            assert server.address == "http://127.0.0.1:1"
            assert server.death() is None
            pid = server.pid
            assert pid is not None
            assert alive(pid)
        assert server.pid is None
        assert server.address == ""
        assert not alive(pid)
    await server.close()


async def test_the_key_is_in_no_process_list() -> None:
    async with server_of("fine") as server:
        assert len(server.api_key) >= 32
        process = Path(f"/proc/{server.pid}")
        shown = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        assert b"multigraft.models.local.host" in shown
        assert server.api_key.encode() not in shown
    assert server_of("fine").api_key != server.api_key


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raises", r"/nowhere/raises cannot be served: RuntimeError: Failed to init server\. Its log ends with:\n[\s\S]*E the tensors are upside down"),
        ("illegal", r"illegal instruction: the installed llama\.cpp was built for another processor"),
        ("killed", r"it was killed, most likely because the memory ran out"),
        ("exits", r"it ended with exit code 3\. Its log ends with:\nchatter on standard output"),
    ],
)
async def test_a_failed_start_says_why_and_leaves_nothing(name: str, message: str) -> None:
    server = server_of(name)
    with pytest.raises(WeightsError, match=message):
        await server.start()
    assert server.pid is None


async def test_a_missing_extra_is_named(stand_in: Path) -> None:
    (stand_in / "xllamacpp.py").write_text("raise ModuleNotFoundError(\"No module named 'xllamacpp'\")")
    with pytest.raises(MultigraftError, match=r"need the extra 'local' .*pip install 'multigraft\[local\]'"):
        await server_of("fine").start()


async def test_a_start_that_takes_too_long_is_given_up() -> None:
    server = server_of("slow", start_timeout_s=2.0)
    with pytest.raises(WeightsError, match="took longer than 2 s; raise start_timeout_s"):
        await server.start()
    assert server.pid is None


async def test_a_cancelled_start_leaves_no_child() -> None:
    server = server_of("slow")
    task = asyncio.create_task(server.start())
    pid = await started(server)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)


async def test_a_flood_of_log_neither_blocks_nor_fills_the_memory() -> None:
    async with server_of("loud") as server:
        assert server.address
        await asyncio.sleep(0.1)
        assert sum(map(len, server._log)) < 20_000


async def test_a_child_that_dies_while_serving_is_noticed() -> None:
    async with server_of("fine") as server:
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        for _ in range(200):
            if server.death() is not None:
                break
            await asyncio.sleep(0.02)
        assert "the server of /nowhere/fine is gone: it was killed" in (server.death() or "")


PARENT = """
import asyncio, signal, sys
from pathlib import Path
from multigraft.models.local.server import LocalServer
from multigraft.models.local.serving import Serving

async def main():
    # As the command does: a handler of the loop wakes it whichever thread the signal comes to.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, asyncio.current_task().cancel)
    async with LocalServer(Path("/nowhere/{name}"), serving=Serving()) as server:
        print(server.pid, flush=True)
        await asyncio.sleep(60)

async def begin():
    server = LocalServer(Path("/nowhere/{name}"), serving=Serving())
    task = asyncio.create_task(server.start())
    while server.pid is None:
        await asyncio.sleep(0.005)
    print(server.pid, flush=True)
    await task

asyncio.run({function}())
"""


def start_parent(name: str, function: str) -> tuple[subprocess.Popen[str], int]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(name=name, function=function)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


@pytest.mark.parametrize(("name", "function"), [("fine", "main"), ("slow", "begin")])
def test_the_child_does_not_outlive_a_killed_parent(name: str, function: str) -> None:
    parent, child = start_parent(name, function)
    with parent:
        assert alive(child)
        parent.kill()
        assert wait_until_gone(child)


def test_ctrl_c_at_the_terminal_reaches_the_parent_only() -> None:
    parent, child = start_parent("fine", "main")
    with parent:
        # Stopped, so that the parent cannot close the child before the child is looked at.
        os.kill(parent.pid, signal.SIGSTOP)
        os.killpg(parent.pid, signal.SIGINT)
        os.kill(child, signal.SIGINT)
        time.sleep(0.3)
        assert alive(child)
        os.kill(parent.pid, signal.SIGCONT)
        assert parent.wait(timeout=10) != 0
        assert wait_until_gone(child)
