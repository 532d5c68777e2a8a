"""Why and how a run stops before its prompts are finished."""

from collections.abc import Collection

from multigraft.types import Failure, FailureKind, Sample

_DOWN = frozenset({FailureKind.AUTH, FailureKind.QUOTA, FailureKind.NOT_FOUND, FailureKind.UNAVAILABLE})


class Halt:
    """The run's stop: once set, nothing more is sent, and what is in flight is waited for.

    A model whose endpoints refuse every call (bad key, spent quota, gone) is down. While another model is up its failures are told like any other; when all
    are down nothing is told, so that a resumed run, the cause mended, sends those calls again.

    Args:
        models: names of the run's models, judges left out.
    """

    def __init__(self, models: Collection[str]) -> None:
        self.reason: str | None = None
        """For people; None while the run goes on."""
        self.out_of_time = False
        self._up = set(models)

    @property
    def stopped(self) -> bool:
        """Whether nothing more is to be sent."""
        return self.reason is not None

    def stop(self, reason: str) -> None:
        """Stop the run; the first reason stays."""
        self.reason = self.reason or reason

    def time_is_up(self) -> None:
        """Stop the run because its seconds are spent."""
        self.stop("the time budget is spent")
        self.out_of_time = True

    def untold(self, model: str, sample: Sample) -> bool:
        """Say whether a call's end must stay untold; stops the run when the last model is down.

        Args:
            model: that was called.
            sample: what came of it.
        """
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
