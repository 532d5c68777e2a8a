"""The agents an optimiser model works with, and the names it knows their models by."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Final

from multigraft.graphs.graph import Edge, Graph, Node, NodeRole
from multigraft.optimize.problem import Space

_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9_.:-]+")
_NAME_CHARACTERS: Final = 48


class Names:
    """Names of models as a prompt shows them: letters, digits and `_.:-` only, so that no name can say anything.

    Args:
        models: of the pool; distinct.
    """

    def __init__(self, models: Sequence[str]) -> None:
        self._shown: dict[str, str] = {}
        for model in models:
            # Of a path, the end is what tells models apart.
            base = _UNUSUAL.sub("_", model.rpartition("/")[2] or model)[:_NAME_CHARACTERS] or "model"
            name, number = base, 2
            while name in self._shown.values():
                name, number = f"{base}-{number}", number + 1
            self._shown[model] = name
        self._models = {name: model for model, name in self._shown.items()}

    @property
    def all(self) -> tuple[str, ...]:
        """Every name, in the order of the pool."""
        return tuple(self._models)

    @property
    def real(self) -> tuple[str, ...]:
        """Every model, in the order of the pool."""
        return tuple(self._shown)

    def shown(self, model: str) -> str:
        """Return the name a model is shown by; empty for a selector's."""
        return self._shown[model] if model else ""

    def model(self, name: object) -> str | None:
        """Return the model somebody means, by its shown or its own name; None: there is none."""
        if not isinstance(name, str):
            return None
        return self._models.get(name) or (name if name in self._shown else None)


@dataclass(frozen=True, kw_only=True)
class Team:
    """Agents and a sink. How many there are of which model stays; roles, edges, and who has which model do not.

    Args:
        space: they belong to.
        nodes: the agents, without the sink; at least one. Those that do not reach the sink rest, and cost nothing.
        sink: stays as it is.
    """

    space: Space
    nodes: tuple[Node, ...]
    sink: Node

    @cached_property
    def names(self) -> Names:
        """Names of the models, the sink's among them."""
        return Names(tuple(dict.fromkeys((*self.space.models, *([self.sink.model] if self.sink.model else ())))))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Ids of the agents."""
        return tuple(node.node_id for node in self.nodes)

    @cached_property
    def candidates(self) -> tuple[Edge, ...]:
        """Every edge there may be: between any two agents, and from any to the sink."""
        return (*permutations(self.ids, 2), *((node_id, self.sink.node_id) for node_id in self.ids))

    def with_nodes_of(self, graph: Graph) -> "Team":
        """Take over the roles and models that agents have in a graph."""
        by_id = {node.node_id: node for node in graph.nodes}
        return Team(space=self.space, nodes=tuple(by_id.get(node.node_id, node) for node in self.nodes), sink=self.sink)


def team_of(space: Space, counts: Mapping[str, int], sink: Node) -> Team:
    """Make a team.

    Args:
        space: which graphs are searched.
        counts: agents by model; together at least one, at most `max_agents`.
        sink: of the space.
    """
    # Dear models last: drafts are cheap, and what stands next to the sink reads most.
    models = [model for model in space.models for _ in range(counts.get(model, 0))]
    nodes = tuple(Node(node_id, model, NodeRole.ASSISTANT) for node_id, model in zip(space.agent_ids, models, strict=False))
    return Team(space=space, nodes=nodes, sink=sink)
