"""What every strategy must hold. Subclass `StrategySuite`, say how to build your strategy, and run pytest."""

import math
from abc import ABC, abstractmethod
from typing import Any

import pytest

from multigraft.knowledge import Knowledge
from multigraft.randomness import Draws
from multigraft.strategies.base import Signal, State, Strategy
from multigraft.testing.strategy_driver import FAIR, Session, Weather, drive, replay
from multigraft.types import Outcome, Role

WEATHERS = {
    "fair": FAIR,
    "stormy": Weather(failing=0.3, unscored=0.2),
    "one model broken": Weather(failing=0.1, broken=frozenset({"b"})),
    "all models broken": Weather(failing=1.0),
    "nothing scored": Weather(unscored=1.0),
}
"""What calls go through, by name."""

SIZES = ((1, 1), (2, 8), (7, 1), (12, 3), (16, 32))
"""Responses wanted, and calls in flight at most."""


class StrategySuite(ABC):
    """Conformance of a strategy."""

    models = ("a", "b", "c")
    """Models the tests use; `b` is the one that breaks."""

    @abstractmethod
    def strategy(self, num_responses: int, max_parallel: int) -> Strategy[Any]:
        """Build the strategy.

        Args:
            num_responses: responses wanted for the prompt.
            max_parallel: calls in flight at most.
        """

    def expected_best(self, state: State) -> int | None:
        """Say what `best` must be: the highest reward, the earliest of equal ones. A strategy that concludes says something else."""
        scored = {call_id: reward for call_id, reward in state.rewards.items() if reward is not None}
        return max(scored, key=lambda call_id: (scored[call_id], -call_id)) if scored else None

    def run(self, size: tuple[int, int], weather: Weather, luck: int = 0, *, max_told: int = 10_000) -> Session:
        """Drive the strategy; `luck` decides what happens."""
        return drive(self.strategy(*size), self.models, Draws("suite", luck), weather=weather, max_told=max_told)

    @pytest.mark.parametrize("size", SIZES)
    def test_ends_with_as_many_responses_as_wanted(self, size: tuple[int, int]) -> None:
        """Exactly N responses when nothing fails, in exactly N calls."""
        session = self.run(size, FAIR)
        assert len(session.state.rewards) == len(session.calls) == size[0]

    @pytest.mark.parametrize("weather", WEATHERS)
    @pytest.mark.parametrize("size", SIZES)
    def test_ends_whatever_happens(self, size: tuple[int, int], weather: str) -> None:
        """Every pattern of failures and every order ends, with at most N responses. `drive` also checks that WAIT and DONE change nothing."""
        for luck in range(3):
            session = self.run(size, WEATHERS[weather], luck)
            assert not session.state.in_flight
            assert len(session.state.rewards) <= size[0]
            assert len(session.record) == len(session.calls)

    @pytest.mark.parametrize("size", SIZES)
    def test_never_more_in_flight_than_allowed(self, size: tuple[int, int]) -> None:
        """Nor than responses are missing."""
        for num_told, told in enumerate(self.run(size, WEATHERS["stormy"]).record):
            assert told.num_asked - num_told <= min(size)

    @pytest.mark.parametrize("weather", WEATHERS)
    @pytest.mark.parametrize("size", SIZES)
    def test_state_equals_the_replay_of_its_record(self, size: tuple[int, int], weather: str) -> None:
        """At the end, and after a kill at any moment: the same calls, and the same state."""
        complete = self.run(size, WEATHERS[weather], 1)
        for max_told in {1, len(complete.record) // 2, len(complete.record)}:
            live = self.run(size, WEATHERS[weather], 1, max_told=max(1, max_told))
            replayed = replay(self.strategy(*size), self.models, live.record)
            assert replayed.calls == live.calls
            assert replayed.state == live.state

    @pytest.mark.parametrize("size", SIZES)
    def test_asks_depend_on_seed_and_prompt_alone(self, size: tuple[int, int]) -> None:
        """The same seed asks the same; seeds of calls differ between runs, prompts and calls."""
        first, second = self.run(size, FAIR, 2), self.run(size, FAIR, 2)
        assert first.calls == second.calls
        other_seed = drive(self.strategy(*size), self.models, Draws("suite", 2), seed=1)
        other_prompt = drive(self.strategy(*size), self.models, Draws("suite", 2), prompt_id="q")
        seeds = [call.seed for session in (first, other_seed, other_prompt) for call in session.calls]
        assert len(set(seeds)) == len(seeds)
        assert all(0 <= seed < 2**31 for seed in seeds)

    @pytest.mark.parametrize("weather", WEATHERS)
    def test_parents_are_responses_told_before(self, weather: str) -> None:
        """A call shows distinct earlier responses, and its role says whether it does."""
        session = self.run((16, 4), WEATHERS[weather])
        for call in session.calls:
            told = {line.call_id for line in session.record if line.num_asked <= call.call_id and line.outcome.failure is None}
            assert set(call.parents) <= told
            assert len(set(call.parents)) == len(call.parents)
            assert call.model in self.models
            assert bool(call.parents) == (call.role is not Role.ANSWER)

    @pytest.mark.parametrize("weather", WEATHERS)
    def test_the_best_is_the_highest_score(self, weather: str) -> None:
        """Never a failure, and never an unscored response where rewards decide; None when nothing was scored."""
        session = self.run((16, 4), WEATHERS[weather])
        best = self.strategy(16, 4).best(session.state)
        responses = {line.call_id: line.outcome.reward for line in session.record if line.outcome.failure is None}
        assert session.state.rewards == responses
        assert best is None or best in responses
        assert best == self.expected_best(session.state)

    @pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
    def test_a_reward_that_is_not_finite_counts_as_unscored(self, reward: float) -> None:
        """It is a response all the same."""
        strategy = self.strategy(4, 1)
        state = strategy.init("p", self.models, 0)
        for value in (reward, -5.0, reward, reward):
            call = strategy.ask(state)
            assert not isinstance(call, Signal)
            strategy.tell(state, call.call_id, Outcome(value), Knowledge())
        assert state.rewards == {0: None, 1: -5.0, 2: None, 3: None}
        assert strategy.best(state) == self.expected_best(state)

    def test_telling_twice_or_what_was_never_asked_is_refused(self) -> None:
        """Such a mistake of the caller raises KeyError and changes nothing."""
        strategy = self.strategy(4, 1)
        state = strategy.init("p", self.models, 0)
        strategy.ask(state)
        with pytest.raises(KeyError):
            strategy.tell(state, 1, Outcome(1.0), Knowledge())
        strategy.tell(state, 0, Outcome(1.0), Knowledge())
        with pytest.raises(KeyError):
            strategy.tell(state, 0, Outcome(2.0), Knowledge())
        assert state.rewards == {0: 1.0}

    def test_models_must_be_distinct_and_at_least_one(self) -> None:
        """Both are refused when a prompt starts."""
        for models in ((), ("a", "a")):
            with pytest.raises(ValueError, match="distinct"):
                self.strategy(4, 1).init("p", models, 0)
