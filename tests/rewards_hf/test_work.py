"""The queue and its batches, with a model of arithmetic."""

import asyncio
import threading
import time
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.rewards.hf.batches import planned
from multigraft.rewards.hf.tokens import Row
from multigraft.rewards.hf.work import Readings, WorkQueue


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 120), st.booleans())
@settings(deadline=None, max_examples=100)
def test_every_item_is_in_one_batch_within_the_budget(lengths: list[int], batch_tokens: int, padded: bool) -> None:
    batches = planned(lengths, batch_tokens, padded=padded)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    longest = [max(lengths[position] for position in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch, most in zip(batches, longest, strict=True):
        assert len(batch) == 1 or len(batch) * most <= batch_tokens
        assert padded or {lengths[position] for position in batch} == {most}


def test_a_plan_by_hand() -> None:
    assert planned([5, 1, 9, 5, 2], 10, padded=True) == [[2], [0, 3], [4, 1]]
    assert planned([5, 1, 9, 5, 2], 10, padded=False) == [[2], [0, 3], [4], [1]]


class Summing:
    """Says the sum of a row's ids; fails for a row of a single 13, and for more rows than it has room for."""

    padded = True

    def __init__(self, room: int = 1000, gate: threading.Event | None = None, delay_s: float = 0.0) -> None:
        self.room, self.gate, self.delay_s = room, gate, delay_s
        self.batches: list[int] = []
        self.shares: list[int] = []
        self.threads: set[str] = set()

    def prepare(self, share: int) -> None:
        self.shares.append(share)
        self.threads.add(threading.current_thread().name)

    def read(self, rows: Sequence[Row]) -> list[Readings]:
        if self.gate is not None:
            self.gate.wait(5)
        time.sleep(self.delay_s)
        self.batches.append(len(rows))
        if len(rows) > self.room:
            message = "out of memory"
            raise RuntimeError(message)
        if any(row.ids == (13,) for row in rows):
            message = "unlucky"
            raise ValueError(message)
        return [[[float(sum(row.ids))]] for row in rows]


def rows(*ids: tuple[int, ...]) -> list[Row]:
    return [Row(one, (len(one) - 1,)) for one in ids]


def test_what_waits_is_run_together() -> None:
    gate = threading.Event()
    network = Summing(gate=gate)
    queue = WorkQueue([network], 100)
    first = queue.submit(rows((1,)))
    time.sleep(0.05)
    others = [queue.submit(rows((number, number))) for number in range(20)]
    gate.set()
    assert first.result(5) == [[[1.0]]]
    assert [future.result(5) for future in others] == [[[[2.0 * number]]] for number in range(20)]
    assert network.batches == [1, 20]
    queue.close()


def test_one_that_fails_harms_no_other() -> None:
    network = Summing(room=3)
    queue = WorkQueue([network], 1000)
    found = queue.submit(rows((1,), (2,), (13,), (4,), (5,), (6,), (7,), (8,))).result(5)
    assert [found[number] for number in (0, 1, 3, 4, 5, 6, 7)] == [[[float(number)]] for number in (1, 2, 4, 5, 6, 7, 8)]
    assert isinstance(found[2], ValueError)
    queue.close()


def test_replicas_share_the_work() -> None:
    networks = [Summing(delay_s=0.02), Summing(delay_s=0.02)]
    queue = WorkQueue(networks, 1)
    assert queue.submit(rows(*((number,) for number in range(10)))).result(5) == [[[float(number)]] for number in range(10)]
    assert min(len(network.batches) for network in networks) > 1
    shares = networks[0].shares + networks[1].shares
    # Ten are ready at first, and each is told how many run or are about to, itself included.
    assert max(shares) == 10
    assert len(shares) == 10
    assert min(shares) >= 1
    queue.close()


def test_closing_leaves_what_waits() -> None:
    gate = threading.Event()
    network = Summing(gate=gate)
    queue = WorkQueue([network], 1)
    both, waiting = queue.submit(rows((1,), (2,))), queue.submit(rows((3,)))
    time.sleep(0.05)
    queue.close()
    assert waiting.result(5) == [None]
    gate.set()
    assert both.result(5) == [[[1.0]], None]
    assert queue.submit(rows((4,), (5,))).result(5) == [None, None]
    assert network.batches == [1]


def test_no_rows_are_at_once_done() -> None:
    queue = WorkQueue([Summing()], 1)
    assert queue.submit([]).result(5) == []
    queue.close()


async def test_the_event_loop_goes_on_and_a_cancelled_call_is_not_run() -> None:
    gate = threading.Event()
    network = Summing(gate=gate)
    queue = WorkQueue([network], 1)
    kept, dropped = (asyncio.wrap_future(queue.submit(rows((number,)))) for number in (1, 2))
    ticks = 0
    for _ in range(5):
        await asyncio.sleep(0.01)
        ticks += 1
    dropped.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await kept == [[[1.0]]]
    queue.close()
    assert ticks == 5
    assert network.batches == [1]
