"""What one run of generated code may use."""

from dataclasses import dataclass
from math import ceil, isfinite

_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run of generated code may use at most.

    Raises:
        ValueError: a limit below what an interpreter needs to start.
    """

    wall_s: float = 6.0
    """Seconds of wall time, from the moment the walls stand; > 0. Also bounds CPU time: rounded up, and one more."""
    memory_bytes: int = 512 * _MEBIBYTE
    """Address space of each process, and of all together where a memory cgroup can be had; >= 64 MiB."""
    processes: int = 16
    """Processes and threads, the interpreter's own included; >= 1."""
    file_bytes: int = 16 * _MEBIBYTE
    """Size of one file; >= 0."""
    scratch_bytes: int = 32 * _MEBIBYTE
    """Size of `/tmp`, the only place that can be written; >= 1."""
    open_files: int = 64
    """Open descriptors; >= 16."""
    output_bytes: int = 64 * 1024
    """Kept of standard output, and of standard error; what comes after has nowhere to go. >= 0."""

    def __post_init__(self) -> None:
        least = {
            "memory_bytes": 64 * _MEBIBYTE,
            "processes": 1,
            "file_bytes": 0,
            "scratch_bytes": 1,
            "open_files": 16,
            "output_bytes": 0,
        }
        for name, bound in least.items():
            if getattr(self, name) < bound:
                message = f"{name} must be at least {bound}, not {getattr(self, name)}"
                raise ValueError(message)
        if not (isfinite(self.wall_s) and self.wall_s > 0):
            message = f"wall_s must be a finite number of seconds above 0, not {self.wall_s}"
            raise ValueError(message)

    def resource_limits(self, *, walled: bool) -> tuple[tuple[str, int], ...]:
        """Name the limits the kernel holds for each process.

        Args:
            walled: whether processes count in a user namespace of their own. Outside of one, all processes of the user count, so there is no limit to them.
        """
        limits = (("AS", self.memory_bytes), ("CPU", ceil(self.wall_s) + 1), ("FSIZE", self.file_bytes), ("NOFILE", self.open_files), ("CORE", 0))
        return (*limits, ("NPROC", self.processes)) if walled else limits
