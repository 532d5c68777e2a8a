"""Every paid call goes through here: reserve its upper bound, send it, settle what it cost, and try again where that may help.

The one loop of retries in the project. Each attempt is reserved and settled on its own, so that a limit holds however often a call is repeated.
"""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TypeAlias
from weakref import WeakValueDictionary

import orjson

from multigraft.budget.amount import NO_LIMITS, NOTHING, Amount
from multigraft.budget.cost import ModelCost, prompt_tokens_bound
from multigraft.budget.ledger import Ledger, Reservation
from multigraft.budget.shortage import Shortage
from multigraft.engine.entry import Entry
from multigraft.engine.halt import UNSENT, Halt
from multigraft.records.log import RunLog
from multigraft.records.rows import JudgingRow, ReplyRow
from multigraft.types import Ask, Candidate, Completion, Failure, FailureKind, Model, Request, Sample, Usage
from multigraft.wire.retry import RetryPolicy, delay_s

Sending: TypeAlias = Callable[[Amount], Awaitable[None]]
"""Called with what is reserved, just before the first attempt is sent."""
_EVERYWHERE: AbstractAsyncContextManager[None] = nullcontext()


@dataclass(frozen=True, slots=True)
class Bought:
    """What came of one request, after all attempts."""

    samples: tuple[Sample, ...]
    """One for each seed of the request."""
    spent: tuple[Amount, ...]
    """What each sample cost, failed attempts included; together what was charged."""
    attempts: tuple[FailureKind, ...]
    """Kinds of the failed attempts that were repeated."""


class Purchases:
    """Buys samples for the prompts of one run.

    Args:
        models: by name; judges included.
        costs: what each model costs, by name.
        ledger: the run's.
        retry: when a failed attempt is repeated.
        halt: the run's stop; after it nothing is sent.
        places: requests each model works on at once, by name. More wait here, where they cost nothing yet and a stop still finds them.
        max_in_flight: requests of the run under way at once at most; None: no limit but the models' own.
    """

    def __init__(
        self,
        *,
        models: Mapping[str, Model],
        costs: Mapping[str, ModelCost],
        ledger: Ledger,
        retry: RetryPolicy,
        halt: Halt,
        places: Mapping[str, int],
        max_in_flight: int | None = None,
    ) -> None:
        self.ledger = ledger
        self.ledger_apart = Ledger(NO_LIMITS)
        """Pays the judges that the search does not see."""
        self.halt = halt
        self._models, self._costs, self._retry = models, costs, retry
        self.log: RunLog | None = None
        """Where calls of judges and their replies are noted; None: nowhere, for trying things out."""
        self._prompts: dict[str, tuple[Entry, Ledger]] = {}
        self._asking: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        """By prompt and digest: who asks what is being asked waits for the reply, so that it is paid once."""
        self._room = asyncio.Event()
        self._places = {name: asyncio.Semaphore(count) for name, count in places.items()}
        self._everywhere: AbstractAsyncContextManager[None] = asyncio.Semaphore(max_in_flight) if max_in_flight else _EVERYWHERE

    def open(self, entry: Entry, ledger: Ledger) -> None:
        """Begin to charge a prompt's calls to its own ledger, a child of the run's."""
        self._prompts[entry.prompt.prompt_id] = entry, ledger

    def close(self, prompt_id: str) -> None:
        """Forget a finished prompt."""
        self._prompts.pop(prompt_id, None)

    def bound(self, model: str, request: Request) -> Amount:
        """Return the most that one attempt of the request can cost."""
        return self._costs[model].bound_of(request, requests=len(request.seeds))

    async def buy(self, ledger: Ledger, model: str, request: Request, sending: Sending | None = None) -> Bought | Shortage:
        """Sample from a model, with retries.

        Args:
            ledger: pays.
            model: name of a model.
            request: what to ask.
            sending: called just before the first attempt is sent.

        Returns:
            What came of it, `UNSENT` where the run stopped before a sample was asked for or asked for again; or, when the budget has no room for the first
            attempt and never will have, why.
        """
        samples: list[Sample | None] = [None] * len(request.seeds)
        spent = [NOTHING] * len(samples)
        attempts: list[FailureKind] = []
        missing = list(range(len(samples)))
        started = time.monotonic()
        for attempt in itertools.count(1):
            asked = replace(request, seeds=tuple(request.seeds[index] for index in missing)) if attempts else request
            bought = await self._attempt(ledger, model, asked, sending if not attempts else None)
            if isinstance(bought, Shortage):
                if not attempts:
                    return bought
                break
            for index, sample, cost in zip(missing, *bought, strict=True):
                samples[index] = sample
                spent[index] = spent[index].plus(cost)
            wait_s, repeated = self._again(attempt, time.monotonic() - started, [(index, samples[index], request.seeds[index]) for index in missing])
            if wait_s is None:
                break
            missing = [index for index, _ in repeated]
            attempts.extend(failure.kind for _, failure in repeated)
            await self.halt.pause(wait_s)
            if self.halt.stopped:
                for index in missing:
                    samples[index] = UNSENT
                break
        return Bought(tuple(sample for sample in samples if sample is not None), tuple(spent), tuple(attempts))

    def _again(self, attempt: int, elapsed_s: float, samples: Sequence[tuple[int, Sample | None, int]]) -> tuple[float | None, list[tuple[int, Failure]]]:
        waits = []
        for index, sample, seed in samples:
            if isinstance(sample, Failure) and sample is not UNSENT:
                wait_s = delay_s(self._retry, attempt, sample, elapsed_s=elapsed_s, key=(seed,))
                if wait_s is not None:
                    waits.append((wait_s, index, sample))
        if not waits:
            return None, []
        return max(wait_s for wait_s, _, _ in waits), [(index, failure) for _, index, failure in waits]

    def ledger_of(self, prompt_id: str) -> Ledger:
        """Return what an opened prompt's calls are charged to; the run's own ledger for any other."""
        return self._prompts[prompt_id][1] if prompt_id in self._prompts else self.ledger

    def ask_of(self, model: str, scorer: str, *, apart: bool = False) -> Ask:
        """Return what a judge calls to reach its chat model. What was asked and answered before, by the same scorer of the same prompt, is not bought again.

        Args:
            model: name of the chat model.
            scorer: name of the judge; several may share a model.
            apart: the search does not see this judge, and the run's budget does not pay it.
        """

        async def ask(candidate: Candidate, request: Request) -> Sample:
            prompt_id, digest = candidate.prompt.prompt_id, _digest(scorer, model, request)
            async with self._asking.setdefault((prompt_id, digest), asyncio.Lock()):
                return await bought_or_known(candidate, request, digest)

        async def bought_or_known(candidate: Candidate, request: Request, digest: str) -> Sample:
            prompt_id, call_id = candidate.prompt.prompt_id, candidate.call.call_id
            entry = self._prompts[prompt_id][0] if prompt_id in self._prompts else None
            if entry is not None and digest in entry.replies:
                return entry.replies[digest]

            async def sending(bound: Amount) -> None:
                if entry is not None and self.log is not None:
                    self.log.append(JudgingRow(entry.enter(self.log), call_id, scorer, digest, bound, apart))
                    await self.log.durable()

            bought = await self.buy(self.ledger_apart if apart else self.ledger_of(prompt_id), model, request, sending)
            if isinstance(bought, Shortage):
                return Failure(FailureKind.BUDGET, str(bought))
            sample = bought.samples[0]
            self.halt.untold(model, sample)
            if entry is not None and self.log is not None and sample is not UNSENT:
                self.log.append(ReplyRow(entry.enter(self.log), call_id, scorer, digest, sample, bought.spent[0], apart))
                await self.log.durable()
                if isinstance(sample, Completion):
                    entry.replies[digest] = sample
            return sample

        return ask

    async def _attempt(self, ledger: Ledger, model: str, request: Request, sending: Sending | None) -> tuple[Sequence[Sample], Sequence[Amount]] | Shortage:
        async with self._places.get(model, _EVERYWHERE), self._everywhere:
            reservation = await self._reserve(ledger, self.bound(model, request))
            if isinstance(reservation, Shortage):
                return reservation
            charged = NOTHING
            try:
                if self.halt.stopped:
                    return [UNSENT] * len(request.seeds), [NOTHING] * len(request.seeds)
                if sending:
                    await sending(reservation.amount)
                charged = reservation.amount  # should the task be cancelled in mid-air: the fate of the call is unknown
                samples = await self._models[model].generate(request)
                costs = self._settled(model, request, samples)
                charged = NOTHING
                for cost in costs:
                    charged = charged.plus(cost)
            finally:
                reservation.settle(charged)
                self._room.set()
            return samples, costs

    def _settled(self, model: str, request: Request, samples: Sequence[Sample]) -> Sequence[Amount]:
        cost = self._costs[model]
        unsent = all(isinstance(sample, Failure) and sample.kind is FailureKind.UNAVAILABLE for sample in samples)
        if unsent:
            return [NOTHING] * len(samples)
        usages = [_usage(cost, request, sample, first=index == 0) for index, sample in enumerate(samples)]
        return cost.shares(usages, requests=max(1, sum(usage.prompt_tokens > 0 for usage in usages)))

    async def _reserve(self, ledger: Ledger, bound: Amount) -> Reservation | Shortage:
        while True:
            reservation = ledger.reserve(bound)
            if isinstance(reservation, Reservation) or not reservation.waits:
                return reservation
            self._room.clear()
            await self._room.wait()


def _usage(cost: ModelCost, request: Request, sample: Sample, *, first: bool) -> Usage:
    if isinstance(sample, Completion) or not sample.possibly_billed:
        return sample.usage
    prompt_tokens = prompt_tokens_bound(request.messages, message_tokens=cost.message_tokens, template_tokens=cost.template_tokens)
    return Usage(prompt_tokens if first else 0, request.sampling.max_tokens, context_tokens=prompt_tokens, estimated=True)


def _digest(scorer: str, model: str, request: Request) -> str:
    return blake2b(orjson.dumps([scorer, model, request]), digest_size=12).hexdigest()
