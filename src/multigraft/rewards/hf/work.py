"""One queue of texts for all replicas of a model: whoever is free takes what waits, however many calls of `score` it came from."""

import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from multigraft.rewards.hf.batches import planned
from multigraft.rewards.hf.tokens import Row

Readings: TypeAlias = list[list[float]]
"""For each mark of a row, the numbers read there."""


class Network(Protocol):
    """A model on its device."""

    @property
    def padded(self) -> bool:
        """Whether rows of one batch may differ in length."""
        ...

    def prepare(self, share: int) -> None:
        """Called before a batch, in the thread that runs it.

        Args:
            share: how many batches run or are ready to, this one included; >= 1.
        """
        ...

    def read(self, rows: Sequence[Row]) -> list[Readings]:
        """Run one batch.

        Args:
            rows: at least one.

        Returns:
            One list of readings a row, in order.
        """
        ...


Outcome: TypeAlias = Readings | Exception | None
"""What became of a row: what the model said, what it raised, or nothing, where the queue was closed before its turn."""


@dataclass(slots=True)
class _Call:
    """The rows of one call, which may run in several batches, and what has become of them."""

    outcomes: list[Outcome]
    left: int
    future: "Future[list[Outcome]]" = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class _Item:
    row: Row
    call: _Call
    place: int


@dataclass(slots=True)
class _State:
    """What the threads share. They hold neither the queue nor the scorer, so both can be collected while threads wait."""

    lock: threading.Condition = field(default_factory=threading.Condition)
    waiting: list[_Item] = field(default_factory=list)
    batches: list[list[_Item]] = field(default_factory=list)
    running: int = 0
    closed: bool = False


class WorkQueue:
    """Batches rows by length and runs them, one thread a replica.

    Args:
        replicas: at least one: the same model on several devices, or one on a CPU several times, where threads share its weights.
        batch_tokens: see `planned`; >= 1.
    """

    def __init__(self, replicas: Sequence[Network], batch_tokens: int) -> None:
        self._state = _State()
        for number, network in enumerate(replicas):
            threading.Thread(target=_run, args=(self._state, network, batch_tokens), daemon=True, name=f"reward-model-{number}").start()
        self._close = weakref.finalize(self, _close, self._state)

    def submit(self, rows: Sequence[Row]) -> "Future[list[Outcome]]":
        """Put rows into the queue.

        Returns:
            What becomes of each, once all have had their turn. Once it is cancelled, those that still wait are not run.
        """
        call = _Call([None] * len(rows), len(rows))
        items = [_Item(row, call, place) for place, row in enumerate(rows)]
        with self._state.lock:
            refused = self._state.closed or not items
            if not refused:
                self._state.waiting.extend(items)
                self._state.lock.notify_all()
        if refused:
            call.future.set_result(call.outcomes)
        return call.future

    def close(self) -> None:
        """End the threads; what waits is not run."""
        self._close()


def _close(state: _State) -> None:
    with state.lock:
        state.closed = True
        left = [*state.waiting, *(item for batch in state.batches for item in batch)]
        state.waiting.clear()
        state.batches.clear()
        state.lock.notify_all()
    _finish(state, [(item, None) for item in left])


def _run(state: _State, network: Network, batch_tokens: int) -> None:
    while (found := _next(state, batch_tokens, padded=network.padded)) is not None:
        batch, share = found
        if live := [item for item in batch if not item.call.future.cancelled()]:
            network.prepare(share)
            _finish(state, list(zip(live, _outcomes(network, [item.row for item in live]), strict=True)))
        with state.lock:
            state.running -= 1


def _next(state: _State, batch_tokens: int, *, padded: bool) -> tuple[list[_Item], int] | None:
    with state.lock:
        state.lock.wait_for(lambda: state.closed or state.waiting or state.batches)
        if state.closed:
            return None
        if not state.batches:
            # All that waits is planned at once, and newcomers after it, so that no text waits forever for others of its length.
            plan = planned([len(item.row.ids) for item in state.waiting], batch_tokens, padded=padded)
            state.batches = [[state.waiting[position] for position in batch] for batch in plan]
            state.waiting.clear()
            # Others may help with what was planned.
            state.lock.notify_all()
        state.running += 1
        return state.batches.pop(0), state.running + len(state.batches)


def _outcomes(network: Network, rows: Sequence[Row]) -> Sequence[Outcome]:
    """Run a batch; one that fails is halved, so that no text suffers for another, or for a device with too little memory."""
    try:
        return network.read(rows)
    # Whatever a model raises belongs to whoever waits for it; a thread that ended would leave all of them waiting.
    except Exception as error:  # noqa: BLE001 - see above
        if len(rows) == 1:
            return [error]
    # Only here, where the error and the memory its frames hold are gone.
    middle = len(rows) // 2
    return [*_outcomes(network, rows[:middle]), *_outcomes(network, rows[middle:])]


def _finish(state: _State, found: Sequence[tuple[_Item, Outcome]]) -> None:
    """Note what became of rows. A call is told once, when the last of its rows is there, as each word to its event loop costs more than a row."""
    done = []
    with state.lock:
        for item, outcome in found:
            item.call.outcomes[item.place] = outcome
            item.call.left -= 1
            if not item.call.left:
                done.append(item.call)
    for call in done:
        if call.future.set_running_or_notify_cancel():
            call.future.set_result(call.outcomes)
