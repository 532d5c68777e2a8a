"""Where the next response goes: down the highest bounds, to an arm that may still grow."""

from collections.abc import Callable, Collection, Sequence
from math import inf, log, sqrt
from operator import attrgetter
from typing import TypeAlias, TypeVar

from multigraft.search.tree import UNSEEN, Arm, Node, Response, Tree

NodeT = TypeVar("NodeT", bound=Node)

ArmRule: TypeAlias = Callable[[Sequence[Arm], float], Arm]
"""Picks one of several arms, given the scale of their bonuses."""

_best = attrgetter("best")


def exploration_scale(alpha: float, play: int) -> float:
    """Return what a node's bonus is multiplied by: `alpha * sqrt(2 ln t)`.

    Args:
        alpha: weight of exploration; >= 0.
        play: t, the number of this play in the whole tree; >= 1.
    """
    return alpha * sqrt(2.0 * log(play))


def highest_bound(children: Sequence[NodeT], scale: float) -> NodeT:
    """Return the child with the highest upper confidence bound, the first of equal ones.

    Args:
        children: at least one.
        scale: see `exploration_scale`.

    Source:
        UCB1: Auer, Cesa-Bianchi and Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem" (2002).
    """
    chosen, highest = children[0], -inf
    for child in children:
        bound = child.worth + scale * child.bonus
        if bound > highest:
            chosen, highest = child, bound
    return chosen


def highest_bound_per_cost(arms: Sequence[Arm], scale: float, relative_costs: Sequence[float]) -> Arm:
    """Return the arm with the highest bound per unit of cost, the first of equal ones; arms without a reward still come before all others.

    Args:
        arms: at least one.
        scale: see `exploration_scale`.
        relative_costs: by model, what a response costs against the average of all; > 0.
    """
    chosen, highest = arms[0], -inf
    for arm in arms:
        bound = arm.worth + scale * arm.bonus
        if bound < 0.5 * UNSEEN:
            bound /= relative_costs[arm.model]
        if bound > highest:
            chosen, highest = arm, bound
    return chosen


def select(
    tree: Tree, scale: float, width: int, *, choose: ArmRule = highest_bound, closed: Collection[int] = (), by_best: bool = False
) -> Arm | Response | None:
    """Walk from the root to the place of the next response.

    Args:
        tree: the tree.
        scale: see `exploration_scale`.
        width: responses of a layer from which on its arms may be passed through; >= 1. Calls in flight hold a place.
        choose: picks among the arms of a response.
        closed: models that must not be called any more; not all. Their arms can only be passed through.
        by_best: pass on through the arm that holds the best response, not the one with the highest bound.

    Returns:
        An arm to call; or a response reached for the first time, whose arms do not exist yet; or None while the layer it would fall into is full of
        calls in flight.
    """
    responses_in_layer = tree.responses_in_layer
    arms: Sequence[Arm] = tree.root.arms
    while True:
        candidates = [arm for arm in arms if arm.model not in closed or arm.in_play] if closed else arms
        arm = choose(candidates, scale)
        told = responses_in_layer[arm.layer]
        if told < width and arm.model not in closed:
            return arm if told + tree.pending_in_layer[arm.layer] < width else None
        if by_best and told >= width:
            better = [candidate for candidate in candidates if candidate.best > candidate.bar]
            arm = max(better, key=_best) if better else arm
        if arm.best <= arm.bar and arm.model not in closed:
            return arm
        in_play = arm.in_play
        response: Response = in_play[0] if len(in_play) == 1 else highest_bound(in_play, scale)
        if not response.arms:
            return response
        arms = response.arms
