"""Asking an optimiser model until its reply is of use, or for the last time."""

from collections.abc import Callable, Generator
from typing import Any, Generic, NamedTuple, TypeVar

from multigraft.optimize.agent.notes import shown
from multigraft.optimize.agent.validator import Refused
from multigraft.optimize.problem import Consult, Propose, consulted

Read = TypeVar("Read")


class Asked(NamedTuple, Generic[Read]):
    """What came of it."""

    read: Read | None
    """None: no reply was of use."""
    notes: tuple[str, ...]
    """One for each reply that was not: `reply refused: ...` or `reply failed: ...`."""
    heard: bool
    """Whether the model said anything at all."""


def asked(make: Callable[[int, str], Consult], read: Callable[[str], Read | Refused], *, attempts: int) -> Generator[Propose | Consult, Any, Asked[Read]]:
    """Ask, and where the reply is of no use ask again and say why; used with `yield from`.

    Args:
        make: from the attempt, from 0, and what was wrong before, to what is asked.
        read: from a text to what it holds, or why it holds nothing.
        attempts: at most; >= 1.

    Returns:
        What was read, or nothing.
    """
    notes: list[str] = []
    trouble = ""
    heard = False
    for attempt in range(attempts):
        reply = yield from consulted(make(attempt, trouble))
        if reply.text is None:
            notes.append(f"reply failed: {reply.reason or 'no reason given'}")
            continue
        heard = True
        found = read(reply.text)
        if not isinstance(found, Refused):
            return Asked(found, tuple(notes), heard)
        trouble = shown(found.reason)
        notes.append(f"reply refused: {trouble}")
    return Asked(None, tuple(notes), heard)
