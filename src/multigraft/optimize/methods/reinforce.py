"""Policy gradients on a distribution over graphs, as GPTSwarm has it: graphs that do well make their edges, roles and models likelier."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, Literal, TypeAlias

from multigraft.graphs.canonical import graph_id
from multigraft.graphs.decoding import most_probable
from multigraft.graphs.distribution import Distribution, Vector
from multigraft.graphs.draw import Draw, NodeBudget
from multigraft.graphs.graph import SINK, NodeRole
from multigraft.graphs.layout import Layout
from multigraft.optimize.combinations import node_costs, sparse_node_budget
from multigraft.optimize.fitting import affordable_sinks, fitted, fitted_graph
from multigraft.optimize.problem import Evaluation, MethodSearch, Problem, Proposal, Space, proposed
from multigraft.randomness import Draws

Baseline: TypeAlias = Literal["none", "mean", "leave_one_out"]

_BATCHES_IN_VAIN = 20
"""In a row without a graph that is new: the distribution has settled."""


@dataclass(frozen=True, kw_only=True)
class Reinforce:
    """Draws graphs, moves the logits of edges, roles, models and sinks along the gradient of the mean utility, and proposes the most probable graph at last.

    Args:
        learning_rate: of Adam; > 0. GPTSwarm's.
        batch: graphs drawn for one step; >= 1, and >= 2 for the baseline `leave_one_out`. GPTSwarm's.
        edge_probability: of each edge at first; in (0, 1). The paper's, sigmoid(-2); GPTSwarm begins at 0.5, where most graphs are over a budget.
        baseline: what a utility is compared with: nothing, as in the paper's code; the mean of all before; or the mean of the others of its batch. None of the
            three changes the gradient on average; the last has the least variance.

    Raises:
        ValueError: a setting out of its range.

    Source: Zhuge et al., "GPTSwarm" (arXiv 2402.16823), section 3; arXiv 2511.00086, appendix A.13. Departure: the graph returned is the best evaluated, of
    which the most probable is one.
    """

    consults: ClassVar[bool] = False

    learning_rate: float = 0.1
    batch: int = 4
    edge_probability: float = 0.119
    baseline: Baseline = "leave_one_out"

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            message = f"learning_rate must be above 0, not {self.learning_rate}"
            raise ValueError(message)
        if not 0 < self.edge_probability < 1:
            message = f"edge_probability must be between 0 and 1, neither included, not {self.edge_probability}"
            raise ValueError(message)
        least = 2 if self.baseline == "leave_one_out" else 1
        if self.batch < least:
            message = f"batch must be at least {least} for the baseline {self.baseline}, not {self.batch}"
            raise ValueError(message)

    def search(self, problem: Problem) -> MethodSearch:
        """Propose batches until all but one of the evaluations are used, or nothing new is drawn; then the most probable graph."""
        draws = Draws(problem.seed, "reinforce")
        distribution = Distribution.uniform(layout_of(problem.space), edge_probability=self.edge_probability)
        budget = node_budget_of(problem.space)
        adam = Adam(self.learning_rate, distribution.layout.size)
        seen: set[str] = set()
        past: list[float] = []
        in_vain = 0
        while len(seen) < problem.max_evaluations - 1 and in_vain < _BATCHES_IN_VAIN:
            drawn = [distribution.sample(draws, budget=budget) for _ in range(self.batch)]
            found = [fitted_graph(draw.graph, problem.space, probabilities=distribution.edge_probabilities(), draws=draws) for draw in drawn]
            evaluations = yield from proposed(*(Proposal(one.graph, "sample", one.notes) for one in found))
            before = len(seen)
            seen.update(graph_id(one.graph) for one in found)
            in_vain = in_vain + 1 if len(seen) == before else 0
            distribution = distribution.moved(adam.step(self._gradient(problem, distribution, drawn, evaluations, past)))
        likeliest = most_probable(distribution, budget=budget)
        edges = distribution.edge_probabilities()
        last = fitted(likeliest.nodes, likeliest.edges, SINK, problem.space, probabilities=edges, draws=draws, connect_useless=True)
        yield from proposed(Proposal(last.graph, "most probable", last.notes))

    def _gradient(self, problem: Problem, distribution: Distribution, drawn: Sequence[Draw], evaluations: Sequence[Evaluation], past: list[float]) -> Vector:
        scored = [(draw, utility) for draw, one in zip(drawn, evaluations, strict=True) if (utility := problem.objective.utility(one)) is not None]
        advantages = self._advantages([utility for _, utility in scored], past)
        total = [0.0] * distribution.layout.size
        for (draw, _), advantage in zip(scored, advantages, strict=True):
            for place, value in enumerate(distribution.gradient(draw, live_only=True)):
                total[place] += advantage * value / len(scored)
        return tuple(total)

    def _advantages(self, utilities: Sequence[float], past: list[float]) -> list[float]:
        if self.baseline == "leave_one_out":
            # A graph alone has nothing to be compared with.
            return [utility - (sum(utilities) - utility) / (len(utilities) - 1) for utility in utilities] if len(utilities) > 1 else [0.0] * len(utilities)
        base = sum(past) / len(past) if self.baseline == "mean" and past else 0.0
        past += utilities
        return [utility - base for utility in utilities]


class Adam:
    """Steps along gradients, each coordinate by its own scale.

    Args:
        learning_rate: > 0.
        size: number of coordinates.

    Source: Kingma and Ba, "Adam" (arXiv 1412.6980), algorithm 1, with its defaults.
    """

    def __init__(self, learning_rate: float, size: int) -> None:
        self._rate = learning_rate
        self._first = [0.0] * size
        self._second = [0.0] * size
        self._num_steps = 0

    def step(self, gradient: Sequence[float]) -> Vector:
        """Return by how much to move upwards."""
        self._num_steps += 1
        first_share, second_share = 1 - 0.9**self._num_steps, 1 - 0.999**self._num_steps
        steps: list[float] = []
        for place, value in enumerate(gradient):
            self._first[place] += 0.1 * (value - self._first[place])
            self._second[place] += 0.001 * (value * value - self._second[place])
            steps.append(self._rate * (self._first[place] / first_share) / (sqrt(self._second[place] / second_share) + 1e-8))
        return tuple(steps)


def layout_of(space: Space) -> Layout:
    """Return what a distribution over the graphs of a space is over: all agents there may be, and the sinks that fit."""
    roles = (NodeRole.ASSISTANT, *(role for role in space.roles if role is not NodeRole.ASSISTANT))
    return Layout(agents=space.agent_ids, models=space.models, sinks=affordable_sinks(space), roles=roles)


def node_budget_of(space: Space) -> NodeBudget:
    """Return what the agents of a graph may weigh together at most: with the fewest edges, below the sink that leaves most room."""
    weights = {model: float(cost) for model, cost in zip(space.models, node_costs(space), strict=True)}
    return NodeBudget(weights, float(max(sparse_node_budget(space, sink) for sink in affordable_sinks(space))))
