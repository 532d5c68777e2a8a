"""The conformance suite fails strategies that break the contract."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from multigraft.strategies.base import Plan, PlannedStrategy, State
from multigraft.strategies.parallel import Parallel
from multigraft.strategies.random_sampling import RandomSampling
from multigraft.strategies.staged import StagedState
from multigraft.testing.strategy_driver import FAIR
from multigraft.testing.strategy_suite import WEATHERS, StrategySuite


@dataclass(frozen=True, kw_only=True)
class Restless(Parallel):
    """Changes its state when there is nothing to ask."""

    def plan(self, state: StagedState) -> Plan | None:
        if not state.ready:
            state.num_asked["a"] += 1
        return super().plan(state)


@dataclass(frozen=True, kw_only=True)
class Forgetful(RandomSampling):
    """Keeps part of its state outside the state."""

    asked_ever: Any = field(default_factory=count)

    def plan(self, state: StagedState) -> Plan | None:
        plan = super().plan(state)
        return plan and plan._replace(model="abc"[next(self.asked_ever) % 3])


@dataclass(frozen=True, kw_only=True)
class Stingy(RandomSampling):
    """Ends one response early."""

    def plan(self, state: StagedState) -> Plan | None:
        return None if len(state.calls) == self.num_responses - 1 else super().plan(state)


@dataclass(frozen=True, kw_only=True)
class Fond(RandomSampling):
    """Takes the first response for the best."""

    def best(self, state: State) -> int | None:
        return next(iter(state.rewards), None)


class SuiteOf(StrategySuite):
    def __init__(self, strategy_class: type[PlannedStrategy[Any]]) -> None:
        self.strategy_class = strategy_class

    def strategy(self, num_responses: int, max_parallel: int) -> PlannedStrategy[Any]:
        return self.strategy_class(num_responses=num_responses, max_parallel=max_parallel)


def test_a_state_that_changes_on_wait_is_caught() -> None:
    with pytest.raises(AssertionError, match="changed the state"):
        SuiteOf(Restless).run((12, 3), FAIR)


def test_state_kept_elsewhere_is_caught() -> None:
    suite = SuiteOf(Forgetful)
    shared = Forgetful(num_responses=16, max_parallel=4)
    suite.strategy = lambda num_responses, max_parallel: shared  # type: ignore[method-assign]  # one object for both, as an engine would have it
    with pytest.raises(AssertionError):
        suite.test_state_equals_the_replay_of_its_record((16, 4), "fair")


def test_too_few_responses_are_caught() -> None:
    with pytest.raises(AssertionError):
        SuiteOf(Stingy).test_ends_with_as_many_responses_as_wanted((12, 3))


def test_a_wrong_best_is_caught() -> None:
    assert "fair" in WEATHERS
    with pytest.raises(AssertionError):
        SuiteOf(Fond).test_the_best_is_the_highest_score("fair")
