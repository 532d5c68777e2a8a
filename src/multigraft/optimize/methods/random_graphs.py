"""Random graphs within the budget: what every other method has to beat."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import Edge, Node, NodeRole
from multigraft.optimize.combinations import drawn_combo, node_costs, sparse_node_budget
from multigraft.optimize.fitting import Fitted, affordable_sinks, fitted
from multigraft.optimize.problem import MethodSearch, Problem, Proposal, Space, proposed
from multigraft.randomness import Draws

_MOST_IN_VAIN = 200
"""Graphs drawn one after another that were all there before, after which the space counts as used up."""


@dataclass(frozen=True, kw_only=True)
class RandomGraphs:
    """Draws graphs that fit, each once: models that fill a node budget of random size, edges at one probability, and every node connected.

    Args:
        edge_probability: of each edge forward in a random order of the nodes; [0, 1]. The default is GPTSwarm's and the paper's, sigmoid(-2).
        fuser_probability: of a node that may be a fuser; [0, 1].
        batch: graphs proposed at once; >= 1.

    Raises:
        ValueError: a setting out of its range.

    Source: Wang et al., arXiv 2511.00086, appendix A.13 (random search); there every graph fills the whole budget, here also smaller ones are drawn.
    """

    consults: ClassVar[bool] = False

    edge_probability: float = 0.119
    fuser_probability: float = 0.5
    batch: int = 4

    def __post_init__(self) -> None:
        for name in ("edge_probability", "fuser_probability"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                message = f"{name} must be between 0 and 1, not {value}"
                raise ValueError(message)
        if self.batch < 1:
            message = f"batch must be at least 1, not {self.batch}"
            raise ValueError(message)

    def search(self, problem: Problem) -> MethodSearch:
        """Propose random graphs until as many as may be evaluated have been, or until there are no others."""
        draws = Draws(problem.seed, "random graphs")
        drawer = GraphDrawer(problem.space, draws, edge_probability=self.edge_probability, fuser_probability=self.fuser_probability)
        graphs = distinct(drawer.endless())
        left = problem.max_evaluations
        while left > 0:
            drawn = list(islice(graphs, min(self.batch, left)))
            if not drawn:
                return
            left -= len(drawn)
            yield from proposed(*(Proposal(found.graph, "random", found.notes) for found in drawn))


class GraphDrawer:
    """Draws graphs of a space.

    Args:
        space: which graphs are allowed.
        draws: the randomness.
        edge_probability: of each forward edge; [0, 1].
        fuser_probability: of the role fuser where the space has it; [0, 1].
    """

    def __init__(self, space: Space, draws: Draws, *, edge_probability: float, fuser_probability: float) -> None:
        self._space = space
        self._draws = draws
        self._edge_probability = edge_probability
        self._fuser_probability = fuser_probability if NodeRole.FUSER in space.roles else 0.0
        self._sinks = affordable_sinks(space)
        self._largest = [sparse_node_budget(space, sink) for sink in self._sinks]
        self._costs = node_costs(space)

    def draw(self) -> Fitted:
        """Draw a graph: a sink, a node budget up to the largest, models that fill it, an order, edges forward, a reader for every agent."""
        draws = self._draws
        place = draws.below(len(self._sinks))
        sink = self._sinks[place]
        counts = drawn_combo(self._costs, draws.below(self._largest[place] + 1), draws, most_nodes=self._space.max_agents)
        models = draws.shuffled([model for model, count in zip(self._space.models, counts, strict=True) for _ in range(count)])
        nodes = [Node(node_id, model, self._role()) for node_id, model in zip(self._space.agent_ids, models, strict=False)]
        ids = [*(node.node_id for node in nodes), sink.node_id]
        edges: list[Edge] = []
        # Equal but for chance, so that a node nobody reads is given a random reader.
        probabilities: dict[Edge, float] = {}
        for index, target in enumerate(ids):
            for source in ids[:index]:
                probabilities[source, target] = 0.5 + 0.01 * draws.uniform()
                if draws.uniform() < self._edge_probability:
                    edges.append((source, target))
        return fitted((*nodes, sink), edges, sink.node_id, self._space, probabilities=probabilities, draws=draws, connect_useless=True)

    def endless(self) -> Iterator[Fitted]:
        """Draw one after the other."""
        while True:
            yield self.draw()

    def _role(self) -> NodeRole:
        return NodeRole.FUSER if self._draws.uniform() < self._fuser_probability else NodeRole.ASSISTANT


def distinct(graphs: Iterator[Fitted], *, most_in_vain: int = _MOST_IN_VAIN) -> Iterator[Fitted]:
    """Pass graphs on, each once up to names; ends after many in a row that were there before.

    Args:
        graphs: endless, or not.
        most_in_vain: of them in a row; >= 1.
    """
    seen: set[str] = set()
    in_vain = 0
    for found in graphs:
        key = graph_id(found.graph)
        in_vain = in_vain + 1 if key in seen else 0
        if in_vain >= most_in_vain:
            return
        if not in_vain:
            seen.add(key)
            yield found
