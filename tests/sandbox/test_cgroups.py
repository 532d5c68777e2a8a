import os
from pathlib import Path

from multigraft.sandbox.cgroups import Cgroups, cgroups_here


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("ascii") for path in folder.iterdir() if path.is_file()}


def test_version_1_has_a_folder_for_each_controller(tmp_path: Path) -> None:
    for controller in ("memory", "pids"):
        (tmp_path / controller / "ours").mkdir(parents=True)
    mounts = "".join(f"cgroup {tmp_path}/{name} cgroup rw,relatime,{name} 0 0\n" for name in ("cpu", "memory", "pids"))
    found = cgroups_here(listed="4:memory:/ours\n8:pids:/not-in-this-container\n0::/\n", mounts=mounts)
    assert [folder.parent for folder in found.folders] == [tmp_path / "memory" / "ours", tmp_path / "pids"]
    assert all(folder.is_dir() and folder.name.startswith(f"multigraft-{os.getpid()}-") for folder in found.folders)


def test_version_2_takes_the_group_above_when_ours_hands_nothing_on(tmp_path: Path) -> None:
    ours = tmp_path / "user" / "app" / "run.scope"
    ours.mkdir(parents=True)
    for group, handed_on in ((ours, ""), (ours.parent, "cpu memory pids"), (ours.parent.parent, "memory pids")):
        (group / "cgroup.subtree_control").write_text(handed_on, "ascii")
    found = cgroups_here(listed="0::/user/app/run.scope\n", mounts=f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    assert [folder.parent for folder in found.folders] == [ours.parent]


def test_where_none_can_be_had_there_are_none(tmp_path: Path) -> None:
    assert cgroups_here(listed="0::/\n", mounts="proc /proc proc rw 0 0\n") == Cgroups(())
    assert cgroups_here(listed="0::/\n", mounts=f"cgroup2 {tmp_path} cgroup2 rw 0 0\n") == Cgroups(())
    one_only = f"cgroup {tmp_path} cgroup rw,memory 0 0\n"
    assert cgroups_here(listed="4:memory:/\n", mounts=one_only) == Cgroups(())
    assert cgroups_here(listed="nonsense", mounts="") == Cgroups(())


def test_a_place_gets_its_bounds_and_its_process(tmp_path: Path) -> None:
    version_1, version_2 = tmp_path / "one", tmp_path / "two"
    for folder, names in ((version_1, ("memory.limit_in_bytes",)), (version_2, ("memory.max", "pids.max"))):
        (folder / "3").mkdir(parents=True)
        for name in names:
            (folder / "3" / name).write_text("max", "ascii")
    groups = Cgroups((version_1, version_2))
    groups.make(3, memory_bytes=1 << 27, processes=16)
    groups.join(3, 4711)
    assert written(version_1 / "3") == {"memory.limit_in_bytes": "134217728", "cgroup.procs": "4711"}
    assert written(version_2 / "3") == {"memory.max": "134217728", "pids.max": "16", "cgroup.procs": "4711"}


def test_what_dead_owners_left_is_removed(tmp_path: Path) -> None:
    dead, alive = tmp_path / "multigraft-99999999-1", tmp_path / f"multigraft-{os.getpid()}-1"
    (dead / "0").mkdir(parents=True)
    alive.mkdir()
    (tmp_path / "cgroup.subtree_control").write_text("memory pids", "ascii")
    cgroups_here(listed="0::/\n", mounts=f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    assert not dead.exists()
    assert alive.exists()
