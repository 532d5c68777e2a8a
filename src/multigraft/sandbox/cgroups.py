"""Bounds on memory and processes of a whole place, where control groups can be written: version 1, or a delegated part of version 2."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from multigraft.sandbox.janitor import remove_group

_PREFIX = "multigraft-"
_CONTROLLERS = ("memory", "pids")


@dataclass(frozen=True, slots=True)
class Cgroups:
    """A group for each place, in one folder for each controller (in version 2, one for both)."""

    folders: tuple[Path, ...]
    """Empty: there are none, and memory is bounded for each process only."""

    def make(self, place: int, *, memory_bytes: int, processes: int) -> None:
        """Set the bounds of a place."""
        for folder in self.folders:
            group = folder / str(place)
            group.mkdir(exist_ok=True)
            for name, value in (("memory.limit_in_bytes", memory_bytes), ("memory.max", memory_bytes), ("pids.max", processes)):
                if (group / name).exists():
                    (group / name).write_text(str(value), "ascii")

    def join(self, place: int, pid: int) -> None:
        """Put a process into the group of its place.

        Raises:
            OSError: it is gone, or may not be moved.
        """
        for folder in self.folders:
            (folder / str(place) / "cgroup.procs").write_text(str(pid), "ascii")


def cgroups_possible() -> bool:
    """Whether groups can be had here, without making any."""
    try:
        own = dict(_own(Path("/proc/self/cgroup").read_text("ascii")))
        mounted = Path("/proc/self/mounts").read_text("utf-8")
    except (OSError, ValueError):
        return False
    offered = (_version_1(own, mounted), *_version_2(own, mounted))
    return any(parents and all(os.access(parent, os.W_OK) for parent in parents) for parents in offered)


def cgroups_here(*, listed: str | None = None, mounts: str | None = None) -> Cgroups:
    """Make folders for groups below our own, if that is allowed.

    Args:
        listed: the text of `/proc/self/cgroup`; None: the real one.
        mounts: the text of `/proc/self/mounts`; None: the real one.

    Returns:
        The groups; without folders where none can be had.
    """
    try:
        own = dict(_own(listed if listed is not None else Path("/proc/self/cgroup").read_text("ascii")))
        mounted = mounts if mounts is not None else Path("/proc/self/mounts").read_text("utf-8")
    except (OSError, ValueError):
        return Cgroups(())
    for parents in (_version_1(own, mounted), *_version_2(own, mounted)):
        folders: list[Path] = []
        if not parents:
            continue
        try:
            for parent in parents:
                _sweep(parent)
                folder = parent / f"{_PREFIX}{os.getpid()}-{time.monotonic_ns()}"
                folder.mkdir()
                folders.append(folder)
                if (folder / "cgroup.subtree_control").exists():
                    (folder / "cgroup.subtree_control").write_text("+memory +pids", "ascii")
        except OSError:
            for folder in folders:
                remove_group(str(folder), 0.0)
            continue
        return Cgroups(tuple(folders))
    return Cgroups(())


def _own(listed: str) -> Sequence[tuple[str, str]]:
    lines = (line.split(":", 2) for line in listed.splitlines())
    return [(controller, path) for _, controllers, path in lines for controller in controllers.split(",")]


def _version_1(own: dict[str, str], mounted: str) -> tuple[Path, ...]:
    found: list[Path] = []
    for controller in _CONTROLLERS:
        for line in mounted.splitlines():
            _, point, kind, options, *_ = line.split(" ")
            if kind == "cgroup" and controller in options.split(","):
                below = Path(point, own.get(controller, "/").lstrip("/"))
                # In a container the path is one of the host and does not exist here; the mount itself is then our group.
                found.append(below if below.is_dir() else Path(point))
                break
    return tuple(found) if len(found) == len(_CONTROLLERS) else ()


def _version_2(own: dict[str, str], mounted: str) -> tuple[tuple[Path, ...], ...]:
    """Offer our own group, then the one above it: a group that holds processes itself may have no groups with controllers below, but next to it they may be."""
    point = next((Path(words[1]) for line in mounted.splitlines() if (words := line.split(" "))[2] == "cgroup2"), None)
    if point is None or "" not in own:
        return ()
    group = point / own[""].lstrip("/")
    return tuple((candidate,) for candidate in dict.fromkeys((group, group.parent)) if candidate.is_relative_to(point) and _hands_on(candidate))


def _hands_on(group: Path) -> bool:
    try:
        handed_on = (group / "cgroup.subtree_control").read_text("ascii").split()
    except OSError:
        return False
    return set(_CONTROLLERS) <= set(handed_on)


def _sweep(parent: Path) -> None:
    """Remove what processes that were killed left behind."""
    for left in parent.glob(f"{_PREFIX}*-*"):
        pid = left.name.removeprefix(_PREFIX).split("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            remove_group(str(left), 0.0)
