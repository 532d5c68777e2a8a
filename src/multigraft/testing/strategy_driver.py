"""Runs a strategy without an engine: any order of completion, any failures, and the record of it all."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from multigraft.knowledge import REWARD, Knowledge
from multigraft.strategies.base import DONE, WAIT, Signal, State, Strategy
from multigraft.types import Call, FailureKind, Outcome


class Chance(Protocol):
    """Where the driver takes its decisions from; `randomness.Draws` is one."""

    def below(self, bound: int) -> int:
        """Draw an integer in [0, bound)."""
        ...

    def uniform(self) -> float:
        """Draw a float in [0, 1)."""
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """One line of a record."""

    call_id: int
    outcome: Outcome
    num_asked: int
    """Calls asked before this outcome was told."""


@dataclass(slots=True)
class Session:
    """One prompt, driven: what was asked, what was told, and the state after it."""

    state: State
    calls: list[Call] = field(default_factory=list)
    record: list[Told] = field(default_factory=list)
    knowledge: Knowledge = field(default_factory=Knowledge)


@dataclass(frozen=True, kw_only=True)
class Weather:
    """What happens to calls.

    Args:
        failing: probability that a call fails; [0, 1].
        unscored: probability that a response is not scored; [0, 1].
        broken: models whose every call fails.
    """

    failing: float = 0.0
    unscored: float = 0.0
    broken: frozenset[str] = frozenset()

    def outcome(self, call: Call, chance: Chance) -> Outcome:
        """Make up what comes of a call."""
        cost = 0.5 + chance.uniform()
        if call.model in self.broken or chance.uniform() < self.failing:
            return Outcome(failure=FailureKind.SERVER, cost=cost)
        return Outcome(None if chance.uniform() < self.unscored else round(4.0 * chance.uniform() - 2.0, 1), cost=cost)


FAIR = Weather()


def drive(
    strategy: Strategy[Any], models: Sequence[str], chance: Chance, *, weather: Weather = FAIR, seed: int = 0, max_told: int = 10_000, prompt_id: str = "p"
) -> Session:
    """Run a strategy to its end, or until `max_told` outcomes were told, telling calls in flight in any order.

    Args:
        strategy: the strategy.
        models: names of the models.
        chance: decides which call ends next and what comes of it.
        weather: what happens to calls.
        seed: the seed of the run.
        max_told: stop right after this many outcomes.
        prompt_id: identity of the prompt.

    Returns:
        The session; its state is that right after the last tell.

    Raises:
        AssertionError: `WAIT` or `DONE` changed the state, `WAIT` came with nothing in flight, or `DONE` with something in flight.
    """
    session = Session(strategy.init(prompt_id, models, seed))
    in_flight: list[int] = []
    while len(session.record) < max_told:
        signal = _ask_all(strategy, session, in_flight)
        if signal is DONE:
            assert not in_flight, "DONE while calls are in flight"
            break
        assert in_flight, "WAIT while nothing is in flight"
        call_id = in_flight.pop(chance.below(len(in_flight)))
        told = Told(call_id, weather.outcome(session.calls[call_id], chance), len(session.calls))
        session.record.append(told)
        _tell(strategy, session.state, session.knowledge, told)
    return session


def replay(strategy: Strategy[Any], models: Sequence[str], record: Sequence[Told], *, seed: int = 0, prompt_id: str = "p") -> Session:
    """Rebuild a session from its record, asking only as often as calls were asked.

    Raises:
        AssertionError: the strategy asks for fewer calls than it did.
    """
    session = Session(strategy.init(prompt_id, models, seed), record=list(record))
    for told in record:
        while len(session.calls) < told.num_asked:
            call = strategy.ask(session.state)
            assert not isinstance(call, Signal), f"{call} where call {len(session.calls)} was asked"
            session.calls.append(call)
        _tell(strategy, session.state, session.knowledge, told)
    return session


def _ask_all(strategy: Strategy[Any], session: Session, in_flight: list[int]) -> Signal:
    while True:
        before = copy.deepcopy(session.state)
        call = strategy.ask(session.state)
        if isinstance(call, Signal):
            assert session.state == before, f"{call} changed the state"
            assert strategy.ask(session.state) is call, f"asked again, {call} became something else"
            assert call in {WAIT, DONE}
            return call
        assert call.call_id == len(session.calls), "call ids must count up from 0"
        session.calls.append(call)
        in_flight.append(call.call_id)


def _tell(strategy: Strategy[Any], state: State, knowledge: Knowledge, told: Told) -> None:
    if told.outcome.reward is not None:
        knowledge.add(REWARD, told.outcome.reward)
    strategy.tell(state, told.call_id, told.outcome, knowledge)
