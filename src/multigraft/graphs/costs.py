"""What one answer of a graph costs, and the most it may cost. How the numbers are found: `cost`, `latency`."""

from typing import NamedTuple, Protocol

from multigraft.graphs.graph import Graph


class GraphCost(NamedTuple):
    """Expected cost of one question, live nodes only. None: not known."""

    calls: int
    """Model calls."""
    tokens: float
    """Prompt and completion tokens together."""
    flops: float | None = None
    units: float | None = None
    """FLOPs, in units of one call of the pool's smallest model that reads no other node."""
    usd: float | None = None
    latency_s: float | None = None
    """Critical path: with as many free places as the graph is wide."""
    latency_sum_s: float | None = None
    """One call after the other."""


class Caps(NamedTuple):
    """The most one question may cost; None: no limit of that kind."""

    units: float | None = None
    flops: float | None = None
    usd: float | None = None
    latency_s: float | None = None
    calls: int | None = None

    def exceeded(self, cost: GraphCost) -> str | None:
        """Name a kind of which a graph costs more than it may; None: it fits. A limited kind that is not known counts as exceeded."""
        for kind, cap in self._asdict().items():
            value = getattr(cost, kind)
            # Sums of floats: what a cap was computed from must fit under it.
            if cap is not None and (value is None or value > cap * (1 + 1e-12)):
                return kind
        return None


NO_CAPS = Caps()


class Costs(Protocol):
    """Knows what graphs cost: the models' sizes and prices, and the token counts of the task."""

    def of(self, graph: Graph) -> GraphCost:
        """Return the expected cost of one question.

        Adding a node or an edge to the live part never makes it cheaper.
        """
        ...
