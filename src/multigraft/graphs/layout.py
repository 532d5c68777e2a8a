"""What a distribution over graphs is over, and where in the vector of its logits each thing stands."""

from dataclasses import dataclass

from multigraft.errors import InputError
from multigraft.graphs.graph import SELECTORS, SINK, Edge, Node, NodeRole


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """What a distribution is over, and where in the vector of logits each thing stands.

    Args:
        agents: ids, distinct, none `SINK`.
        models: distinct; at least one where there are agents.
        sinks: with the id `SINK`; at least one; one that selects only where there are agents.
        roles: of the agents; the assistant among them.

    Raises:
        InputError: one of these does not hold.
    """

    agents: tuple[str, ...]
    models: tuple[str, ...]
    sinks: tuple[Node, ...]
    roles: tuple[NodeRole, ...] = (NodeRole.ASSISTANT, NodeRole.FUSER)

    def __post_init__(self) -> None:
        problem = None
        if len(set(self.agents)) < len(self.agents) or SINK in self.agents:
            problem = f"agents need distinct ids other than '{SINK}', not {', '.join(self.agents)}"
        elif len(set(self.models)) < len(self.models) or (self.agents and not self.models):
            problem = f"models need distinct names, at least one, not {', '.join(self.models) or 'none'}"
        elif not self.sinks or any(sink.node_id != SINK for sink in self.sinks):
            problem = f"sinks need the id '{SINK}', at least one, not {', '.join(sink.node_id for sink in self.sinks) or 'none'}"
        elif any(sink.selects or sink.role is NodeRole.FUSER for sink in self.sinks) and not self.agents:
            problem = "a sink that selects or fuses needs agents to read; give at least one"
        elif NodeRole.ASSISTANT not in self.roles or SELECTORS & set(self.roles) or len(set(self.roles)) < len(self.roles):
            problem = f"agents are assistants, and fusers too if wanted, not {', '.join(self.roles) or 'nothing'}"
        if problem:
            raise InputError(problem)

    @property
    def size(self) -> int:
        """Number of logits: N * N of edges, then N * roles, N * models, and the sinks."""
        return len(self.agents) * (len(self.agents) + len(self.roles) + len(self.models)) + len(self.sinks)

    def edge_at(self, edge: Edge) -> int:
        """Return where an edge stands: row of its source, column of its target; an edge to the sink takes the diagonal, where no edge is.

        Raises:
            InputError: there is no such edge.
        """
        source, target = edge
        if source not in self.agents or source == target or (target != SINK and target not in self.agents):
            message = f"{source} -> {target} is no edge between the agents {', '.join(self.agents)} or to '{SINK}'"
            raise InputError(message)
        row = self.agents.index(source)
        return row * len(self.agents) + (row if target == SINK else self.agents.index(target))

    def roles_at(self, agent: str) -> range:
        """Return where the roles of an agent stand."""
        num_agents, num_roles = len(self.agents), len(self.roles)
        first = num_agents * num_agents + self.agents.index(agent) * num_roles
        return range(first, first + num_roles)

    def models_at(self, agent: str) -> range:
        """Return where the models of an agent stand."""
        num_agents, num_models = len(self.agents), len(self.models)
        first = num_agents * (num_agents + len(self.roles)) + self.agents.index(agent) * num_models
        return range(first, first + num_models)

    def sinks_at(self) -> range:
        """Return where the sinks stand."""
        return range(self.size - len(self.sinks), self.size)

    def edges(self) -> tuple[Edge, ...]:
        """Return all edges there may be, by source."""
        return tuple((source, SINK if source == target else target) for source in self.agents for target in self.agents)
