"""What whoever waits for weights gets to see: a protocol the command line draws, and one that shows nothing."""

from typing import Protocol


class Progress(Protocol):
    """Watches weights arrive. Calls come in this order: `licence`, then `begin`, `advance` many times, `end`; `waiting` at most once, before all."""

    def waiting(self, name: str) -> None:
        """Another process is fetching the same weights; this one waits for it."""
        ...

    def licence(self, name: str, terms: str) -> None:
        """Show the terms of weights that are about to be fetched for the first time."""
        ...

    def begin(self, name: str, total_bytes: int | None, done_bytes: int) -> None:
        """A download begins; `total_bytes` is None where the server does not say, `done_bytes` came in an earlier attempt."""
        ...

    def advance(self, num_bytes: int) -> None:
        """So many more bytes came; negative when bytes had to be thrown away."""
        ...

    def end(self, name: str) -> None:
        """The download ended, well or not."""
        ...


class Silent:
    """Shows nothing."""

    def waiting(self, name: str) -> None:
        """Show nothing."""

    def licence(self, name: str, terms: str) -> None:
        """Show nothing."""

    def begin(self, name: str, total_bytes: int | None, done_bytes: int) -> None:
        """Show nothing."""

    def advance(self, num_bytes: int) -> None:
        """Show nothing."""

    def end(self, name: str) -> None:
        """Show nothing."""
