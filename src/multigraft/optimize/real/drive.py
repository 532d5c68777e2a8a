"""Whoever answers a search: with real models, or with anything else that can evaluate and reply."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

import orjson

from multigraft.engine.halt import UNSENT
from multigraft.engine.step import Contestant
from multigraft.optimize.problem import Consult, Evaluate, Evaluation, Reply, Run
from multigraft.optimize.real.evaluator import Evaluator
from multigraft.optimize.real.once import Once
from multigraft.randomness import seed_of
from multigraft.types import Completion, Message, Request

Result = TypeVar("Result")


class Answering(Protocol):
    """Runs graphs, and asks an optimiser model. None: it was stopped."""

    async def evaluate(self, runs: Sequence[Run]) -> tuple[Evaluation, ...] | None:
        """Run graphs on questions; an evaluation each, in order."""
        ...

    async def consult(self, consult: Consult) -> Reply | None:
        """Ask the optimiser model."""
        ...


async def drive(search: Generator[Evaluate | Consult, Any, Result] | Generator[Evaluate, Any, Result], answering: Answering) -> Result | None:
    """Answer a search until it ends.

    Args:
        search: not started yet. The same answers always lead it the same way, so it is resumed by starting it again where known answers cost nothing.
        answering: answers it.

    Returns:
        What it found; None where it was stopped.
    """
    try:
        step = next(search)
        while True:
            answer = await answering.evaluate(step.runs) if isinstance(step, Evaluate) else await answering.consult(step)
            if answer is None:
                return None
            step = search.send(answer)
    except StopIteration as end:
        result: Result = end.value
        return result
    finally:
        search.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimiser:
    """The model that a method consults.

    Args:
        model: its name.
        contestant: how it samples.
        once: buys its replies, on an account of their own.
        seed: of the search.
    """

    model: str
    contestant: Contestant
    once: Once
    seed: int

    async def consult(self, consult: Consult) -> Reply | None:
        """Return its reply; what a method was told before it is told again, also that there was none. None: the search was stopped."""
        told = orjson.dumps([self.model, consult.messages, consult.json_schema, consult.attempt])
        digest = blake2b(told, digest_size=16).hexdigest()
        store = self.once.store
        if (known := store.consult(digest)) is not None:
            return known
        messages, system = consult.messages, self.contestant.system
        if system is not None and all(message.role != "system" for message in messages):
            messages = (Message("system", system), *messages)
        request = Request(messages, self.contestant.sampling, (seed_of(self.seed, "optimiser", digest),), consult.json_schema)
        asked = await self.once.sample(self.model, request, apart=True)
        if asked.sample is UNSENT:
            return None
        sample = asked.sample
        reply = Reply(sample.text, None, asked.spent) if isinstance(sample, Completion) else Reply(None, sample.kind, asked.spent)
        store.keep_consult(digest, reply)
        await store.durable()
        return reply


@dataclass(frozen=True, slots=True)
class RealModels:
    """Answers a search with real models."""

    evaluator: Evaluator
    optimiser: Optimiser | None
    """None: the method asks none."""

    async def evaluate(self, runs: Sequence[Run]) -> tuple[Evaluation, ...] | None:
        """Run graphs on questions."""
        return await self.evaluator.evaluate(runs)

    async def consult(self, consult: Consult) -> Reply | None:
        """Ask the optimiser model."""
        if self.optimiser is None:
            message = "the method consults an optimiser model, and there is none"
            raise RuntimeError(message)
        return await self.optimiser.consult(consult)
