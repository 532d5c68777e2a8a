"""Tree search over models and responses, as in Ye, Lin, Ng and Yan, "Multi-Agent Sampling" (arXiv 2412.17061), section 3: TOA.

With `max_parallel = 1` and the other options off this is the published method, decision for decision. One thing is not in the text but in the behaviour
of the reference: the responses of an arm that stay in play are tried in ascending order of their reward, so among several not tried before, the worst
goes first. What ours adds (docs/design/0002-tree-search.md gives reasons and figures):

- Calls in flight are virtual visits on their paths and hold their place in the width of their layer. A layer full of calls in flight is waited for.
  As responses that are asked for together cannot build on each other, the search then goes on from the best response of a layer, not from the arm with the
  best mean, and leaves a layer one place earlier for every five calls in flight after the first.
- A failed call leaves no trace but its count; a model that failed too often is passed through where it has responses and left aside elsewhere.
- An unscored response counts as a response and as a visit; it adds no reward, is never refined and never the best. An arm all of whose responses are
  unscored stands at the mean of the whole tree.
- `cost_weight`, `stop_gain` and `tau = "auto"`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, inf
from typing import Literal

from multigraft.knowledge import REWARD, Knowledge, Moments
from multigraft.search.backup import back_up, hold, release
from multigraft.search.gain import expected_gain
from multigraft.search.selection import ArmRule, exploration_scale, highest_bound, highest_bound_per_cost, select
from multigraft.search.tree import Arm, Response, Tree
from multigraft.strategies.base import Plan, PlannedStrategy, State
from multigraft.types import Call, Outcome, Role

CALLS_PER_PLACE = 5
"""Calls in flight after the first that make a layer one place narrower."""


@dataclass(slots=True, kw_only=True)
class ToaState(State):
    """A search tree, and what the optional terms need."""

    tree: Tree
    width: int
    """Responses of a layer from which on the search may go deeper, with the calls in flight taken into account."""
    arm_of: dict[int, int] = field(default_factory=dict)
    """Node id of the arm of every call in flight, by call id."""
    closed: set[int] = field(default_factory=set)
    """Positions of the models that are left out."""
    best_reward: float = -inf
    layers: dict[int, Moments] = field(default_factory=dict)
    """Rewards by layer, 1 below the root; kept for `stop_gain` only."""
    cost_by_model: list[float] = field(default_factory=list)
    """What the calls of each model cost in all, failed ones included; kept for `cost_weight` only, and so are the responses."""
    responses_by_model: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Toa(PlannedStrategy[ToaState]):
    """Tree search: a model answers afresh or refines an earlier response, wherever the bounds are highest.

    Args:
        tau: a response's reward in the tree is `sigmoid(reward / tau)`; > 0. With "auto", the sigmoid of how many spreads it lies above the mean of the
            run's rewards so far, which suits rewards of any offset and scale; 0.5 while the spread is unknown.
        alpha: weight of exploration, on the scale of the sigmoid; >= 0.
        width: responses of a layer from which on the search may go deeper; >= 1. None: a third of `num_responses` (K*n/3 of the paper), at least 1.
        topk: responses of one arm that stay in play; >= 1.
        cost_weight: w; the bound of an arm is divided by (cost of a response of its model / mean cost of a response) ** w; >= 0. 0: cost plays no part;
            1: reward per unit of cost.
        stop_gain: stop once one more response is expected to raise the best reward by less than this, in the unit of the rewards; >= 0. The expectation
            is that of a normal draw with mean and spread of the layer it would fall into; the search goes on while that layer holds fewer than
            max(4, 2K) scored responses. None: never stop early.

    Raises:
        ValueError: a setting out of its range.
    """

    tau: float | Literal["auto"] = "auto"
    alpha: float = 0.01
    width: int | None = None
    topk: int = 1
    cost_weight: float = 0.0
    stop_gain: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        rules = (
            ("tau", self.tau == "auto" or 0.0 < self.tau < inf, 'above 0, or "auto"'),
            ("alpha", 0.0 <= self.alpha < inf, "at least 0"),
            ("width", self.width is None or self.width >= 1, "at least 1"),
            ("topk", self.topk >= 1, "at least 1"),
            ("cost_weight", 0.0 <= self.cost_weight < inf, "at least 0"),
            ("stop_gain", self.stop_gain is None or 0.0 <= self.stop_gain < inf, "at least 0"),
        )
        for name, holds, wanted in rules:
            if not holds:
                message = f"{name} must be {wanted}, not {getattr(self, name)!r}"
                raise ValueError(message)

    def start(self, prompt_id: str, models: tuple[str, ...], seed: int) -> ToaState:
        """Give the root an arm for each model."""
        num_models = len(models)
        width = self.width or max(1, self.num_responses // 3)
        return ToaState(
            prompt_id,
            models,
            seed,
            tree=Tree(num_models, self.topk),
            width=width - (min(self.max_parallel, width) - 1) // CALLS_PER_PLACE,
            cost_by_model=[0.0] * num_models,
            responses_by_model=[0] * num_models,
        )

    def plan(self, state: ToaState) -> Plan | None:
        """Select."""
        play = len(state.rewards) + len(state.in_flight) + 1
        closed = state.closed
        if play > self.num_responses or len(closed) == len(state.models):
            return None
        node = select(
            state.tree,
            exploration_scale(self.alpha, play),
            state.width,
            choose=self._arm_rule(state) if self.cost_weight else highest_bound,
            closed=closed,
            by_best=self.max_parallel > 1,
        )
        if node is None or (self.stop_gain is not None and self._gain(state, node) < self.stop_gain):
            return None
        if isinstance(node, Arm):
            return Plan(state.models[node.model], node.parents, Role.REFINE if node.parents else Role.ANSWER, node.node_id)
        return Plan(state.models[self._first_open(state)], (node.call_id,), Role.REFINE, node.node_id)

    def asked(self, state: ToaState, call: Call, plan: Plan) -> None:
        """Expand: give a response reached for the first time its arms, and hold the place of the call."""
        tree = state.tree
        node = tree.nodes[plan.place]
        if isinstance(node, Response):
            tree.open(node)
            node = node.arms[self._first_open(state)]
        state.arm_of[call.call_id] = node.node_id
        hold(tree, tree.arm(node.node_id))

    def told(self, state: ToaState, call: Call, outcome: Outcome, knowledge: Knowledge) -> None:
        """Back up."""
        tree = state.tree
        arm = tree.arm(state.arm_of.pop(call.call_id))
        if self.cost_weight:
            state.cost_by_model[arm.model] += outcome.cost
            state.responses_by_model[arm.model] += outcome.failure is None
        if outcome.failure is not None:
            release(tree, arm)
            if not self.usable(state, call.model):
                state.closed.add(arm.model)
            return
        reward = state.rewards[call.call_id]
        tree.attach(arm, call.call_id, reward)
        if reward is None:
            back_up(tree, arm, None)
            return
        back_up(tree, arm, self._tree_reward(reward, knowledge))
        if self.stop_gain is not None:
            state.best_reward = max(state.best_reward, reward)
            state.layers.setdefault(arm.layer, Moments()).add(reward)

    def _tree_reward(self, reward: float, knowledge: Knowledge) -> float:
        return logistic(knowledge.of(REWARD).standardised(reward) if self.tau == "auto" else reward / self.tau)

    def _first_open(self, state: ToaState) -> int:
        """Return the first model that is not left out: of arms without a reward the first is chosen."""
        return next(model for model in range(len(state.models)) if model not in state.closed)

    def _arm_rule(self, state: ToaState) -> ArmRule:
        return partial(highest_bound_per_cost, relative_costs=relative_costs(state.cost_by_model, state.responses_by_model, self.cost_weight))

    def _gain(self, state: ToaState, node: Arm | Response) -> float:
        """Expected gain of a response at this place; infinite while unknown."""
        layer = node.layer if isinstance(node, Arm) else state.tree.arm(node.parent_id).layer + 1
        seen = state.layers.get(layer)
        spread = seen.spread if seen else None
        if seen is None or spread is None or seen.count < max(4, 2 * len(state.models)):
            return inf
        return expected_gain(seen.mean, spread, state.best_reward)


def logistic(x: float) -> float:
    """Return `1 / (1 + exp(-x))` for any finite x, without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    grown = exp(x)
    return grown / (1.0 + grown)


def relative_costs(costs: Sequence[float], responses: Sequence[int], weight: float) -> list[float]:
    """Return what a response of each model costs against the average of all, to the power of `weight`; 1 for a model of unknown cost.

    Args:
        costs: what the calls of each model cost in all.
        responses: how many responses they brought.
        weight: >= 0.
    """
    total, num_responses = sum(costs), sum(responses)
    return [(cost / count * num_responses / total) ** weight if cost > 0.0 and count else 1.0 for cost, count in zip(costs, responses, strict=True)]
