"""Random runs through the real engine, under random limits: none is ever exceeded, and none stops with room for the next call."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.engine.virtual_run import VirtualRun, prompts_of, virtually

from multigraft.budget.amount import NOTHING, Amount, Limits
from multigraft.budget.cost import ModelCost, prompt_tokens_bound
from multigraft.budget.flops import ModelShape
from multigraft.budget.ledger import Ledger
from multigraft.budget.price import Price
from multigraft.budget.shortage import Shortage
from multigraft.engine.purchases import Bought, Purchases, Sending
from multigraft.strategies.table import strategy_from
from multigraft.types import Ask, Candidate, Completion, Failure, FailureKind, Finish, Message, Prompt, Request, Sample, Sampling, Score, Usage

COSTS = {
    "m0": ModelCost(ModelShape(10**9, 16, 2048), Price(usd_per_million_prompt=0.02, usd_per_million_completion=0.05)),
    "m1": ModelCost(ModelShape(8 * 10**9, 32, 4096), Price(usd_per_million_prompt=0.18, usd_per_million_completion=0.6)),
    "judge": ModelCost(ModelShape(3 * 10**9, 28, 3072), Price(usd_per_million_prompt=0.06, usd_per_million_completion=0.12)),
}
KINDS = ("flops", "tokens", "usd", "calls")


@dataclass
class Bill:
    """What the servers really did, counted by themselves in whole numbers: FLOPs, tokens, picodollars, calls."""

    run: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    prompts: dict[str, list[int]] = field(default_factory=dict)
    failed_calls: int = 0
    judge_calls: int = 0

    def add(self, name: str, prompt: str, prompt_tokens: int, completion_tokens: Sequence[int]) -> None:
        shape, price = COSTS[name].shape, COSTS[name].price
        assert shape is not None
        assert price is not None
        flops = 0
        for tokens in completion_tokens:
            whole = prompt_tokens + tokens
            flops += 2 * shape.parameters * whole + 2 * shape.layers * shape.width * whole * (whole + 1)
        reading = 2 * shape.parameters * prompt_tokens + 2 * shape.layers * shape.width * prompt_tokens * (prompt_tokens + 1)
        flops -= (len(completion_tokens) - 1) * reading  # samples of one request share their reading
        picodollars = prompt_tokens * round(price.usd_per_million_prompt * 1e6) + sum(completion_tokens) * round(price.usd_per_million_completion * 1e6)
        for totals in (self.run, self.prompts.setdefault(prompt, [0, 0, 0, 0])):
            for place, more in enumerate((flops, prompt_tokens + sum(completion_tokens), picodollars, 1)):
                totals[place] += more


class Metered:
    """A model of random sizes, waits and failures, which counts what it does."""

    def __init__(self, name: str, random: Random, bill: Bill, failing: float) -> None:
        self.name = name
        self.random, self.bill, self.failing = random, bill, failing
        self.in_flight = self.most_in_flight = 0

    async def generate(self, request: Request) -> Sequence[Sample]:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(self.random.expovariate(2.0))
        self.in_flight -= 1
        prompt = request.messages[-1].content.split("word")[1].split(" ")[0]
        most = prompt_tokens_bound(request.messages)
        prompt_tokens = self.random.randint(1, most)
        samples = len(request.seeds)
        if self.random.random() < self.failing:
            self.bill.failed_calls += 1
            return self._failed(f"p{prompt}", prompt_tokens, samples, request.sampling.max_tokens)
        sizes = [self.random.randint(1, request.sampling.max_tokens) for _ in range(samples)]
        self.bill.add(self.name, f"p{prompt}", prompt_tokens, sizes)
        usages = [Usage(prompt_tokens if index == 0 else 0, size, context_tokens=prompt_tokens) for index, size in enumerate(sizes)]
        return [Completion(f"word{prompt} says {self.name} {seed}", Finish.STOP, usage) for seed, usage in zip(request.seeds, usages, strict=True)]

    def _failed(self, prompt: str, prompt_tokens: int, samples: int, max_tokens: int) -> list[Sample]:
        if self.random.random() < 0.5:  # lost on its way back: the server did all of it
            self.bill.add(self.name, prompt, prompt_tokens, [self.random.randint(0, max_tokens) for _ in range(samples)])
            return [Failure(FailureKind.TIMEOUT, "lost", retryable=True, possibly_billed=True)] * samples
        self.bill.add(self.name, prompt, 0, [0] * samples)
        return [Failure(FailureKind.SERVER, "down for a moment", retryable=self.random.random() < 0.7)] * samples


class Judged:
    """A reward that asks a model, through the run's budget."""

    name, version, max_batch = "judged", "1", 1

    def __init__(self, ask: Ask, random: Random, bill: Bill) -> None:
        self.ask, self.random, self.bill = ask, random, bill

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        (candidate,) = candidates
        text = f"Is it good? {candidate.completion.text}"
        sample = await self.ask(candidate, Request((Message("user", text),), Sampling(max_tokens=4), (candidate.call.seed,)))
        if isinstance(sample, Failure):
            return [Score(None, sample.kind, sample.message)]
        self.bill.judge_calls += 1
        return [Score(self.random.random())]


class Watched(Purchases):
    """Purchases that remember every request the budget turned away."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.turned_away: list[tuple[Ledger, Amount]] = []

    async def buy(self, ledger: Ledger, model: str, request: Request, sending: Sending | None = None) -> Bought | Shortage:
        bought = await super().buy(ledger, model, request, sending)
        if isinstance(bought, Shortage):
            self.turned_away.append((ledger, self.bound(model, request)))
        return bought


def within(limits: Limits, totals: Sequence[int], more: Amount = NOTHING) -> bool:
    flops, tokens, picodollars, calls = totals
    return (
        (limits.flops is None or flops + more.flops <= limits.flops)
        and (limits.tokens is None or tokens + more.tokens <= limits.tokens)
        and (limits.usd is None or picodollars + round(more.usd * 1e12) <= round(limits.usd * 1e12))
        and (limits.calls is None or calls + more.calls <= limits.calls)
    )


def drawn_limits(random: Random, scale: float) -> Limits:
    """Limits of one to four kinds, near `scale` middling calls."""
    size = random.uniform(0.3, 1.5) * scale
    every = {"flops": int(6e12 * size), "tokens": int(400 * size), "usd": round(1e-4 * size, 6), "calls": int(size) + 1}
    chosen = random.sample(KINDS, random.randint(1, 4))
    return Limits(**{kind: every[kind] for kind in chosen})  # type: ignore[arg-type]  # whole numbers where they are due


@dataclass
class Seen:
    """What many runs showed."""

    runs: int = 0
    calls: int = 0
    failed_calls: int = 0
    judge_calls: int = 0
    turned_away: int = 0
    most_in_flight: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def one_run(seed: int, seen: Seen) -> None:
    """Make one random run, and hold its totals against its limits."""
    random, bill = Random(seed), Bill()
    limits = drawn_limits(random, random.choice([3, 15, 60]))
    prompt_limits = drawn_limits(random, random.choice([2, 8])) if random.random() < 0.5 else Limits()
    name = random.choice(["parallel", "random", "toa", "moa", "sequential"])
    strategy = strategy_from(name, {"num_responses": random.randint(1, 12), "max_parallel": random.choice([1, 4, 16])})
    failing = random.choice([0.0, 0.1, 0.4])
    models = [Metered(model, random, bill, failing) for model in ("m0", "m1")]
    run = VirtualRun(
        strategy=strategy,
        models=models,
        judges=[judge := Metered("judge", random, bill, failing)],
        reward_of=lambda purchases: Judged(purchases.ask_of("judge", "judged"), random, bill),
        costs=COSTS,
        limits=limits,
        prompt_limits=prompt_limits,
        max_tokens=random.randint(1, 200),
        max_in_flight=random.choice([1, 8, 64]),
        prompts_in_flight=random.choice([1, 4, 16]),
        together=random.random() < 0.3,
        seed=seed,
        purchases_class=Watched,
    )
    prompts: list[Prompt] = prompts_of(random.randint(1, 16), words=lambda _: random.randint(1, 30))
    virtually(lambda: run.run(prompts))
    watched = run.purchases
    assert isinstance(watched, Watched)
    seen.runs += 1
    seen.calls += bill.run[3]
    seen.failed_calls += bill.failed_calls
    seen.judge_calls += bill.judge_calls
    seen.turned_away += len(watched.turned_away)
    seen.most_in_flight = max(seen.most_in_flight, judge.most_in_flight + sum(model.most_in_flight for model in models))
    seen.ended.update(run.campaign.tally.ends)
    seen.wrong += [f"run {seed}: {problem}" for problem in problems(run, watched, bill, limits, prompt_limits)]


def problems(run: VirtualRun, watched: Watched, bill: Bill, limits: Limits, prompt_limits: Limits) -> list[str]:
    """What does not hold of a run that has ended."""
    found = []
    if not within(limits, bill.run):
        found.append(f"{bill.run} exceeds {limits}")
    found += [f"{prompt}: {totals} exceeds {prompt_limits}" for prompt, totals in bill.prompts.items() if not within(prompt_limits, totals)]
    ledger = watched.ledger
    if ledger.reserved != NOTHING or ledger.overrun != NOTHING:
        found.append(f"left over: {ledger.reserved}, {ledger.overrun}")
    booked = whole(ledger.spent)
    if any(real > charged for real, charged in zip(bill.run, booked, strict=True)) or bill.run[3] != booked[3]:
        found.append(f"booked {booked}, real {bill.run}")
    # With nothing in flight any more, what was turned away must still not fit, in the run or in its prompt.
    for of_prompt, bound in watched.turned_away:
        if within(limits, booked, bound) and within(prompt_limits, whole(of_prompt.spent), bound):
            found.append(f"{bound} was turned away, and there is room")
    if run.campaign.tally.ends.get("budget", 0) and not watched.turned_away:
        found.append("ended for want of budget, and nothing was turned away")
    return found


def whole(spent: Amount) -> list[int]:
    """An amount in whole numbers: FLOPs, tokens, picodollars, calls."""
    return [int(spent.flops), spent.tokens, round(spent.usd * 1e12), spent.calls]


def many_runs(count: int) -> Seen:
    """Make so many random runs."""
    seen = Seen()
    for seed in range(count):
        one_run(seed, seen)
    return seen
