"""Why and how a run stops before its prompts are finished."""

import asyncio
from collections.abc import Collection
from typing import Final

from multigraft.types import Failure, FailureKind, Sample

UNSENT: Final = Failure(FailureKind.ABORTED, "the run stopped before it was sent", retryable=True)
"""What comes of a call that a stop kept from being sent, or from being tried again: it stays untold, and a resumed run sends it."""
_DOWN = frozenset({FailureKind.AUTH, FailureKind.QUOTA, FailureKind.NOT_FOUND, FailureKind.UNAVAILABLE})


class Halt:
    """The run's stop: once set, nothing more is sent, and what is in flight is waited for.

    A model whose endpoints refuse every call (bad key, spent quota, gone) is down. While another model is up its failures are told like any other; when all
    are down nothing is told, so that a resumed run, the cause mended, sends those calls again.

    Args:
        models: names of those the run cannot go on without: that answer, judges left out; or the judges, where all that is left to do is to judge.
    """

    def __init__(self, models: Collection[str]) -> None:
        self.reason: str | None = None
        """For people; None while the run goes on."""
        self.out_of_time = False
        self.patient = False
        """Whether calls in flight get more time to end than after an interruption."""
        self._models = frozenset(models)
        self._up = set(models)
        self._stopping = asyncio.Event()

    @property
    def stopped(self) -> bool:
        """Whether nothing more is to be sent."""
        return self.reason is not None

    def stop(self, reason: str) -> None:
        """Stop the run; the first reason stays."""
        self.reason = self.reason or reason
        self.patient = False
        self._stopping.set()

    def time_is_up(self) -> None:
        """Stop the run because its seconds are spent."""
        self.stop("the time budget is spent")
        self.out_of_time = self.patient = True

    async def pause(self, seconds: float) -> None:
        """Sleep, but no longer than until the run stops."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return

    def untold(self, model: str, sample: Sample) -> bool:
        """Say whether a call's end must stay untold; stops the run when the last model is down.

        Args:
            model: that was called.
            sample: what came of it.
        """
        if sample is UNSENT:
            return True
        if model not in self._models:
            return False
        if not isinstance(sample, Failure) or not is_down(sample):
            self._up.add(model)
            return False
        self._up.discard(model)
        if self._up:
            return False
        self.stop(f"no model takes calls any more; the last said: {sample.message}")
        return True


def is_down(sample: Sample) -> bool:
    """Whether a sample says that its model takes no calls at all."""
    return isinstance(sample, Failure) and sample.kind in _DOWN
