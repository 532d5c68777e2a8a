"""Whole runs worked out by hand: which model is shown what, row by row."""

from typing import Any

import pytest

from multigraft.errors import UnknownNameError
from multigraft.knowledge import Knowledge
from multigraft.strategies.base import DONE, WAIT, PlannedStrategy, Signal, State
from multigraft.strategies.dry_run import dry_run
from multigraft.strategies.moa import Moa
from multigraft.strategies.parallel import Parallel
from multigraft.strategies.prs import Prs
from multigraft.strategies.random_sampling import RandomSampling
from multigraft.strategies.sequential import Sequential
from multigraft.types import Call, FailureKind, Outcome, Role

FAILED = Outcome(failure=FailureKind.SERVER)
ABC = ["a", "b", "c"]


def decided(strategy: PlannedStrategy[Any], models: list[str], rewards: list[float | None]) -> list[tuple[str, tuple[int, ...]]]:
    return [(decision.model, decision.parents) for decision in dry_run(strategy, models, rewards)]


def ask_all(strategy: PlannedStrategy[Any], state: State) -> tuple[list[Call], Signal]:
    calls = []
    while not isinstance(call := strategy.ask(state), Signal):
        calls.append(call)
    return calls, call


def tell(strategy: PlannedStrategy[Any], state: State, call_id: int, outcome: Outcome) -> None:
    strategy.tell(state, call_id, outcome, Knowledge())


def test_random_asks_its_one_model() -> None:
    assert decided(RandomSampling(num_responses=3), ABC, [0.1] * 5) == [("a", ())] * 3
    assert decided(RandomSampling(num_responses=2, model="c"), ABC, [0.1] * 5) == [("c", ())] * 2


def test_random_with_an_unknown_model_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown model 'd'\. Known: a, b, c"):
        RandomSampling(model="d").init("p", ABC, 0)


def test_random_ends_when_its_model_is_left_out_and_takes_no_other() -> None:
    strategy = RandomSampling(num_responses=3, max_parallel=1, max_failures=2)
    state = strategy.init("p", ABC, 0)
    for outcome in (FAILED, Outcome(1.0), FAILED):
        call = strategy.ask(state)
        assert isinstance(call, Call)
        assert call.model == "a"
        tell(strategy, state, call.call_id, outcome)
    assert strategy.ask(state) is DONE
    assert state.rewards == {1: 1.0}


def test_prs_refines_the_best_of_the_first_half() -> None:
    assert decided(Prs(num_responses=7), ABC, [0.1, 0.5, 0.5, 0.9, 0.9, 0.9, 0.9]) == [
        ("a", ()),  # the first half: floor(7 / 2) = 3 fresh answers
        ("a", ()),
        ("a", ()),
        ("a", (1,)),  # the best of them; 1 and 2 are equal, the earlier is taken
        ("a", (1,)),  # 3 is better than 1, but not of the first half
        ("a", (1,)),
        ("a", (1,)),
    ]


def test_prs_samples_on_when_nothing_of_the_first_half_was_scored() -> None:
    assert decided(Prs(num_responses=4), ["a"], [None, None, 0.5, 0.6]) == [("a", ())] * 4


def test_prs_of_one_response_is_a_fresh_one() -> None:
    assert decided(Prs(num_responses=1), ["a"], [0.5, 0.5]) == [("a", ())]


def test_prs_waits_for_the_whole_first_half() -> None:
    strategy = Prs(num_responses=4)
    state = strategy.init("p", ABC, 0)
    calls, signal = ask_all(strategy, state)
    assert ([call.call_id for call in calls], signal) == ([0, 1], WAIT)
    tell(strategy, state, 1, Outcome(0.3))
    assert strategy.ask(state) is WAIT
    tell(strategy, state, 0, FAILED)  # asked again before anything is refined
    assert [(call.call_id, call.parents) for call in ask_all(strategy, state)[0]] == [(2, ())]
    tell(strategy, state, 2, Outcome(0.2))
    assert [(call.parents, call.role) for call in ask_all(strategy, state)[0]] == [((1,), Role.REFINE)] * 2


def test_parallel_asks_every_model_equally_often_in_a_random_order() -> None:
    strategy = Parallel(num_responses=12)
    orders = set()
    for seed in range(5):
        calls, _ = ask_all(Parallel(num_responses=12, max_parallel=12), strategy.init("p", ABC, seed))
        assert sorted(call.model for call in calls) == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
        assert all(call.parents == () for call in calls)
        orders.add("".join(call.model for call in calls))
    assert len(orders) == 5


def test_parallel_spreads_what_does_not_divide() -> None:
    counts = set()
    for seed in range(20):
        strategy = Parallel(num_responses=8, max_parallel=8)
        models = [call.model for call in ask_all(strategy, strategy.init("p", ABC, seed))[0]]
        counts.add(tuple(models.count(model) for model in ABC))
    assert counts == {(3, 3, 2), (3, 2, 3), (2, 3, 3)}


def test_parallel_gives_the_places_of_a_left_out_model_to_those_asked_least() -> None:
    strategy = Parallel(num_responses=9, max_parallel=1, max_failures=1)
    state = strategy.init("p", ABC, 0)
    models = []
    while isinstance(call := strategy.ask(state), Call):
        models.append(call.model)
        tell(strategy, state, call.call_id, FAILED if call.model == "b" else Outcome(0.5))
    assert models.count("b") == 1
    assert len(models) == 10
    assert abs(models.count("a") - models.count("c")) <= 3
    assert len(state.rewards) == 9


def test_sequential_refines_the_response_just_before_in_its_round() -> None:
    decisions = decided(Sequential(num_responses=8), ABC, [0.5] * 8)
    assert [parents for _, parents in decisions] == [
        (),  # round 1
        (0,),
        (1,),
        (),  # round 2
        (3,),
        (4,),
        (),  # what does not divide: a short round
        (6,),
    ]
    assert sorted(model for model, _ in decisions[:3]) == sorted(model for model, _ in decisions[3:6]) == ABC


def test_sequential_draws_the_order_of_each_round_anew() -> None:
    models = [model for model, _ in decided(Sequential(num_responses=120), ABC, [0.5] * 120)]
    assert len({tuple(models[first : first + 3]) for first in range(0, 120, 3)}) == 6


def test_sequential_runs_its_rounds_concurrently() -> None:
    strategy = Sequential(num_responses=9, max_parallel=8)
    state = strategy.init("p", ABC, 0)
    calls, signal = ask_all(strategy, state)
    assert ([call.parents for call in calls], signal) == ([(), (), ()], WAIT)
    tell(strategy, state, 1, Outcome(None))  # an unscored response is refined like any other
    assert [call.parents for call in ask_all(strategy, state)[0]] == [(1,)]
    tell(strategy, state, 0, FAILED)  # asked again, by the same model
    again = ask_all(strategy, state)[0]
    assert [(call.model, call.parents) for call in again] == [(calls[0].model, ())]


def test_moa_shows_each_layer_the_one_before() -> None:
    assert decided(Moa(num_responses=10, num_layers=2), ABC, [0.5] * 10) == [
        ("a", ()),  # block 1, layer 1
        ("b", ()),
        ("c", ()),
        ("a", (0, 1, 2)),  # layer 2: all responses of layer 1, in the order of the models
        ("b", (0, 1, 2)),
        ("c", (0, 1, 2)),
        ("a", ()),  # block 2: what does not divide, layer by layer
        ("b", ()),
        ("c", ()),
        ("a", (6, 7, 8)),  # its last layer is one model, drawn at random
    ]


def test_moa_shows_them_in_the_order_of_the_models_whatever_ends_first() -> None:
    strategy = Moa(num_responses=6, num_layers=2)
    state = strategy.init("p", ABC, 0)
    assert len(ask_all(strategy, state)[0]) == 3
    for call_id in (2, 0):
        tell(strategy, state, call_id, Outcome(0.5))
        assert strategy.ask(state) is WAIT
    tell(strategy, state, 1, FAILED)
    again = ask_all(strategy, state)[0]
    assert [(call.call_id, call.model) for call in again] == [(3, "b")]
    tell(strategy, state, 3, Outcome(0.5))
    assert [(call.parents, call.role) for call in ask_all(strategy, state)[0]] == [((0, 3, 2), Role.AGGREGATE)] * 3


def test_moa_replaces_a_member_that_is_left_out() -> None:
    strategy = Moa(num_responses=6, num_layers=2, max_failures=1)
    state = strategy.init("p", ABC, 0)
    ask_all(strategy, state)
    for call_id, outcome in ((0, Outcome(0.1)), (1, FAILED), (2, Outcome(0.2))):
        tell(strategy, state, call_id, outcome)
    assert [(call.call_id, call.model) for call in ask_all(strategy, state)[0]] == [(3, "a")]  # a and c were asked once each
    tell(strategy, state, 3, Outcome(0.3))
    later = ask_all(strategy, state)[0]
    assert [(call.model, call.parents) for call in later] == [("a", (0, 3, 2)), ("c", (0, 3, 2)), ("c", (0, 3, 2))]


def test_moa_shows_as_many_as_asked_drawn_for_each_call() -> None:
    decisions = decided(Moa(num_responses=60, num_layers=20, num_aggregation=2), ABC, [0.5] * 60)
    shown = [parents for _, parents in decisions[3:]]
    assert all(len(parents) == 2 and parents[0] < parents[1] for parents in shown)
    assert all(set(parents) <= {3 * layer, 3 * layer + 1, 3 * layer + 2} for layer in range(19) for parents in shown[3 * layer : 3 * layer + 3])
    assert {tuple(parent % 3 for parent in parents) for parents in shown} == {(0, 1), (0, 2), (1, 2)}
    everything = decided(Moa(num_responses=6, num_layers=2, num_aggregation=7), ABC, [0.5] * 6)
    assert everything[3] == ("a", (0, 1, 2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 0}, "num_layers must be at least 1, not 0"),
        ({"num_aggregation": 0}, "num_aggregation must be at least 1, not 0"),
        ({"num_responses": 0}, "num_responses must be at least 1, not 0"),
        ({"max_parallel": 0}, "max_parallel must be at least 1, not 0"),
        ({"max_failures": -1}, "max_failures must be at least 1, not -1"),
    ],
)
def test_settings_out_of_range_are_named(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Moa(**settings)
