"""How one embedded model is served: threads, slots, context, and the sampling rules the wire format has no field for."""

import os
from dataclasses import dataclass
from pathlib import Path

from multigraft.errors import InputError

CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Settings of one server process. The defaults suit models below a billion parameters of which several run at once on few cores."""

    threads: int = 1
    """Threads that compute; >= 1."""
    poll: int = 50
    """How long an idle thread spins before it sleeps, [0, 100]; without effect on one thread."""
    slots: int = 4
    """Sequences decoded together; >= 1. Also the default number of requests in flight."""
    context_tokens: int = 4096
    """Context of each slot: prompt and completion; >= 64."""
    prompt_cache_mib: int = 64
    """Memory for the states of earlier prompts beyond those in the slots; >= 0."""
    min_p: float = 0.05
    """Tokens less probable than this share of the most probable one are never drawn, [0, 1]; 0: off."""
    top_k: int = 0
    """Only so many of the most probable tokens are ever drawn; 0: off."""
    repeat_penalty: float = 1.0
    """By how much the logits of tokens among the last 64 are divided, [1, 2]; 1: off. Slightly above 1 keeps the smallest models from looping."""
    start_timeout_s: float = 120.0
    """How long loading may take; > 0."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name, value, least, most in (
            ("threads", self.threads, 1, 1024),
            ("poll", self.poll, 0, 100),
            ("slots", self.slots, 1, 256),
            ("context_tokens", self.context_tokens, 64, 1 << 24),
            ("prompt_cache_mib", self.prompt_cache_mib, 0, 1 << 20),
            ("min_p", self.min_p, 0.0, 1.0),
            ("top_k", self.top_k, 0, 1 << 20),
            ("repeat_penalty", self.repeat_penalty, 1.0, 2.0),
        ):
            if not least <= value <= most:
                message = f"{name} is {value}; it is from {least} to {most}"
                raise InputError(message, field=name)
        if not self.start_timeout_s > 0:
            message = f"start_timeout_s is {self.start_timeout_s}; it must be above 0"
            raise InputError(message, field="start_timeout_s")


def threads_for(num_models: int, num_cores: int) -> int:
    """Say how many threads each of several servers gets that work at the same time.

    Threads of llama.cpp wait for each other after every layer, so one thread more than there are cores slows all servers several times over.

    Args:
        num_models: servers that run at once; >= 1.
        num_cores: cores this process may use; >= 1.

    Returns:
        At least 1, at most 8; models of this size gain nothing beyond that.
    """
    return max(1, min(8, num_cores // num_models))


def usable_cores() -> int:
    """Count the cores this process may use: its affinity, and the quota of its container where there is one (cgroup version 2)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = CGROUP_QUOTA.read_text().split()
        allowed = int(quota) // int(period)
    except (OSError, ValueError):
        # No such file outside Linux containers, and 'max' where there is no quota.
        return cores
    return max(1, min(cores, allowed))
