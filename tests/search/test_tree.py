import pytest

from multigraft.search.backup import back_up, hold, release
from multigraft.search.tree import UNSEEN, Arm, Response, Tree


def respond(tree: Tree, arm: Arm, call_id: int, reward: float, tree_reward: float) -> None:
    hold(tree, arm)
    tree.attach(arm, call_id, reward)
    back_up(tree, arm, tree_reward)


def test_the_root_has_an_arm_for_each_model() -> None:
    tree = Tree(3, topk=1)
    assert [(arm.node_id, arm.model, arm.parents, arm.layer) for arm in tree.root.arms] == [(1, 0, (), 1), (2, 1, (), 1), (3, 2, (), 1)]


def test_the_best_children_stay_in_play_in_ascending_order() -> None:
    tree = Tree(1, topk=3)
    arm = tree.root.arms[0]
    for call_id, reward in enumerate([0.2, 0.5, 0.1, 0.4, 0.3, 0.05, 0.4]):
        tree.attach(arm, call_id, reward)
    # 0.2, 0.5, 0.1 | 0.4 drives 0.1 out | 0.3 drives 0.2 out | 0.05 never comes in | 0.4 again drives 0.3 out, and stands behind the earlier 0.4
    assert [(child.call_id, child.reward) for child in arm.in_play] == [(3, 0.4), (6, 0.4), (1, 0.5)]
    assert arm.best == 0.5
    assert tree.responses_in_layer == [0, 7]


def test_of_equal_rewards_the_earlier_is_dropped_first() -> None:
    tree = Tree(1, topk=1)
    for call_id in range(3):
        tree.attach(tree.root.arms[0], call_id, 0.4)
    assert [child.call_id for child in tree.root.arms[0].in_play] == [2]


def test_an_unscored_response_counts_and_never_comes_into_play() -> None:
    tree = Tree(1, topk=2)
    arm = tree.root.arms[0]
    tree.attach(arm, 0, None)
    assert (tree.responses_in_layer, arm.in_play, arm.best) == ([0, 1], [], float("-inf"))


def test_rewards_are_backed_up_to_the_root_and_not_to_the_response_itself() -> None:
    tree = Tree(2, topk=1)
    first, second = tree.root.arms
    respond(tree, first, 0, 1.0, 0.8)
    (response,) = first.in_play
    assert (response.visits, response.count) == (1, 0)
    tree.open(response)
    respond(tree, response.arms[1], 1, 2.0, 0.4)
    for node, visits, count, total in ((tree.root, 3, 2, 1.2), (first, 3, 2, 1.2), (response, 2, 1, 0.4), (response.arms[1], 2, 1, 0.4), (second, 1, 0, 0.0)):
        assert (node.visits, node.tries, node.count) == (visits, visits, count)
        assert abs(node.total - total) < 1e-12
    assert tree.responses_in_layer == [0, 1, 1]


def test_opening_gives_refining_arms_then_fresh_ones_with_a_copy_of_the_root() -> None:
    tree = Tree(2, topk=1)
    respond(tree, tree.root.arms[0], 0, 1.0, 0.8)
    respond(tree, tree.root.arms[1], 1, 0.0, 0.6)
    hold(tree, tree.root.arms[1])  # a call in flight is not copied
    (response,) = tree.root.arms[0].in_play
    tree.open(response)
    assert [(arm.model, arm.parents, arm.visits, arm.tries, arm.worth) for arm in response.arms] == [
        (0, (0,), 1, 1, UNSEEN - 1),
        (1, (0,), 1, 1, UNSEEN - 1),
        (0, (), 2, 2, 0.8),
        (1, (), 2, 2, 0.6),
    ]
    assert all((arm.bar, arm.layer) == (1.0, 2) for arm in response.arms)
    respond(tree, tree.root.arms[0], 2, 0.0, 0.0)
    assert response.arms[2].worth == 0.8  # a copy, not a view


def test_a_failed_call_leaves_no_trace() -> None:
    tree = Tree(2, topk=1)
    respond(tree, tree.root.arms[0], 0, 1.0, 0.8)
    before = repr(tree)
    hold(tree, tree.root.arms[1])
    assert repr(tree) != before
    release(tree, tree.root.arms[1])
    assert repr(tree) == before


def test_trees_are_equal_when_all_their_nodes_are() -> None:
    first, second = Tree(2, topk=1), Tree(2, topk=1)
    assert first == second
    hold(first, first.root.arms[0])
    assert first != second
    hold(second, second.root.arms[0])
    assert first == second
    assert first != "Tree"


def test_a_node_knows_what_it_is() -> None:
    tree = Tree(1, topk=1)
    assert isinstance(tree.nodes[0], Response)
    assert tree.arm(1) is tree.root.arms[0]
    with pytest.raises(TypeError, match="node 0 is a response, not an arm"):
        tree.arm(0)
