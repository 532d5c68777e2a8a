from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.randomness import Draws
from multigraft.strategies.base import PlannedStrategy
from multigraft.strategies.table import STRATEGIES, strategy_from
from multigraft.testing.strategy_driver import Weather, drive, replay
from multigraft.testing.strategy_suite import StrategySuite


class TestRandom(StrategySuite):
    def strategy(self, num_responses: int, max_parallel: int) -> PlannedStrategy[Any]:
        return strategy_from("random", {"num_responses": num_responses, "max_parallel": max_parallel})


class TestPrs(StrategySuite):
    def strategy(self, num_responses: int, max_parallel: int) -> PlannedStrategy[Any]:
        return strategy_from("prs", {"num_responses": num_responses, "max_parallel": max_parallel})


class TestParallel(StrategySuite):
    def strategy(self, num_responses: int, max_parallel: int) -> PlannedStrategy[Any]:
        return strategy_from("parallel", {"num_responses": num_responses, "max_parallel": max_parallel})


class TestSequential(StrategySuite):
    def strategy(self, num_responses: int, max_parallel: int) -> PlannedStrategy[Any]:
        return strategy_from("sequential", {"num_responses": num_responses, "max_parallel": max_parallel})


class TestMoa(StrategySuite):
    def strategy(self, num_responses: int, max_parallel: int) -> PlannedStrategy[Any]:
        return strategy_from("moa", {"num_responses": num_responses, "max_parallel": max_parallel, "num_layers": 2, "num_aggregation": 2})


class TestToa(StrategySuite):
    def strategy(self, num_responses: int, max_parallel: int) -> PlannedStrategy[Any]:
        return strategy_from("toa", {"num_responses": num_responses, "max_parallel": max_parallel})


class TestToaExploring(StrategySuite):
    def strategy(self, num_responses: int, max_parallel: int) -> PlannedStrategy[Any]:
        options = {"tau": 0.5, "alpha": 1, "width": 2, "topk": 2, "cost_weight": 1}
        return strategy_from("toa", {"num_responses": num_responses, "max_parallel": max_parallel, **options})


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "graph"])  # which has tests of its own
@settings(deadline=None, max_examples=25)
@given(
    num_responses=st.integers(1, 24),
    max_parallel=st.integers(1, 24),
    max_failures=st.integers(1, 4),
    num_models=st.integers(1, 5),
    failing=st.sampled_from([0.0, 0.2, 0.7, 1.0]),
    unscored=st.sampled_from([0.0, 0.5, 1.0]),
    luck=st.integers(0, 2**32),
    kill=st.floats(0, 1),
)
def test_any_order_and_any_failures_end_and_replay(
    *, name: str, num_responses: int, max_parallel: int, max_failures: int, num_models: int, failing: float, unscored: float, luck: int, kill: float
) -> None:
    strategy = strategy_from(name, {"num_responses": num_responses, "max_parallel": max_parallel, "max_failures": max_failures})
    models = tuple("abcde"[:num_models])
    weather = Weather(failing=failing, unscored=unscored)
    complete = drive(strategy, models, Draws(luck), weather=weather)
    usable = [model for model in models if strategy.usable(complete.state, model)]
    some_usable = usable[:1] == ["a"] if name in {"random", "prs"} else bool(usable)
    if some_usable:
        assert len(complete.state.rewards) == num_responses
    assert all(count < max_failures + max_parallel for count in complete.state.failures.values())

    live = drive(strategy, models, Draws(luck), weather=weather, max_told=max(1, int(kill * len(complete.record))))
    replayed = replay(strategy, models, live.record)
    assert (replayed.calls, replayed.state) == (live.calls, live.state)
    assert live.calls == complete.calls[: len(live.calls)]
