"""What has to be started before a run and closed after it."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Starting(Protocol):
    """Something that gets ready before anything is paid: weights are loaded, walls tried."""

    async def start(self) -> None:
        """Get ready.

        Raises:
            MultigraftError: it cannot; the message says what to do.
        """
        ...


@runtime_checkable
class Closing(Protocol):
    """Something to be closed at the end of a run; safe where it was never started."""

    async def close(self) -> None:
        """Close it."""
        ...
