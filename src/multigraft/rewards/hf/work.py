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


@dataclass(frozen=True, slots=True)
class _Item:
    row: Row
    future: "Future[Readings]"


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

    def submit(self, rows: Sequence[Row]) -> "list[Future[Readings]]":
        """Put rows into the queue.

        Returns:
            One future a row. It raises what the model raised; a cancelled one is not run, and all are cancelled once the queue is closed.
        """
        items = [_Item(row, Future()) for row in rows]
        with self._state.lock:
            closed = self._state.closed
            if not closed:
                self._state.waiting.extend(items)
                self._state.lock.notify_all()
        for item in items if closed else ():
            item.future.cancel()
        return [item.future for item in items]

    def close(self) -> None:
        """End the threads; what waits is cancelled."""
        self._close()


def _close(state: _State) -> None:
    with state.lock:
        state.closed = True
        left = [*state.waiting, *(item for batch in state.batches for item in batch)]
        state.waiting.clear()
        state.batches.clear()
        state.lock.notify_all()
    for item in left:
        item.future.cancel()


def _run(state: _State, network: Network, batch_tokens: int) -> None:
    while (found := _next(state, batch_tokens, padded=network.padded)) is not None:
        batch, share = found
        live = [item for item in batch if item.future.set_running_or_notify_cancel()]
        if live:
            network.prepare(share)
            _settle(network, live)
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


def _settle(network: Network, items: Sequence[_Item]) -> None:
    """Run a batch; one that fails is halved, so that no text suffers for another, or for a device with too little memory."""
    try:
        readings = network.read([item.row for item in items])
    # Whatever a model raises belongs to whoever waits for it; a thread that ended would leave all of them waiting.
    except Exception as error:  # noqa: BLE001 - see above
        if len(items) == 1:
            items[0].future.set_exception(error)
            return
        readings = []
    if not readings:
        # Only here, where the error and the memory its frames hold are gone.
        middle = len(items) // 2
        _settle(network, items[:middle])
        _settle(network, items[middle:])
        return
    for item, reading in zip(items, readings, strict=True):
        item.future.set_result(reading)
