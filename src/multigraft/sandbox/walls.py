"""Which walls can be had on this machine, and the command that puts a process behind them."""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from multigraft.errors import SandboxError
from multigraft.sandbox.cgroups import cgroups_possible
from multigraft.sandbox.limits import Limits

INSTALL = "apt-get install -y bubblewrap libseccomp2"
UNSAFE = "--unsafe-no-sandbox"
NO_WALLS = "none (unsafe)"
FIRST_UID = 70_000
"""Users of the places; far above those of people and services, and in no file of the system."""
CODE = "/code"
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
"""All that a process starts with. The hash seed is fixed so that the same code does the same twice."""
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
START = "import sys; sys.path[0] = {folder!r}; from multigraft.sandbox.{main} import main; main()"
_OLDEST = (3, 10)


@dataclass(frozen=True, slots=True)
class Walls:
    """What stands between generated code and the rest of the machine."""

    interpreter: str
    """Path of the Python that runs it."""
    bubblewrap: str | None
    """Path of `bwrap`; None: no walls."""
    setpriv: str | None
    """Path of the tool that changes the user; None where we are no root and cannot."""
    extra_root: str | None = None
    """Where the interpreter lives, if that is not below `/usr`."""
    grouped: bool = False
    """Whether memory and processes are bounded by control groups as well."""

    @property
    def description(self) -> str:
        """Say what stands, in a few words; part of the record."""
        version = Path(self.interpreter).resolve().name
        if self.bubblewrap is None:
            return f"{NO_WALLS}; {version}"
        users = "a user of its own for each process" if self.setpriv else "the user's own uid"
        groups = ", control groups" if self.grouped else ""
        return f"bubblewrap, seccomp, resource limits{groups}, {users}; {version}"

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of bubblewrap itself, as `/proc/1/environ` inside shows what it was started with."""
        return dict(_ENVIRONMENT)

    def command(self, main: str, place: int, *, label: str, code_folder: Path, limits: Limits, descriptors: tuple[int, int, int]) -> list[str]:
        """Write the command line of a process.

        Args:
            main: the module of `multigraft.sandbox.inside` that it runs.
            place: its number; no two live processes share one.
            label: marks the processes of one sandbox, wherever processes are listed.
            code_folder: holds those modules.
            limits: of the process.
            descriptors: of the report, of what bubblewrap says of itself, and of the filter.
        """
        report, information, seccomp = descriptors
        folder = CODE if self.bubblewrap else str(code_folder)
        settings = [f"{name}={value}" for name, value in limits.resource_limits(walled=self.bubblewrap is not None)]
        python = [self.interpreter, "-s", "-S", "-B", "-c", START.format(folder=folder, main=f"inside.{main}"), label, *settings, str(report)]
        if self.bubblewrap is None:
            return python
        uid = str(FIRST_UID + place)
        user = [self.setpriv, f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"] if self.setpriv else []
        return [*user, self.bubblewrap, *self._profile(code_folder, limits), "--info-fd", str(information), "--seccomp", str(seccomp), "--", *python]

    def _profile(self, code_folder: Path, limits: Limits) -> list[str]:
        # The interpreter is pid 1 itself: bubblewrap then ends only when every process inside is gone.
        words = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"]
        words += ["--ro-bind", "/usr", "/usr"]
        for name in _MERGED:
            path = Path("/", name)
            if path.is_symlink():
                words += ["--symlink", f"usr/{name}", str(path)]
            elif path.is_dir():
                words += ["--ro-bind", str(path), str(path)]
        if self.extra_root:
            words += ["--ro-bind", self.extra_root, self.extra_root]
        words += ["--proc", "/proc", "--dev", "/dev", "--size", str(limits.scratch_bytes), "--tmpfs", "/tmp"]  # noqa: S108 - the one inside
        return [*words, "--ro-bind", str(code_folder), CODE, "--remount-ro", "/", "--remount-ro", "/dev", "--chdir", "/tmp"]  # noqa: S108 - the one inside


def walls_here(*, unsafe: bool, path: str | None = None) -> Walls:
    """Find the tools.

    Args:
        unsafe: do without walls.
        path: where programs are looked for; None: where the system keeps them.

    Raises:
        SandboxError: a tool is missing; the message names the line that installs it.
    """
    if unsafe:
        return Walls(sys.executable, None, None)
    if sys.platform != "linux":
        refuse(f"walls for generated code need Linux, and this is {sys.platform}: use a Linux machine or container there")
    path = path or "/usr/bin:/bin:/usr/local/bin:/usr/sbin:/sbin"
    bubblewrap = shutil.which("bwrap", path=path)
    if bubblewrap is None:
        refuse(f"bubblewrap is not installed: {INSTALL}")
    setpriv = shutil.which("setpriv", path=path) if os.geteuid() == 0 else None
    if os.geteuid() == 0 and setpriv is None:
        refuse("setpriv is not installed: apt-get install -y util-linux")
    interpreter, extra_root = _interpreter(path)
    return Walls(interpreter, bubblewrap, setpriv, extra_root, cgroups_possible())


def refuse(what: str) -> NoReturn:
    """Run no generated code here.

    Args:
        what: is missing or does not hold, and what to do.

    Raises:
        SandboxError: always.
    """
    message = f"generated code is not run without a sandbox; {what}; to run it without any protection, type {UNSAFE}"
    raise SandboxError(message)


def _interpreter(path: str) -> tuple[str, str | None]:
    """Choose a Python: ours where it lives below `/usr`, one of the system otherwise, and ours with its folder shown read-only as the last resort."""
    own = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    if own.is_relative_to("/usr") and own.exists():
        return str(own), None
    names = [f"python3.{minor}" for minor in _minors()]
    found = next((place for name in names if (place := shutil.which(name, path=path)) and Path(place).resolve().is_relative_to("/usr")), None)
    return (found, None) if found else (str(own), sys.base_prefix)


def _minors() -> Sequence[int]:
    ours = sys.version_info.minor
    return [ours, *(minor for minor in range(ours + 4, _OLDEST[1] - 1, -1) if minor != ours)]


def child_pid(information: str) -> int | None:
    """Read the process behind the walls out of what bubblewrap says of itself."""
    match = re.search(r'"child-pid": ?(\d+)', information)
    return int(match[1]) if match else None
