"""What a picture says of a graph in words: width, depth, costs, and the share of each model."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from multigraft.budget.describe import flops_text, seconds_text, usd_text
from multigraft.graphs.cost import NodeCost
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.graph import Graph


class Shape(NamedTuple):
    """How large a graph is. Live nodes only."""

    width: int
    """Agents on the level that has most; the sink is no agent."""
    depth: int
    """Agents on the longest way to the sink."""
    calls: int
    """Model calls."""
    num_dead: int
    """Nodes that do not reach the sink, and are never run."""


class ModelShare(NamedTuple):
    """What falls to one model."""

    model: str
    calls: int
    share: float | None
    """Of the cost, 0 to 1; None: not known."""


def shape_of(graph: Graph) -> Shape:
    """Measure a graph."""
    levels = graph.live_part().depth_of()
    agents = Counter(level for node_id, level in levels.items() if node_id != graph.sink)
    calls = sum(not node.selects for node in graph.live_nodes)
    return Shape(max(agents.values(), default=0), levels[graph.sink], calls, len(graph.nodes) - len(graph.live))


def shape_line(graph: Graph) -> str:
    """Say how large a graph is, in one line."""
    shape = shape_of(graph)
    calls = f"{shape.calls} {'call' if shape.calls == 1 else 'calls'}"
    if not shape.width:
        return f"one model alone, {calls}{_dead(shape)}"
    return f"width {shape.width}, depth {shape.depth}, {calls}{_dead(shape)}"


def cost_line(cost: GraphCost) -> str:
    """Say what a graph costs, in one line; what is not known is left out."""
    parts = []
    if cost.units is not None:
        parts.append(f"{cost.units:.4g} {'unit' if cost.units == 1 else 'units'}")
    if cost.flops is not None:
        parts.append(flops_text(cost.flops))
    if cost.usd is not None:
        parts.append(usd_text(cost.usd))
    if cost.latency_s is not None:
        parts.append(seconds_text(cost.latency_s))
    return ", ".join(parts)


def shares_of(nodes: Sequence[NodeCost]) -> Mapping[str, float]:
    """Return the share of the cost of each node, by id: of its FLOPs, where these are not known of its dollars; empty where both are not.

    Args:
        nodes: all live ones.
    """
    for costs in ([node.flops for node in nodes], [node.usd for node in nodes]):
        known = [cost for cost in costs if cost is not None]
        total = sum(known)
        if len(known) == len(nodes) and total > 0:
            return {node.node_id: cost / total for node, cost in zip(nodes, known, strict=True)}
    return {}


def model_shares(graph: Graph, shares: Mapping[str, float]) -> tuple[ModelShare, ...]:
    """Return what falls to each model of a graph, in the order of their names; models of dead nodes alone have no call.

    Args:
        graph: any.
        shares: see `shares_of`.
    """
    return tuple(_share(model, graph, shares) for model in sorted({node.model for node in graph.nodes if node.model}))


def _share(model: str, graph: Graph, shares: Mapping[str, float]) -> ModelShare:
    ids = [node.node_id for node in graph.live_nodes if node.model == model]
    return ModelShare(model, len(ids), _total(ids, shares) if shares else None)


def _total(ids: Iterable[str], shares: Mapping[str, float]) -> float:
    return sum(shares.get(node_id, 0.0) for node_id in ids)


def _dead(shape: Shape) -> str:
    if not shape.num_dead:
        return ""
    return f", {shape.num_dead} {'node' if shape.num_dead == 1 else 'nodes'} never run"
