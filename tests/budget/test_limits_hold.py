"""Many random runs with many calls in flight: no limit is ever exceeded, and none stops with room for the next call."""

import heapq
from collections import Counter
from dataclasses import dataclass
from random import Random

from multigraft.budget.amount import NOTHING, Amount, Limits
from multigraft.budget.cost import ModelCost
from multigraft.budget.flops import ModelShape
from multigraft.budget.ledger import Ledger, Reservation
from multigraft.budget.price import Price
from multigraft.types import Usage

RUNS = 1000
# Prices of whole picodollars a token, so that the test can count money in whole numbers of its own.
MODELS = (
    (ModelCost(ModelShape(10**9, 16, 2048), Price(usd_per_million_prompt=0.02, usd_per_million_completion=0.05)), (20_000, 50_000)),
    (ModelCost(ModelShape(8 * 10**9, 32, 4096), Price(usd_per_million_prompt=0.18, usd_per_million_completion=0.6)), (180_000, 600_000)),
)


@dataclass(frozen=True)
class Sent:
    """A call on its way, with the whole numbers the test keeps itself."""

    prompt: int
    reservation: Reservation
    actual: Amount
    numbers: tuple[int, int, int, int]


class Simulation:
    """One run: prompts that each want calls of random sizes, and a server that answers in any order."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # a simulation, no secret
        self.max_in_flight = self.random.choice([1, 2, 8, 32, 64])
        self.limits = self.draw_limits(scale=self.random.choice([5, 30, 60]))
        self.ledger = Ledger(self.limits)
        # Prompts without a limit of their own never end by themselves, so the run's limits have to.
        self.prompt_limits = [self.draw_limits(scale=self.random.choice([2, 10])) if self.random.random() < 0.5 else Limits() for _ in range(4)]
        self.prompts = [Ledger(limits, parent=self.ledger, scope="prompt") for limits in self.prompt_limits]
        self.wanted = {prompt: self.draw_call() for prompt in range(4)}
        self.flying: list[tuple[float, int, Sent]] = []
        self.totals = [[0, 0, 0, 0] for _ in range(5)]
        self.most_in_flight = self.sent = 0
        self.stopped_by: Counter[str] = Counter()

    def draw_limits(self, scale: int) -> Limits:
        """Limits of one to four kinds, near `scale` middling calls."""
        size = self.random.uniform(0.3, 1.5) * scale
        every = {"flops": int(4e12 * size), "tokens": int(300 * size), "usd": round(1e-4 * size, 6), "calls": int(size) + 1}
        kinds = self.random.sample(sorted(every), self.random.randint(1, 4))
        return Limits(
            flops=every["flops"] if "flops" in kinds else None,
            tokens=int(every["tokens"]) if "tokens" in kinds else None,
            usd=every["usd"] if "usd" in kinds else None,
            calls=int(every["calls"]) if "calls" in kinds else None,
        )

    def draw_call(self) -> tuple[int, int, int]:
        return self.random.randrange(2), self.random.randint(1, 200), self.random.randint(1, 256)

    def bound(self, prompt: int) -> Amount:
        model, prompt_tokens, max_tokens = self.wanted[prompt]
        return MODELS[model][0].bound(prompt_tokens, max_tokens)

    def send(self, now: float) -> None:
        """Send whatever finds room; a prompt whose call never fits is done."""
        for prompt in self.random.sample(sorted(self.wanted), len(self.wanted)):
            while prompt in self.wanted and len(self.flying) < self.max_in_flight:
                reservation = self.prompts[prompt].reserve(self.bound(prompt))
                if not isinstance(reservation, Reservation):
                    if reservation.waits:
                        assert self.flying, "waits for a call in flight, and there is none"
                        break
                    assert not self.fits(prompt)
                    self.stopped_by[f"{reservation.scope} {reservation.kind}"] += 1
                    del self.wanted[prompt]
                    break
                self.fly(now, prompt, reservation)

    def fly(self, now: float, prompt: int, reservation: Reservation) -> None:
        model, prompt_tokens, max_tokens = self.wanted[prompt]
        cost, (prompt_price, completion_price) = MODELS[model]
        fate = self.random.random()
        read, written = self.random.randint(1, prompt_tokens), self.random.choice([max_tokens, self.random.randint(1, max_tokens)])
        tokens = read + written
        flops = 2 * cost.shape.parameters * tokens + 2 * cost.shape.layers * cost.shape.width * tokens * (tokens + 1) if cost.shape else 0
        actual, numbers = cost.actual([Usage(read, written, context_tokens=read)]), (flops, tokens, read * prompt_price + written * completion_price, 1)
        if fate < 0.05:
            actual, numbers = NOTHING, (0, 0, 0, 0)
        elif fate < 0.15:
            actual, numbers = Amount(calls=1), (0, 0, 0, 1)
        heapq.heappush(self.flying, (now + self.random.expovariate(1.0), self.sent, Sent(prompt, reservation, actual, numbers)))
        self.sent += 1
        self.most_in_flight = max(self.most_in_flight, len(self.flying))
        self.wanted[prompt] = self.draw_call()

    def fits(self, prompt: int) -> bool:
        """Whether the prompt's next call would fit beside everything that was really spent."""
        model, prompt_tokens, max_tokens = self.wanted[prompt]
        cost, (prompt_price, completion_price) = MODELS[model]
        tokens = prompt_tokens + max_tokens
        flops = 2 * cost.shape.parameters * tokens + 2 * cost.shape.layers * cost.shape.width * tokens * (tokens + 1) if cost.shape else 0
        wanted = (flops, tokens, prompt_tokens * prompt_price + max_tokens * completion_price, 1)
        return all(
            self.within(limits, [have + more for have, more in zip(totals, wanted, strict=True)])
            for limits, totals in ((self.limits, self.totals[4]), (self.prompt_limits[prompt], self.totals[prompt]))
        )

    @staticmethod
    def within(limits: Limits, totals: list[int]) -> bool:
        flops, tokens, picodollars, calls = totals
        return (
            (limits.flops is None or flops <= limits.flops)
            and (limits.tokens is None or tokens <= limits.tokens)
            and (limits.usd is None or picodollars <= round(limits.usd * 1e6) * 10**6)
            and (limits.calls is None or calls <= limits.calls)
        )

    def settle(self) -> float:
        now, _, sent = heapq.heappop(self.flying)
        sent.reservation.settle(sent.actual)
        for place in (sent.prompt, 4):
            self.totals[place] = [have + more for have, more in zip(self.totals[place], sent.numbers, strict=True)]
        assert self.within(self.limits, self.totals[4])
        assert self.within(self.prompt_limits[sent.prompt], self.totals[sent.prompt])
        return now

    def run(self) -> None:
        self.send(0.0)
        while self.flying:
            self.send(self.settle())
        assert not self.wanted, "stopped while a prompt still had room"
        spent = self.ledger.spent
        assert [spent.flops, spent.tokens, round(spent.usd * 1e12), spent.calls] == self.totals[4]
        assert self.ledger.reserved == NOTHING == self.ledger.overrun


def test_a_thousand_runs_keep_their_limits_and_use_them() -> None:
    stopped_by: Counter[str] = Counter()
    most_in_flight = sent = 0
    for seed in range(RUNS):
        simulation = Simulation(seed)
        simulation.run()
        stopped_by += simulation.stopped_by
        most_in_flight, sent = max(most_in_flight, simulation.most_in_flight), sent + simulation.sent
    # The simulation reaches what it is about: every kind of limit, at both levels, with a full house in flight.
    assert set(stopped_by) == {f"{scope} {kind}" for scope in ("run", "prompt") for kind in ("flops", "tokens", "usd", "calls")}
    assert min(stopped_by.values()) >= 30
    assert most_in_flight == 64
    assert sent > 10_000
