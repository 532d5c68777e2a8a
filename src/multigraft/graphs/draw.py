"""A graph drawn from a distribution, with all that chance decided, so that its probability and the gradient of it can be told."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from multigraft.errors import InputError
from multigraft.graphs.graph import Edge, Graph


@dataclass(frozen=True, slots=True)
class NodeBudget:
    """What the agents of one graph may weigh together, as a quick bound while models are drawn.

    Args:
        costs: weight of an agent by its model; > 0.
        total: of all agents; >= 0.

    Raises:
        InputError: a weight that is not positive, or a negative total.
    """

    costs: Mapping[str, float]
    total: float

    def __post_init__(self) -> None:
        light = [model for model, cost in self.costs.items() if not cost > 0]
        if light or not self.total >= 0:
            message = f"agents of {light[0]!r} weigh {self.costs[light[0]]}; give more than 0" if light else f"a total weight of {self.total}; give 0 or more"
            raise InputError(message)

    def affordable(self, models: tuple[str, ...], spent: float) -> tuple[str, ...]:
        """Return the models that still fit, in their order."""
        # Sums of floats: what the total was computed from must fit under it.
        return tuple(model for model in models if spent + self.costs[model] <= self.total * (1 + 1e-12))


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw."""

    graph: Graph
    """All agents that took part, and the sink; some may not reach it."""
    order: tuple[str, ...]
    """The agents that took part: each could read those before it, and none after."""
    sink_index: int = 0
    """Which of the sinks it is."""
    feasible: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By agent whose model was drawn, the models it was drawn from. Where a budget left some out, they depend on the models drawn before."""
    free_roles: frozenset[str] = frozenset()
    """Agents whose role was left to chance; all others had to be assistants."""
    budgeted: bool = False
    """Whether the models drawn for some agents limited those of others."""

    @property
    def considered(self) -> tuple[Edge, ...]:
        """The edges between agents that could have been there."""
        return tuple((source, target) for index, target in enumerate(self.order) for source in self.order[:index])

    @property
    def to_sink(self) -> tuple[Edge, ...]:
        """The edges to the sink that could have been there; at least one of them is, where there are any."""
        return tuple((source, self.graph.sink) for source in self.order)
