"""The search tree: layers of arms (a model that may be called) and responses (what it said) in turn, under a root.

Nodes carry running sums, counts and the few children still in play, so that a step never walks the tree. A node knows its parent by number, not by
reference: a finished tree is then freed at once, without the garbage collector.
"""

from bisect import insort_right
from math import inf, sqrt
from operator import attrgetter
from typing import Final, TypeAlias

NO_PARENT: Final = -1
"""Parent of the root."""
NO_CALL: Final = -1
"""Call id of the root, which holds no response."""
ROOT: Final = 0
"""Node id of the root."""

UNSEEN: Final = 1e12
"""Worth of a node without a reward, before visits are taken off: above every tree reward and every bonus."""

_reward = attrgetter("reward")

Row: TypeAlias = "tuple[int | float | tuple[int, ...], ...]"


class Node:
    """Statistics every node keeps.

    Args:
        node_id: position in `Tree.nodes`.
        parent_id: node id of the parent, `NO_PARENT` for the root.
    """

    __slots__ = ("bonus", "count", "node_id", "parent_id", "total", "tries", "visits", "worth")

    def __init__(self, node_id: int, parent_id: int) -> None:
        self.node_id = node_id
        self.parent_id = parent_id
        self.visits = 1
        """Plays through this node, plus one."""
        self.count = 0
        """Tree rewards backed up through this node."""
        self.total = 0.0
        """Their sum."""
        self.tries = 1
        """`visits` and, on top, the calls in flight through this node: virtual visits."""
        self.worth = UNSEEN - 1.0
        """First term of the bound, kept current by `refresh`."""
        self.bonus = 1.0
        """Second term of the bound, before its scale; kept current by `refresh`."""

    def refresh(self, root: "Node") -> None:
        """Bring `worth` and `bonus` up to date.

        A node without a reward comes before all others, the one with the fewest visits, those of calls in flight included, first. Once it was visited and
        its responses were not scored it stands at the mean of the whole tree: nothing speaks for or against it, and it cannot draw every play to itself.

        Args:
            root: the root of the tree.
        """
        self.bonus = 1.0 / sqrt(self.tries)
        if self.count:
            self.worth = self.total / self.count
        elif self.visits > 1 and root.count:
            self.worth = root.total / root.count
        else:
            self.worth = UNSEEN - self.tries

    def row(self) -> Row:
        """Return everything the node's future depends on, as plain values."""
        return (self.node_id, self.parent_id, self.visits, self.tries, self.count, self.total, self.worth, self.bonus)


class Response(Node):
    """A sampled response that is or was in play, or the root.

    Args:
        node_id: position in `Tree.nodes`.
        parent_id: node id of the arm that sampled it.
        call_id: the call that brought it.
        reward: its own reward, any finite number; minus infinity for the root.
    """

    __slots__ = ("arms", "call_id", "reward")

    def __init__(self, node_id: int, parent_id: int, call_id: int, reward: float) -> None:
        super().__init__(node_id, parent_id)
        self.call_id = call_id
        self.reward = reward
        self.arms: list[Arm] = []
        """Empty until the search first reaches the response: then one arm a model that refines it, and one a model that starts over."""

    def row(self) -> Row:
        """Return everything the node's future depends on, as plain values."""
        return (*super().row(), self.call_id, self.reward, tuple(arm.node_id for arm in self.arms))


class Arm(Node):
    """A model that may be called at this place of the tree.

    Args:
        node_id: position in `Tree.nodes`.
        parent_id: node id of the response it hangs under.
        model: position of the model in the list of models.
        parents: call ids of the responses to show it; empty to sample afresh.
        layer: layer of the responses it brings; 1 below the root.
        bar: reward a child must exceed to be better than the response above; minus infinity below the root.
    """

    __slots__ = ("bar", "best", "in_play", "layer", "model", "parents")

    def __init__(self, node_id: int, parent_id: int, model: int, *, parents: tuple[int, ...], layer: int, bar: float) -> None:
        super().__init__(node_id, parent_id)
        self.model = model
        self.parents = parents
        self.layer = layer
        self.bar = bar
        self.best = -inf
        """Highest reward of a child."""
        self.in_play: list[Response] = []
        """The children with the highest rewards, ascending; all scored."""

    def row(self) -> Row:
        """Return everything the node's future depends on, as plain values."""
        return (*super().row(), self.model, self.parents, self.layer, self.bar, self.best, tuple(child.node_id for child in self.in_play))


class Tree:
    """All nodes of one prompt's search.

    Args:
        num_models: K, arms below the root; >= 1.
        topk: responses of one arm that stay in play; >= 1.
    """

    __slots__ = ("nodes", "num_models", "pending_in_layer", "responses_in_layer", "root", "topk")

    def __init__(self, num_models: int, topk: int) -> None:
        self.num_models = num_models
        self.topk = topk
        self.root = Response(ROOT, NO_PARENT, NO_CALL, -inf)
        self.nodes: list[Node] = [self.root]
        self.responses_in_layer = [0, 0]
        """Responses in each layer; index 0, the root's, stays 0."""
        self.pending_in_layer = [0, 0]
        """Calls in flight for each layer."""
        self.root.arms = [self._add_arm(ROOT, model, (), 1, -inf) for model in range(num_models)]

    def arm(self, node_id: int) -> Arm:
        """Return an arm by its node id.

        Raises:
            TypeError: the node is a response.
        """
        node = self.nodes[node_id]
        if isinstance(node, Arm):
            return node
        message = f"node {node_id} is a response, not an arm"
        raise TypeError(message)

    def open(self, response: Response) -> None:
        """Give a response its arms: K that refine it, then K that start over with a copy of the statistics of the root's arms.

        Args:
            response: a response without arms.
        """
        layer = self.arm(response.parent_id).layer + 1
        if layer == len(self.responses_in_layer):
            self.responses_in_layer.append(0)
            self.pending_in_layer.append(0)
        for parents in ((response.call_id,), ()):
            response.arms.extend(self._add_arm(response.node_id, model, parents, layer, response.reward) for model in range(self.num_models))
        for arm, source in zip(response.arms[self.num_models :], self.root.arms, strict=True):
            arm.visits, arm.tries, arm.count, arm.total = source.visits, source.visits, source.count, source.total
            arm.refresh(self.root)

    def attach(self, arm: Arm, call_id: int, reward: float | None) -> None:
        """Count a response of an arm, and give it a node where it is among the arm's `topk` best: no other can ever be reached.

        The children in play stand in ascending order of reward, the earlier of equal rewards first and first to be dropped, as in the traces of the
        reference.

        Args:
            arm: the arm that was called.
            call_id: the call that brought the response.
            reward: its reward; None when it was not scored.
        """
        self.responses_in_layer[arm.layer] += 1
        if reward is None:
            return
        arm.best = max(arm.best, reward)
        in_play = arm.in_play
        if len(in_play) == self.topk:
            if reward < in_play[0].reward:
                return
            del in_play[0]
        response = Response(len(self.nodes), arm.node_id, call_id, reward)
        self.nodes.append(response)
        insort_right(in_play, response, key=_reward)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._picture() == other._picture()

    __hash__ = None  # type: ignore[assignment]  # mutable, like a list

    def __repr__(self) -> str:
        return f"Tree{self._picture()!r}"

    def _picture(self) -> tuple[object, ...]:
        return (self.num_models, self.topk, self.responses_in_layer, self.pending_in_layer, [node.row() for node in self.nodes])

    def _add_arm(self, parent_id: int, model: int, parents: tuple[int, ...], layer: int, bar: float) -> Arm:
        arm = Arm(len(self.nodes), parent_id, model, parents=parents, layer=layer, bar=bar)
        self.nodes.append(arm)
        return arm
