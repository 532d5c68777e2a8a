"""What happens on the path from an arm to the root: virtual visits while a call is in flight, rewards when it is told."""

from math import sqrt

from multigraft.search.tree import Arm, Node, Tree


def hold(tree: Tree, arm: Arm) -> None:
    """Put a virtual visit on the path of a call that is now in flight."""
    tree.pending_in_layer[arm.layer] += 1
    nodes, root = tree.nodes, tree.root
    node: Node = arm
    while True:
        node.tries = tries = node.tries + 1
        if node.count:
            node.bonus = 1.0 / sqrt(tries)
        else:
            node.refresh(root)
        if node is root:
            return
        node = nodes[node.parent_id]


def release(tree: Tree, arm: Arm) -> None:
    """Take the virtual visit of a failed call back; nothing of it remains."""
    tree.pending_in_layer[arm.layer] -= 1
    nodes, root = tree.nodes, tree.root
    node: Node = arm
    while True:
        node.tries -= 1
        node.refresh(root)
        if node is root:
            return
        node = nodes[node.parent_id]


def back_up(tree: Tree, arm: Arm, tree_reward: float | None) -> None:
    """Turn the virtual visit of a call into a visit with a reward. Tries, and with them every bonus on the path, stay the same.

    Args:
        tree: the tree.
        arm: the arm that was called.
        tree_reward: reward of the response on the tree's scale, [0, 1]; None when it was not scored, which counts as a visit and adds no reward.
    """
    tree.pending_in_layer[arm.layer] -= 1
    nodes, root = tree.nodes, tree.root
    node: Node = arm
    while True:
        node.visits += 1
        if tree_reward is not None:
            node.count = count = node.count + 1
            node.total = total = node.total + tree_reward
            node.worth = total / count
        elif not node.count:
            node.refresh(root)
        if node is root:
            return
        node = nodes[node.parent_id]
