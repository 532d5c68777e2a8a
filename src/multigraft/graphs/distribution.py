"""A distribution over graphs: a logit for every edge, role, model and sink.

A graph is drawn as follows: a sink, a model for each agent, a random order of the agents, each edge that runs forward in it, the agents that the sink reads,
and the roles. Given the order, which is drawn uniformly, the probabilities of all graphs sum to one. Source: arXiv 2511.00086, section 5 and appendix A.11;
Zhuge et al., "GPTSwarm" (arXiv 2402.16823), section 3. Departures: the order is drawn afresh each time, so that no edge is scanned before another; the agents
that the sink reads are drawn given that there is at least one, which is what drawing the whole graph again until there is one leads to, so that no draw is
rejected and none biases the gradient; a role is drawn as learnt wherever it is free.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import expm1, inf, isfinite, log
from typing import Final, Self, TypeAlias

from multigraft.errors import InputError
from multigraft.graphs.draw import Draw, NodeBudget
from multigraft.graphs.graph import SINK, Edge, Graph, Node, NodeRole
from multigraft.graphs.layout import Layout
from multigraft.graphs.logistic import categorical, log_sigmoid, logit, sigmoid, softmax
from multigraft.graphs.roles import may_fuse
from multigraft.randomness import Draws

Vector: TypeAlias = tuple[float, ...]
"""As long as the logits of a distribution, and in their order."""

SURE: Final = 0.99
"""Probabilities written from outside stay between 1 - SURE and SURE, so that nothing becomes impossible."""
LARGEST_LOGIT: Final = 30.0
"""Logits stay between its negative and it, where no probability is lost to rounding."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution over graphs.

    Args:
        layout: what it is over.
        logits: one each, in [-LARGEST_LOGIT, LARGEST_LOGIT].

    Raises:
        InputError: not as many logits as the layout has places, or one outside its range.
    """

    layout: Layout
    logits: Vector

    def __post_init__(self) -> None:
        strange = [value for value in self.logits if not abs(value) <= LARGEST_LOGIT]
        if len(self.logits) != self.layout.size or strange:
            message = f"a distribution over this layout has {self.layout.size} logits within {LARGEST_LOGIT} of 0, not {len(self.logits)}"
            raise InputError(f"{message}, {strange[0]} among them" if strange else message)

    @classmethod
    def uniform(cls, layout: Layout, *, edge_probability: float = 0.5) -> Self:
        """Return the distribution that has all edges equally likely, and so all roles, models and sinks.

        Args:
            layout: what it is over.
            edge_probability: in (0, 1).
        """
        num_edges = len(layout.agents) ** 2
        return cls(layout, (logit(edge_probability),) * num_edges + (0.0,) * (layout.size - num_edges))

    def edge_probability(self, edge: Edge) -> float:
        """Return how likely an edge is where it may be, in (0, 1)."""
        return sigmoid(self.logits[self.layout.edge_at(edge)])

    def edge_probabilities(self) -> Mapping[Edge, float]:
        """Return how likely each edge is where it may be."""
        return {edge: sigmoid(value) for edge, value in zip(self.layout.edges(), self.logits, strict=False)}

    def role_probabilities(self, agent: str) -> Mapping[NodeRole, float]:
        """Return how likely each role of an agent is where it is free."""
        return dict(zip(self.layout.roles, self._softmax(self.layout.roles_at(agent)), strict=True))

    def model_probabilities(self, agent: str) -> Mapping[str, float]:
        """Return how likely each model of an agent is where all fit."""
        return dict(zip(self.layout.models, self._softmax(self.layout.models_at(agent)), strict=True))

    def sink_probabilities(self) -> Vector:
        """Return how likely each sink is."""
        return self._softmax(self.layout.sinks_at())

    def with_edge_probabilities(self, probabilities: Mapping[Edge, float]) -> Self:
        """Set how likely some edges are, each held between 0.01 and 0.99.

        Raises:
            InputError: an edge that cannot be, or a probability that is no number.
        """
        return self._with({self.layout.edge_at(edge): logit(_held(value)) for edge, value in probabilities.items()})

    def with_role_probabilities(self, probabilities: Mapping[str, float]) -> Self:
        """Set how likely some agents are fusers where they may be, each held between 0.01 and 0.99.

        Raises:
            InputError: an agent or role there is not, or a probability that is no number.
        """
        changed: dict[int, float] = {}
        for agent, value in probabilities.items():
            if agent not in self.layout.agents or NodeRole.FUSER not in self.layout.roles:
                message = f"there is no agent '{agent}' that may be a fuser; agents: {', '.join(self.layout.agents)}"
                raise InputError(message)
            for place, role in zip(self.layout.roles_at(agent), self.layout.roles, strict=True):
                changed[place] = logit(_held(value)) if role is NodeRole.FUSER else 0.0
        return self._with(changed)

    def moved(self, direction: Sequence[float], rate: float = 1.0) -> Self:
        """Return the distribution `rate` times a direction further on, logits held in their range."""
        moved = (value + rate * step for value, step in zip(self.logits, direction, strict=True))
        return replace(self, logits=tuple(min(max(value, -LARGEST_LOGIT), LARGEST_LOGIT) for value in moved))

    def sample(self, draws: Draws, *, models: Mapping[str, str] | None = None, budget: NodeBudget | None = None) -> Draw:
        """Draw a graph.

        Args:
            draws: the source of chance.
            models: agents that take part, with the model of each; None: all agents do, and models are drawn.
            budget: while models are drawn, in a random order of the agents, only those that fit are; an agent for which none does takes no part.

        Raises:
            InputError: no agent takes part although the sink drawn needs some to read, or `models` names an agent there is not.
        """
        sink_index = categorical(self.sink_probabilities(), draws)
        feasible: dict[str, tuple[str, ...]] = {}
        if models is None:
            feasible, models = self._draw_models(draws, budget)
        elif not models.keys() <= set(self.layout.agents):
            message = f"no agent '{min(models.keys() - set(self.layout.agents))}' is in the layout; agents: {', '.join(self.layout.agents)}"
            raise InputError(message)
        order = draws.shuffled([agent for agent in self.layout.agents if agent in models])
        read = {target: [source for source in order[:index] if draws.uniform() < self.edge_probability((source, target))] for index, target in enumerate(order)}
        read[SINK] = self._draw_feeders(order, draws)
        roles: dict[str, NodeRole] = {}
        free: set[str] = set()
        for agent in order:
            roles[agent] = NodeRole.ASSISTANT
            if len(self.layout.roles) > 1 and may_fuse(roles[source] for source in read[agent]):
                free.add(agent)
                roles[agent] = self.layout.roles[categorical(self._softmax(self.layout.roles_at(agent)), draws)]
        nodes = tuple(Node(agent, models[agent], roles[agent]) for agent in self.layout.agents if agent in models)
        edges = tuple((source, target) for target, sources in read.items() for source in sources)
        graph = Graph((*nodes, self.layout.sinks[sink_index]), edges, SINK)
        return Draw(graph, tuple(order), sink_index, feasible, frozenset(free), budget is not None)

    def draw_of(self, graph: Graph) -> Draw:
        """Return the draw that a given graph would have been, in its own order and with its models as given.

        Args:
            graph: its agents are among those of the layout, its sink among the sinks, and its roles sound.

        Raises:
            InputError: an agent, sink or role that the layout has not.
        """
        sink = graph.node(graph.sink)
        agents = {node.node_id: node for node in graph.nodes if node.node_id != graph.sink}
        strange = [node_id for node_id, node in agents.items() if node_id not in self.layout.agents or node.role not in self.layout.roles]
        if strange or sink not in self.layout.sinks:
            message = f"node '{strange[0] if strange else sink.node_id}' is not one that can be drawn here"
            raise InputError(message)
        order = tuple(node_id for node_id in graph.order if node_id != graph.sink)
        fusable = {agent for agent in order if len(self.layout.roles) > 1 and may_fuse(agents[source].role for source in graph.read_by(agent))}
        return Draw(graph, order, self.layout.sinks.index(sink), {}, frozenset(fusable))

    def log_probability(self, draw: Draw) -> float:
        """Return the logarithm of the probability of a draw, given its order."""
        edges = set(draw.graph.edges)
        total = log(self.sink_probabilities()[draw.sink_index])
        for edge in (*draw.considered, *draw.to_sink):
            value = self.logits[self.layout.edge_at(edge)]
            total += log_sigmoid(value if edge in edges else -value)
        if draw.order:
            total -= log(-expm1(self._log_unread(draw.order)))
        for agent in sorted(draw.free_roles):
            total += log(self.role_probabilities(agent)[draw.graph.node(agent).role])
        for agent, models in draw.feasible.items():
            total += log(self._model_shares(agent, models)[models.index(draw.graph.node(agent).model)])
        return total

    def gradient(self, draw: Draw, *, live_only: bool = False) -> Vector:
        """Return the gradient of `log_probability` in the logits.

        Args:
            draw: from this distribution, or another over the same layout.
            live_only: leave out what cannot have changed what the graph does: edges into nodes that do not reach the sink, their roles, and their models unless
                a budget made others depend on them. Whether a node reaches the sink does not depend on these, so that the parts left out are zero on average,
                and estimates stay without bias while their variance falls.

        Returns:
            x - p of each edge considered, x - p / (1 - q) of each edge to the sink with q the probability that none is there, and indicator - probability of
            roles, models and sinks; 0 of what was not left to chance.
        """
        result = [0.0] * self.layout.size
        edges, graph = set(draw.graph.edges), draw.graph
        acts = graph.live if live_only else frozenset(node.node_id for node in graph.nodes)
        for edge in draw.considered:
            if edge[1] in acts:
                place = self.layout.edge_at(edge)
                result[place] = (edge in edges) - sigmoid(self.logits[place])
        read_at_all = -expm1(self._log_unread(draw.order))
        for edge in draw.to_sink:
            place = self.layout.edge_at(edge)
            result[place] = (edge in edges) - sigmoid(self.logits[place]) / read_at_all
        for agent in draw.free_roles & acts:
            for place, (role, probability) in zip(self.layout.roles_at(agent), self.role_probabilities(agent).items(), strict=True):
                result[place] = (role is graph.node(agent).role) - probability
        for agent, models in draw.feasible.items():
            if agent in acts or draw.budgeted:
                places = self.layout.models_at(agent)
                for model, probability in zip(models, self._model_shares(agent, models), strict=True):
                    result[places[self.layout.models.index(model)]] = (model == graph.node(agent).model) - probability
        for index, (place, probability) in enumerate(zip(self.layout.sinks_at(), self.sink_probabilities(), strict=True)):
            result[place] = (index == draw.sink_index) - probability
        return tuple(result)

    def _draw_models(self, draws: Draws, budget: NodeBudget | None) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
        feasible: dict[str, tuple[str, ...]] = {}
        models: dict[str, str] = {}
        spent = 0.0
        for agent in self.layout.agents if budget is None else draws.shuffled(self.layout.agents):
            fitting = self.layout.models if budget is None else budget.affordable(self.layout.models, spent)
            if not fitting:
                break
            feasible[agent] = fitting
            models[agent] = fitting[categorical(self._model_shares(agent, fitting), draws)]
            spent += 0.0 if budget is None else budget.costs[models[agent]]
        return feasible, models

    def _draw_feeders(self, order: Sequence[str], draws: Draws) -> list[str]:
        """Draw the agents that the sink reads, given that there is at least one: until the first, each is likelier by what that rules out."""
        feeders: list[str] = []
        for index, source in enumerate(order):
            probability = self.edge_probability((source, SINK))
            some = 1.0 if feeders else -expm1(self._log_unread(order[index:]))
            # The last one must be it where none was before: without rounding, whatever was drawn.
            if draws.uniform() < probability / some or (not feeders and index == len(order) - 1):
                feeders.append(source)
        return feeders

    def _log_unread(self, agents: Sequence[str]) -> float:
        """Return the logarithm of the probability that the sink reads none of these, drawn one by one; -inf: of no agents, where nothing is drawn."""
        if not agents:
            return -inf
        return sum(log_sigmoid(-self.logits[self.layout.edge_at((agent, SINK))]) for agent in agents)

    def _model_shares(self, agent: str, models: Sequence[str]) -> Vector:
        places = self.layout.models_at(agent)
        return softmax([self.logits[places[self.layout.models.index(model)]] for model in models])

    def _softmax(self, places: range) -> Vector:
        return softmax(self.logits[places.start : places.stop])

    def _with(self, changed: Mapping[int, float]) -> Self:
        return replace(self, logits=tuple(changed.get(place, value) for place, value in enumerate(self.logits)))


def _held(probability: float) -> float:
    if not isfinite(probability):
        message = f"a probability of {probability} is none; give a number from 0 to 1"
        raise InputError(message)
    return min(max(probability, 1 - SURE), SURE)
