import math

import pytest

from multigraft.search.backup import back_up, hold
from multigraft.search.gain import expected_gain
from multigraft.search.selection import exploration_scale, highest_bound, highest_bound_per_cost, select
from multigraft.search.tree import Arm, Tree


def tree_with(topk: int, *told: tuple[int, float, float]) -> Tree:
    """A tree of two models; `told` are root arm, reward and tree reward of each call."""
    tree = Tree(2, topk=topk)
    for call_id, (model, reward, tree_reward) in enumerate(told):
        arm = tree.root.arms[model]
        hold(tree, arm)
        tree.attach(arm, call_id, reward)
        back_up(tree, arm, tree_reward)
    return tree


def test_the_scale_by_hand() -> None:
    assert exploration_scale(0.3, 1) == 0.0
    assert exploration_scale(0.3, 8) == pytest.approx(0.3 * math.sqrt(2.0 * 2.0794415))


def test_the_bound_by_hand() -> None:
    # a: mean 0.5, 4 visits; b: mean 0.45, 2 visits. They are equal where 0.05 = scale * (1 / sqrt(2) - 1 / 2), at scale 0.2414.
    tree = tree_with(1, (0, 0.0, 0.5), (0, 0.0, 0.5), (0, 0.0, 0.5), (1, 0.0, 0.45))
    a, b = tree.root.arms
    assert highest_bound(tree.root.arms, 0.241) is a
    assert highest_bound(tree.root.arms, 0.242) is b


def test_equal_bounds_go_to_the_earliest() -> None:
    tree = tree_with(1, (0, 0.0, 0.5), (1, 0.0, 0.5))
    assert highest_bound(tree.root.arms, 0.1) is tree.root.arms[0]
    assert highest_bound(tree.root.arms[::-1], 0.1) is tree.root.arms[1]


def test_untried_arms_come_first_those_with_fewest_calls_in_flight_ahead() -> None:
    tree = Tree(3, topk=1)
    order = []
    for _ in range(7):
        arm = highest_bound(tree.root.arms, 5.0)
        order.append(arm.model)
        hold(tree, arm)
    assert order == [0, 1, 2, 0, 1, 2, 0]


def test_cost_divides_the_bound_of_arms_that_were_tried() -> None:
    tree = tree_with(1, (0, 0.0, 0.8), (1, 0.0, 0.5))
    a, b = tree.root.arms
    assert highest_bound_per_cost([a, b], 0.0, [1.5, 1.0]) is a  # 0.533 against 0.5
    assert highest_bound_per_cost([a, b], 0.0, [2.0, 1.0]) is b  # 0.4 against 0.5
    untried = Tree(2, topk=1).root.arms
    assert highest_bound_per_cost(untried, 0.0, [1e9, 1.0]) is untried[0]


def test_calls_in_flight_hold_their_place_in_the_layer() -> None:
    tree = tree_with(1, (0, 1.0, 0.5))
    hold(tree, tree.root.arms[1])
    assert isinstance(select(tree, 0.0, 3), Arm)
    hold(tree, tree.root.arms[0])
    assert select(tree, 0.0, 3) is None  # 1 told and 2 in flight
    assert select(tree, 0.0, 1) is tree.root.arms[1]  # wide enough, but the untried arm has no response to go down to


def test_by_best_goes_on_from_the_best_response_not_the_best_mean() -> None:
    tree = tree_with(1, (0, 3.0, 0.9), (0, 0.0, 0.5), (1, 2.0, 0.8))  # means 0.7 and 0.8; best 3.0 and 2.0
    by_mean, by_best = select(tree, 0.0, 3), select(tree, 0.0, 3, by_best=True)
    assert by_mean is tree.root.arms[1].in_play[0]
    assert by_best is tree.root.arms[0].in_play[0]


def test_closed_models_are_only_passed_through() -> None:
    tree = tree_with(1, (0, 1.0, 0.9))
    assert select(tree, 0.0, 5, closed={1}) is tree.root.arms[0]
    assert select(tree, 0.0, 5, closed={0}) is tree.root.arms[1]
    tree = tree_with(1, (0, 1.0, 0.9), (1, 0.0, 0.1))
    assert select(tree, 0.0, 5, closed={0}) is tree.root.arms[0].in_play[0]


def test_expected_gain_by_hand() -> None:
    # z = 0: the mean of the upper half of a normal, 1 / sqrt(2 pi) spreads
    assert expected_gain(1.0, 2.0, 1.0) == pytest.approx(2.0 * 0.3989423)
    # z = -1: phi(1) - Phi(-1) = 0.2419707 - 0.1586553
    assert expected_gain(0.0, 1.0, 1.0) == pytest.approx(0.0833154, abs=1e-6)
    # far above the best: all of the distance
    assert expected_gain(10.0, 1.0, 0.0) == pytest.approx(10.0)
    assert expected_gain(-50.0, 1.0, 0.0) == pytest.approx(0.0, abs=1e-12)
