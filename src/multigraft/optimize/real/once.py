"""Every call of a search goes through here, and each is paid once: whatever graph, split, method or scorer asks for the same gets the same."""

import asyncio
from hashlib import blake2b
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

import orjson

from multigraft.budget.amount import NOTHING, Amount
from multigraft.budget.shortage import Shortage
from multigraft.engine.halt import UNSENT, is_down
from multigraft.engine.purchases import Purchases
from multigraft.optimize.real.store import Store
from multigraft.types import Ask, Candidate, Completion, FailureKind, Request, Sample

OWN_DOING: Final = frozenset({FailureKind.NO_ANSWER, FailureKind.REFUSED, FailureKind.CONTEXT, FailureKind.PROMPT_TRUNCATED})
"""Failures that say something of a model or graph, and not of a server."""


class Asked(NamedTuple):
    """What came of a question."""

    sample: Sample
    """`UNSENT` where the search stopped before it was answered."""
    digest: str
    """Of what was asked."""
    spent: Amount = NOTHING
    """Paid now; nothing for what was known."""


class Once:
    """Buys samples, unless they are there.

    Args:
        purchases: where they are bought.
        store: where they are kept; may be given later, before the first question.
    """

    def __init__(self, purchases: Purchases, store: Store | None = None) -> None:
        self.purchases = purchases
        self.kept_in = store
        self.known = 0
        """Questions answered from the store in this process."""
        self.out_of_money = False
        """Whether a limit of spending stopped the search."""
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By digest: who asks what is being asked waits for the answer."""

    @property
    def store(self) -> Store:
        """Where samples are kept.

        Raises:
            RuntimeError: none was given.
        """
        if self.kept_in is None:
            message = "nothing can be asked before there is a store"
            raise RuntimeError(message)
        return self.kept_in

    async def sample(self, model: str, request: Request, *, apart: bool = False) -> Asked:
        """Ask a model for one sample.

        Args:
            model: its name.
            request: with one seed.
            apart: whether the optimiser model's account pays.

        Returns:
            The sample, on disk. A lack of money, or a model that takes no calls at all, stops the search.

        Raises:
            RecordError: nothing can be recorded any more.
        """
        digest = digest_of(model, request)
        async with self.locked(digest):
            known = self.store.output(digest)
            if known is not None:
                self.known += 1
                return Asked(known, digest)
            return await self._bought(model, request, digest, apart=apart)

    def locked(self, key: str) -> asyncio.Lock:
        """Return a lock of whoever asks for the same."""
        return self._asking.setdefault(key, asyncio.Lock())

    def ask_of(self, model: str, scorer: str) -> Ask:
        """Return what a judge calls to reach its chat model.

        Args:
            model: name of the chat model.
            scorer: name of the judge; what two of them ask in the same words is paid once.
        """
        del scorer

        async def ask(candidate: Candidate, request: Request) -> Sample:
            del candidate
            return (await self.sample(model, request)).sample

        return ask

    async def _bought(self, model: str, request: Request, digest: str, *, apart: bool) -> Asked:
        purchases, store = self.purchases, self.store
        if purchases.halt.stopped:
            return Asked(UNSENT, digest)
        sent: list[int] = []

        async def sending(bound: Amount) -> None:
            sent.append(store.note_sent(digest, model, bound, apart=apart))
            await store.durable()

        bought = await purchases.buy(purchases.ledger_apart if apart else purchases.ledger, model, request, sending)
        if isinstance(bought, Shortage):
            self.out_of_money = True
            purchases.halt.stop(str(bought))
            return Asked(UNSENT, digest)
        sample, spent = bought.samples[0], bought.spent[0]
        if is_down(sample):
            # The search would go on without the model, and end elsewhere than it should: with the cause mended it is asked again.
            purchases.halt.stop(f"the model '{model}' takes no calls: {sample.message}" if not isinstance(sample, Completion) else "")
            sample = UNSENT
        if sent:
            store.keep_output(sent[0], digest, model, sample, spent, apart=apart, lasting=_lasts(sample))
            await store.durable()
        return Asked(sample, digest, spent)


def digest_of(model: str, request: Request) -> str:
    """Hash all that an answer depends on: the model, the exact messages, how it samples, the seed, and the form of the answer."""
    return blake2b(orjson.dumps([model, request]), digest_size=16).hexdigest()


def _lasts(sample: Sample) -> bool:
    return isinstance(sample, Completion) or sample.kind in OWN_DOING or not (sample.retryable or sample is UNSENT)
