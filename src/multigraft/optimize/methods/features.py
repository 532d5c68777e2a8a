"""A graph as numbers: what a model of quality generalises over, and what a single look at a picture of the graph would tell.

Equal graphs up to names have equal features. Every feature is of the size of one, so that a distance between graphs means something without looking at data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from multigraft.graphs.graph import Graph, NodeRole
from multigraft.optimize.problem import Space


@dataclass(frozen=True, slots=True)
class Features:
    """Of the live part of a graph, in groups that are compared apart."""

    mix: tuple[float, ...]
    """Which models: the sink's (one of each, and of each role), and each model's share of the agents, by calls."""
    shape: tuple[float, ...]
    """How wide, how deep, how many."""
    detail: tuple[float, ...]
    """How the nodes are connected: what is read, by whom, fused or not, and where each model stands."""


class Featuriser:
    """Turns graphs into features.

    Args:
        space: the models and sinks there may be.
    """

    def __init__(self, space: Space) -> None:
        self._models = space.models
        self._roles = tuple(dict.fromkeys((NodeRole.ASSISTANT, *(sink.role for sink in space.sinks), *space.roles)))
        names = dict.fromkeys((*space.models, *(sink.model for sink in space.sinks)))
        self._names = tuple(name for name in names if name)

    def of(self, graph: Graph) -> Features:
        """Return the features of a graph."""
        live = graph.live_nodes
        agents = [node for node in live if node.node_id != graph.sink]
        sink = graph.node(graph.sink)
        levels = graph.depth_of()
        width = _width([levels[node.node_id] for node in agents])
        depth = levels[graph.sink]
        sources = [node.model for node in agents if not graph.read_by(node.node_id)]
        mix = [float(sink.model == name) for name in self._names] + [float(sink.role is role) for role in self._roles]
        mix += _shares([node.model for node in agents], self._models)
        shape = (_size(width), _size(depth), _size(len(agents)))
        in_degrees = [len(graph.read_by(node.node_id)) for node in live if graph.read_by(node.node_id)]
        fusers = sum(node.role is NodeRole.FUSER for node in agents)
        last = [graph.node(node_id).model for node_id in graph.read_by(graph.sink)]
        detail = [
            _size(len(last)) if last else 0.0,
            _size(sum(in_degrees) / len(in_degrees)) if in_degrees else 0.0,
            fusers / len(agents) if agents else 0.0,
            len(sources) / len(agents) if agents else 0.0,
            *_shares(sources, self._models),
            *_shares(last, self._models),
        ]
        return Features(tuple(mix), shape, tuple(detail))


def _width(levels: Sequence[int]) -> int:
    return max((levels.count(level) for level in set(levels)), default=0)


def _size(number: float) -> float:
    """Map numbers to a scale on which each doubling is as far: 0 to 0, 1 to 1/3, 3 to 2/3, 7 to 1."""
    return log2(1.0 + number) / 3.0


def _shares(found: Sequence[str], models: Sequence[str]) -> list[float]:
    return [found.count(model) / len(found) if found else 0.0 for model in models]
