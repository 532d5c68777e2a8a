import asyncio
import json
import os
import textwrap
import time
from pathlib import Path

import pytest
from tests.sandbox.matrix import live_inside

from multigraft.errors import MultigraftError, SandboxError
from multigraft.sandbox.limits import Limits
from multigraft.sandbox.outcomes import Run
from multigraft.sandbox.sandbox import Sandbox
from multigraft.sandbox.slots import Slots
from multigraft.sandbox.walls import INSTALL, walls_here


async def ran(sandbox: Sandbox, source: str, limits: Limits | None = None) -> Run:
    result = await sandbox.run(textwrap.dedent(source), limits=limits)
    assert isinstance(result, Run), result
    return result


async def test_a_program_runs_as_main(sandbox: Sandbox) -> None:
    source = """
        import sys, os, json
        if __name__ == "__main__":
            print(json.dumps([os.getcwd(), os.getpid(), sorted(os.environ), sys.stdin.read(), sorted(os.listdir("/"))]))
            print("to the side", file=sys.stderr)
            sys.exit(7)
    """
    result = await ran(sandbox, source)
    cwd, pid, names, stdin, root = json.loads(result.stdout)
    assert (cwd, pid, stdin) == ("/tmp", 1, "")
    assert set(names) <= {"PATH", "LANG", "PYTHONHASHSEED", "PWD", "LC_CTYPE"}
    assert set(root) <= {"bin", "code", "dev", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr"}
    assert (result.stderr, result.exit_code, result.timed_out, result.truncated) == ("to the side\n", 7, False, False)


async def test_a_program_that_raises_says_so(sandbox: Sandbox) -> None:
    result = await ran(sandbox, "raise KeyError('x')")
    assert result.exit_code == 1
    assert result.stderr.endswith("KeyError: 'x'\n")


async def test_bytes_that_are_no_text_are_written_out(sandbox: Sandbox) -> None:
    result = await ran(sandbox, r"import os; os.write(1, b'a\xff\x00\xc3\xa9')")
    assert result.stdout == "a\\xff\0é"


async def test_output_is_kept_up_to_its_bound(sandbox: Sandbox) -> None:
    limits = Limits(output_bytes=1000, wall_s=5)
    result = await ran(sandbox, "print('x' * 999)", limits)
    assert (len(result.stdout), result.truncated) == (1000, False)
    result = await ran(sandbox, "while True: print('y' * 4096)", limits)
    assert (len(result.stdout), result.truncated, result.timed_out) == (1000, True, False)


async def test_wall_time_is_bounded(sandbox: Sandbox) -> None:
    began_s = time.monotonic()
    result = await ran(sandbox, "import os, time\nprint('begun', flush=True)\nos.fork()\ntime.sleep(60)", Limits(wall_s=0.7))
    assert result.timed_out
    assert result.stdout == "begun\n"
    assert 0.7 <= result.wall_s <= 1.2
    assert time.monotonic() - began_s < 2.0
    assert live_inside() == []


async def test_processor_time_is_bounded_by_the_kernel_as_well(sandbox: Sandbox) -> None:
    source = "import resource; print([resource.getrlimit(getattr(resource, 'RLIMIT_' + n)) for n in ('AS', 'CPU', 'FSIZE', 'NOFILE', 'CORE', 'NPROC')])"
    result = await ran(sandbox, source, Limits(wall_s=2.5))
    assert result.stdout == f"{[(512 << 20,) * 2, (4, 4), (16 << 20,) * 2, (64, 64), (0, 0), (16, 16)]}\n"


async def test_a_signal_is_told_by_the_exit_code(sandbox: Sandbox) -> None:
    result = await ran(sandbox, "import ctypes; ctypes.string_at(0)")
    assert result.exit_code in {139, -11}


@pytest.mark.skipif(not Path("/sys/fs/cgroup/memory").is_dir() or os.geteuid() != 0, reason="no control groups that can be written")
async def test_memory_is_bounded_over_all_processes_of_a_run(sandbox: Sandbox) -> None:
    source = """
        import os
        for _ in range(6):
            if os.fork() == 0:
                filled = bytearray(b"x") * (60 << 20)
                os.read(os.pipe()[0], 1)
        ends = [os.wait()[1] for _ in range(1)]
        print(ends)
    """
    result = await ran(sandbox, source, Limits(memory_bytes=128 << 20, wall_s=5))
    assert result.stdout == "[9]\n" or result.exit_code in {137, -9}
    assert not result.timed_out


async def test_a_cancelled_run_leaves_no_process(sandbox: Sandbox) -> None:
    for wait_s in (0.0, 0.002, 0.01, 0.03, 0.2):
        task = asyncio.create_task(sandbox.run("import time; time.sleep(60)"))
        await asyncio.sleep(wait_s)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert live_inside() == []
    assert (await ran(sandbox, "print(1)")).stdout == "1\n"


def num_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_descriptors_are_given_back(sandbox: Sandbox) -> None:
    await ran(sandbox, "print(1)")
    before = num_descriptors()
    await asyncio.gather(*(ran(sandbox, "print(1)") for _ in range(8)))
    assert num_descriptors() == before


async def test_the_last_who_closes_takes_the_walls_down() -> None:
    sandbox = Sandbox(slots=1)
    await asyncio.gather(sandbox.start(), sandbox.start())
    opened = sandbox._open
    assert opened is not None
    await sandbox.close()
    assert (await ran(sandbox, "print(1)")).stdout == "1\n"
    assert sandbox._open is opened
    await sandbox.close()
    assert not opened.code_folder.exists()
    assert not any(folder.exists() for folder in opened.cgroups.folders)
    assert opened.janitor.poll() is not None
    await sandbox.close()


def test_what_walls_are_up_is_said_before_they_are_up() -> None:
    sandbox = Sandbox()
    before = sandbox.description
    asyncio.run(sandbox.start())
    assert sandbox.description == before
    asyncio.run(sandbox.close())
    assert before.startswith("bubblewrap, seccomp, resource limits, ")
    assert Sandbox(unsafe=True).description.startswith("none (unsafe)")


async def test_without_walls_there_are_still_limits() -> None:
    sandbox = Sandbox(slots=1, unsafe=True)
    result = await ran(sandbox, "import resource, os; print(resource.getrlimit(resource.RLIMIT_AS)[0], os.getpid() == 1)")
    assert result.stdout == f"{512 << 20} False\n"
    result = await ran(sandbox, "import os, time\nos.fork()\ntime.sleep(60)", Limits(wall_s=0.5))
    assert result.timed_out
    assert live_inside() == []
    await sandbox.close()


def test_a_machine_without_bubblewrap_runs_nothing() -> None:
    with pytest.raises(SandboxError) as raised:
        walls_here(unsafe=False, path="/nowhere")
    assert "apt-get install -y bubblewrap libseccomp2" in str(raised.value)
    assert INSTALL in str(raised.value)
    assert "--unsafe-no-sandbox" in str(raised.value)
    assert isinstance(raised.value, MultigraftError)
    assert raised.value.exit_code == 1
    assert walls_here(unsafe=True, path="/nowhere").bubblewrap is None


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"wall_s": 0.0}, "wall_s"),
        ({"wall_s": float("nan")}, "wall_s"),
        ({"memory_bytes": 1 << 20}, "memory_bytes must be at least 67108864, not 1048576"),
        ({"processes": 0}, "processes"),
        ({"open_files": 3}, "open_files"),
    ],
)
def test_limits_that_cannot_be(settings: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Limits(**settings)  # type: ignore[arg-type]  # wrong on purpose


def test_a_sandbox_has_a_slot() -> None:
    with pytest.raises(ValueError, match="at least 1 slot, not 0"):
        Sandbox(slots=0)


async def test_slots_are_given_in_the_order_of_asking() -> None:
    slots = Slots(2)
    seen: list[tuple[int, int]] = []

    async def use(number: int) -> None:
        async with slots.taken() as slot:
            seen.append((number, slot))
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(use(number)) for number in range(6)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert [number for number, _ in seen] == [0, 1, 2, 4, 5]
    assert {slot for _, slot in seen} == {0, 1}
