"""Tree search worked out by hand, and what ours adds to the published method."""

import math
from typing import Any

import pytest

from multigraft.knowledge import REWARD, Knowledge
from multigraft.strategies.base import DONE, WAIT, Signal
from multigraft.strategies.dry_run import dry_run
from multigraft.strategies.toa import Toa, ToaState, logistic, relative_costs
from multigraft.types import Call, FailureKind, Outcome, Role

FAILED = Outcome(failure=FailureKind.SERVER)


def decided(strategy: Toa, models: list[str], rewards: list[float | None]) -> list[tuple[str, tuple[int, ...]]]:
    return [(decision.model, decision.parents) for decision in dry_run(strategy, models, rewards)]


def ask_all(strategy: Toa, state: ToaState) -> tuple[list[Call], Signal]:
    calls = []
    while not isinstance(call := strategy.ask(state), Signal):
        calls.append(call)
    return calls, call


def step(strategy: Toa, state: ToaState, outcome: Outcome, knowledge: Knowledge | None = None) -> Call:
    call = strategy.ask(state)
    assert isinstance(call, Call)
    strategy.tell(state, call.call_id, outcome, knowledge or Knowledge())
    return call


def test_a_small_search_row_by_row() -> None:
    # sigmoid: 0.0 -> 0.500, 0.5 -> 0.622, 1.0 -> 0.731, 1.5 -> 0.818, 2.0 -> 0.881, 3.0 -> 0.953
    greedy = Toa(num_responses=9, tau=1.0, alpha=0.0, width=3, topk=1)
    assert decided(greedy, ["a", "b"], [0.0, 1.0, 2.0, 0.5, 1.0, 1.5, 0.0, 3.0, 0.0]) == [
        ("a", ()),  # no arm has a reward: the first
        ("b", ()),  # nor has b
        ("b", ()),  # means: a 0.500, b 0.731
        ("a", (2,)),  # b 0.806, and the layer is 3 wide: down to b's best, response 2; its arms are new, the first is taken
        ("b", (2,)),  # the second refining arm has no reward yet
        ("b", ()),  # refining a 0.622, refining b 0.731; the fresh arms copied the root's at play 4: a 0.500, b 0.806
        ("b", ()),  # the fresh b: (0.731 + 0.881 + 0.818) / 3 = 0.810
        ("b", ()),  # the fresh b: (0.731 + 0.881 + 0.818 + 0.500) / 4 = 0.7324, refining b 0.7311
        ("a", (7,)),  # the fresh b: 0.776; layer 2 is wide, and its child 7 is better than response 2: down to it
    ]


def test_the_fresh_arm_is_left_when_its_mean_falls_below_the_refining_one() -> None:
    greedy = Toa(num_responses=9, tau=1.0, alpha=0.0, width=3, topk=1)
    # As above, but response 7 is told 0.0: the fresh b falls to 0.686, and refining b, at 0.731, is next.
    assert decided(greedy, ["a", "b"], [0.0, 1.0, 2.0, 0.5, 1.0, 1.5, 0.0, 0.0, 0.0])[7:] == [("b", ()), ("b", (2,))]


def test_a_better_refinement_opens_the_next_layer() -> None:
    # sigmoid: -1.0 -> 0.269, the others as above
    greedy = Toa(num_responses=6, tau=1.0, alpha=0.0, width=1, topk=1)
    assert decided(greedy, ["a"], [0.0, -1.0, 1.0, 2.0, 0.0, 0.0]) == [
        ("a", ()),
        ("a", (0,)),  # the layer is 1 wide
        ("a", ()),  # below response 0: refining 0.269, fresh 0.500, copied
        ("a", (2,)),  # the fresh arm stands at 0.615; layer 2 is wide, and its child 2 is better than response 0
        ("a", (3,)),  # refining 2 stands at 0.881, and its child is better than response 2
        ("a", ()),  # below response 3: refining 0.500, fresh (0.500 + 0.269 + 0.731 + 0.881) / 4 = 0.595, copied
    ]


def test_among_untried_responses_in_play_the_worst_goes_first() -> None:
    search = Toa(num_responses=6, tau=1.0, alpha=0.0, width=3, topk=2)
    assert decided(search, ["a"], [0.3, 0.1, 0.2, 0.0, 0.0, 0.0])[3:5] == [("a", (2,)), ("a", (0,))]  # 0.1 is out of play


def test_a_raw_logit_of_any_size_has_a_logistic() -> None:
    assert logistic(0.0) == 0.5
    assert logistic(math.log(3.0)) == pytest.approx(0.75)
    assert logistic(-1e308) == 0.0
    assert logistic(1e308) == 1.0
    assert list(dry_run(Toa(num_responses=4, tau=0.001), ["a"], [-1e300, 1e300, 5e5, 0.0]))[3].index == 3


def test_auto_scale_makes_offset_and_scale_of_the_rewards_irrelevant() -> None:
    rewards = [0.3, 0.9, 0.5, 0.1, 0.7, 0.2, 0.8, 0.4, 0.6, 0.35, 0.85, 0.15] * 3
    strategy = Toa(num_responses=36, tau="auto", alpha=0.05)
    plain = decided(strategy, ["a", "b", "c"], list(rewards))
    assert decided(strategy, ["a", "b", "c"], [1024.0 * reward - 4096.0 for reward in rewards]) == plain
    assert len({parents for _, parents in plain}) > 3


def test_auto_scale_is_a_half_while_the_spread_is_unknown_and_standardised_after() -> None:
    strategy = Toa(num_responses=4, max_parallel=1, tau="auto")
    state = strategy.init("p", ["a"], 0)
    knowledge = Knowledge()
    knowledge.add(REWARD, 5.0)
    step(strategy, state, Outcome(5.0), knowledge)
    assert state.tree.root.total == 0.5
    knowledge.add(REWARD, 7.0)  # mean 6, spread sqrt(2): 7 lies 0.7071 spreads above
    step(strategy, state, Outcome(7.0), knowledge)
    assert state.tree.root.total == pytest.approx(0.5 + 1.0 / (1.0 + math.exp(-math.sqrt(0.5))))


def test_calls_in_flight_are_spread_over_untried_arms() -> None:
    strategy = Toa(num_responses=18, max_parallel=6)  # a layer of 6 holds 5: one place less for five calls in flight after the first
    state = strategy.init("p", ["a", "b", "c"], 0)
    calls, signal = ask_all(strategy, state)
    assert ([call.model for call in calls], signal) == (["a", "b", "c", "a", "b"], WAIT)
    for call in calls:
        strategy.tell(state, call.call_id, Outcome(0.1 * call.call_id), Knowledge())
    refining, _ = ask_all(strategy, state)
    assert [(call.model, call.parents, call.role) for call in refining] == [(model, (4,), Role.REFINE) for model in "abcab"]  # 4 is the best


def test_virtual_visits_are_taken_back() -> None:
    strategy = Toa(num_responses=30, max_parallel=8)
    state = strategy.init("p", ["a", "b"], 0)
    calls, _ = ask_all(strategy, state)
    assert (state.tree.root.visits, state.tree.root.tries) == (1, 9)
    for call in calls[:3]:
        strategy.tell(state, call.call_id, Outcome(0.5), Knowledge())
    for call in calls[3:]:
        strategy.tell(state, call.call_id, FAILED, Knowledge())
    assert (state.tree.root.visits, state.tree.root.tries, state.tree.root.count) == (4, 4, 3)
    assert state.tree.pending_in_layer == [0, 0]
    assert state.tree.responses_in_layer == [0, 3]


def test_failures_take_no_place_and_a_failing_model_does_not_block_the_search() -> None:
    strategy = Toa(num_responses=6, max_parallel=1, max_failures=2, width=2)
    state = strategy.init("p", ["a", "b"], 0)
    asked = []
    while isinstance(call := strategy.ask(state), Call):
        asked.append((call.model, call.parents))
        strategy.tell(state, call.call_id, FAILED if call.model == "a" else Outcome(0.1 * call.call_id), Knowledge())
    assert asked[:4] == [
        ("a", ()),
        ("a", ()),  # the failure left no trace, so a is first again; the second leaves it out
        ("b", ()),
        ("b", ()),  # failures take no place: the layer holds 1 of 2
    ]
    assert [model for model, _ in asked[4:]] == ["b"] * 4
    assert asked[4] == ("b", (3,))  # the arm of a that comes first below response 3 is passed over
    assert len(state.rewards) == 6
    assert strategy.ask(state) is DONE


def test_a_model_left_out_later_is_passed_through_where_it_has_responses() -> None:
    strategy = Toa(num_responses=5, max_parallel=1, max_failures=1, width=3, tau=1.0, alpha=0.0)
    state = strategy.init("p", ["a", "b"], 0)
    assert step(strategy, state, Outcome(2.0)).model == "a"
    assert step(strategy, state, Outcome(0.0)).model == "b"
    assert step(strategy, state, FAILED).model == "a"  # a is ahead, but left out from here on
    call = strategy.ask(state)
    assert isinstance(call, Call)
    assert (call.model, call.parents) == ("b", (0,))  # its response is refined by b, though the layer holds 2 of 3


def test_done_when_every_model_is_left_out() -> None:
    strategy = Toa(num_responses=5, max_parallel=2, max_failures=1)
    state = strategy.init("p", ["a", "b"], 0)
    assert len(ask_all(strategy, state)[0]) == 1  # a layer of floor(5 / 3) = 1
    strategy.tell(state, 0, FAILED, Knowledge())
    assert [call.model for call in ask_all(strategy, state)[0]] == ["b"]
    strategy.tell(state, 1, FAILED, Knowledge())
    assert strategy.ask(state) is DONE
    assert strategy.best(state) is None


def test_unscored_responses_count_and_are_never_refined() -> None:
    strategy = Toa(num_responses=8, max_parallel=1, tau=1.0, alpha=0.0, width=2)
    state = strategy.init("p", ["a", "b"], 0)
    rewards = [None, 1.0, None, 0.0, 0.0, 0.0, 0.0, 0.0]
    asked = [step(strategy, state, Outcome(reward)) for reward in rewards]
    assert [(call.model, call.parents) for call in asked[:3]] == [
        ("a", ()),
        ("b", ()),
        ("a", ()),  # never scored, so still ahead; now it stands at the mean of the tree, as b does
    ]
    assert all(0 not in call.parents and 2 not in call.parents for call in asked)
    assert state.tree.responses_in_layer[1] >= 3
    assert len(state.rewards) == 8


def test_a_model_that_is_never_scored_does_not_draw_every_play() -> None:
    strategy = Toa(num_responses=30, max_parallel=1, alpha=0.1, tau=1.0)
    state = strategy.init("p", ["a", "b"], 0)
    models = []
    for _ in range(30):
        call = strategy.ask(state)
        assert isinstance(call, Call)
        models.append(call.model)
        strategy.tell(state, call.call_id, Outcome(None if call.model == "a" else 1.0 + 0.01 * call.call_id), Knowledge())
    assert 3 <= models.count("a") <= 20


@pytest.mark.parametrize(("cost_weight", "share"), [(0.0, 0.5), (1.0, 0.8)])
def test_cost_moves_plays_to_the_cheaper_of_two_equal_models(cost_weight: float, share: float) -> None:
    strategy = Toa(num_responses=100, max_parallel=1, cost_weight=cost_weight, tau=1.0, alpha=0.3, width=100)
    state = strategy.init("p", ["dear", "cheap"], 0)
    models = [step_with_cost(strategy, state) for _ in range(100)]
    assert abs(models.count("cheap") / 100 - share) < 0.2
    assert (models.count("cheap") > 70) == (cost_weight > 0.0)


def step_with_cost(strategy: Toa, state: ToaState) -> str:
    call = strategy.ask(state)
    assert isinstance(call, Call)
    strategy.tell(state, call.call_id, Outcome(0.5, cost=10.0 if call.model == "dear" else 1.0), Knowledge())
    return call.model


def test_relative_costs() -> None:
    # 8 a response and 2 a response (failures paid for), 4 on the average of 3 responses; the third model was never paid for.
    assert relative_costs([8.0, 4.0, 0.0], [1, 2, 0], 1.0) == [2.0, 0.5, 1.0]
    assert relative_costs([8.0, 4.0, 0.0], [1, 2, 0], 0.5) == [pytest.approx(2**0.5), pytest.approx(0.5**0.5), 1.0]
    assert relative_costs([0.0, 0.0], [3, 0], 1.0) == [1.0, 1.0]


def test_the_search_stops_when_one_more_response_would_gain_too_little() -> None:
    def searched(stop_gain: float | None) -> int:
        strategy = Toa(num_responses=60, max_parallel=1, width=60, stop_gain=stop_gain)
        state = strategy.init("p", ["a", "b"], 0)
        for index in range(100):
            if strategy.ask(state) is DONE:
                return index
            strategy.tell(state, index, Outcome([0.0, 1.0, 2.0, 1.0][index % 4]), Knowledge())
        raise AssertionError

    assert searched(None) == 60
    assert searched(1e-9) == 60
    # Mean 1, spread 0.816 after the four: z = -1.225, so 0.816 * (-1.225 * 0.1103 + 0.1885) = 0.0436 are expected on top of 2.
    assert searched(0.05) == 4
    assert searched(0.04) > 4


def test_stopping_waits_for_what_is_in_flight() -> None:
    strategy = Toa(num_responses=60, max_parallel=8, width=60, stop_gain=1e6)
    state = strategy.init("p", ["a"], 0)
    calls, _ = ask_all(strategy, state)
    for call in calls[:-1]:
        strategy.tell(state, call.call_id, Outcome(float(call.call_id % 3)), Knowledge())
    assert ask_all(strategy, state) == ([], WAIT)
    strategy.tell(state, calls[-1].call_id, FAILED, Knowledge())
    assert strategy.ask(state) is DONE


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tau": 0.0}, 'tau must be above 0, or "auto", not 0.0'),
        ({"tau": math.nan}, "tau must be above 0"),
        ({"alpha": -0.1}, "alpha must be at least 0, not -0.1"),
        ({"alpha": math.nan}, "alpha must be at least 0"),
        ({"width": 0}, "width must be at least 1, not 0"),
        ({"topk": 0}, "topk must be at least 1, not 0"),
        ({"cost_weight": -1.0}, "cost_weight must be at least 0"),
        ({"stop_gain": -1.0}, "stop_gain must be at least 0"),
    ],
)
def test_settings_out_of_range_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Toa(**settings)
