"""Where a model runs: devices, kind of numbers, threads."""

import os
from dataclasses import dataclass
from typing import Literal, TypeAlias

from multigraft.errors import InputError
from multigraft.rewards.hf.extra import required

Dtype: TypeAlias = Literal["auto", "float32", "bfloat16", "float16"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The devices of a model.

    Args:
        device: `auto` (the first of CUDA, MPS and CPU that is there), `cpu`, `cuda`, `cuda:1`, `mps`.
        devices: several: the whole model on each, working from one queue; or its layers spread over them, with `split`.
        split: spread one model over all devices, for one too large for any.
        dtype: `auto`: that of the weights on an accelerator, float32 on a CPU, where lower precision is slow.
        threads: cores that a replica on a CPU takes, >= 1; None: all, shared by the replicas.
    """

    device: str = "auto"
    devices: tuple[str, ...] = ()
    split: bool = False
    dtype: Dtype = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.devices and self.device != "auto":
            message = f"either device or devices, not both: {self.device!r}, {list(self.devices)}"
            raise ValueError(message)
        if self.dtype not in {"auto", "float32", "bfloat16", "float16"}:
            message = f"dtype must be auto, float32, bfloat16 or float16, not {self.dtype!r}"
            raise ValueError(message)
        if self.threads is not None and self.threads < 1:
            message = f"threads must be at least 1, not {self.threads}"
            raise ValueError(message)

    def replicas(self) -> tuple[str, ...]:
        """Return the device of each replica.

        Raises:
            InputError: a device that this machine does not have.
        """
        torch = required("torch")
        wanted = self.devices or (self.device,)
        found: list[str] = []
        for name in wanted:
            if name == "auto":
                name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
            try:
                device = torch.device(name)
                torch.empty(1, device=device)
            # What a missing device raises differs between versions of torch.
            except (RuntimeError, AssertionError, ValueError, NotImplementedError) as error:
                message = f"device '{name}' cannot be used here: {str(error).splitlines()[0]}"
                raise InputError(message, field="device") from error
            found.append(str(device))
        return tuple(found)

    def threads_of(self, device: str, replicas: int) -> int | None:
        """Return how many cores one replica takes; None off the CPU."""
        if not device.startswith("cpu"):
            return None
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self.threads or max(1, cores // replicas)
