"""Sees to it that nothing outlives the process that opened a sandbox, however that process ends.

Bubblewrap dies with its parent, but what it has just forked waits for it before it asks to die, too: killed in that millisecond, it would wait for ever. So a
process of its own watches the one that opened the sandbox, and in the end kills what still carries its label and removes its folders.
"""

import contextlib
import os
import select
import shutil
import signal
import sys
import time

_LOOK_S = 1.0
_PATIENCE_S = 2.0


def main() -> None:
    """Wait for the end of the parent, or of the pipe from it, then clean up; the label, the folder and those of control groups are on the command line."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    label, parent, folder, *groups = sys.argv[1:]
    # The end of the pipe alone would not do: a fork of the parent may hold it open for long.
    while os.getppid() == int(parent):
        readable, _, _ = select.select([0], [], [], _LOOK_S)
        if readable:
            break
    until_s = time.monotonic() + _PATIENCE_S
    while (found := kill_labelled(label)) and time.monotonic() < until_s:
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)
    for group in groups:
        remove_group(group, 0.0 if found else _PATIENCE_S)


def kill_labelled(label: str) -> int:
    """Kill every process that has the label among its arguments.

    Returns:
        How many there were, zombies left out.
    """
    mark = label.encode()
    count = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208 - fewer imports make a smaller process
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/cmdline", "rb") as file:  # noqa: PTH123 - fewer imports make a smaller process
                carries = mark in file.read().split(b"\0")
            if carries:
                os.kill(int(name), signal.SIGKILL)
                count += 1
    return count


def remove_group(folder: str, patience_s: float) -> None:
    """Remove a folder of control groups; what is still dying in them is given a moment."""
    until_s = time.monotonic() + patience_s
    with contextlib.suppress(FileNotFoundError):
        for name in [*(name for name in os.listdir(folder) if name.isdigit()), ""]:  # noqa: PTH208 - fewer imports make a smaller process
            while True:
                try:
                    os.rmdir(f"{folder}/{name}")  # noqa: PTH106 - fewer imports make a smaller process
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > until_s:
                        break
                    time.sleep(0.01)
                else:
                    break
