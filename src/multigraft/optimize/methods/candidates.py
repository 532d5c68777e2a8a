"""Graphs worth a look, by the hundred: regular shapes of every mix, and neighbours of good ones."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import Edge, Graph, Node, NodeRole
from multigraft.optimize.fitting import Fitted, affordable_sinks
from multigraft.optimize.methods.neighbours import mutated
from multigraft.optimize.methods.random_graphs import GraphDrawer
from multigraft.optimize.problem import Space
from multigraft.randomness import Draws

_EDGE_PROBABILITY = 0.119
_FUSER_PROBABILITY = 0.5

_PATTERNS: Final[tuple[Callable[[int, int, int, int], bool], ...]] = (
    lambda _place, _layer, _width, _depth: False,
    lambda place, _layer, width, _depth: place >= (width + 1) // 2,
    lambda _place, layer, _width, depth: layer == depth - 1,
    lambda place, _layer, _width, _depth: place == 0,
)
"""Where the second of two models stands: nowhere, in half the chains, in the last layer, or in the first chain."""


class Candidates:
    """A pool of graphs of a space, each once up to names.

    Args:
        space: which graphs are allowed.
        draws: the randomness.
    """

    def __init__(self, space: Space, draws: Draws) -> None:
        self._space = space
        self._draws = draws
        self._sinks = affordable_sinks(space)
        self._drawer = GraphDrawer(space, draws, edge_probability=_EDGE_PROBABILITY, fuser_probability=_FUSER_PROBABILITY)
        self.graphs: dict[str, Fitted] = {}
        """By `canonical.graph_id`."""

    def add_smallest(self) -> None:
        """Add each sink alone, or with the fewest agents it takes."""
        for sink in self._sinks:
            self._add(Fitted(self._space.smallest(sink), ()))

    def add_regular(self, count: int) -> None:
        """Add blocks of layers, as often as drawn: any width and depth, chains beside each other or layers read in full, one model or two."""
        for _ in range(count):
            block = self._block()
            if block is not None:
                self._add(block)

    def add_random(self, count: int) -> None:
        """Add graphs as random search draws them."""
        for _ in range(count):
            self._add(self._drawer.draw())

    def add_neighbours(self, graph: Graph, count: int) -> None:
        """Add graphs that differ from a good one by one to three small changes."""
        for _ in range(count):
            changed = graph
            notes: tuple[str, ...] = ()
            for _ in range(1 + self._draws.below(3)):
                changed, notes = mutated(changed, self._space, self._draws)
            self._add(Fitted(changed, notes))

    def _add(self, found: Fitted) -> None:
        self.graphs.setdefault(graph_id(found.graph), found)

    def _block(self) -> Fitted | None:
        space, draws = self._space, self._draws
        if not space.max_agents:
            return None
        sink = self._sinks[draws.below(len(self._sinks))]
        # Each number of agents of a layer, then each depth that leaves, so that wide and deep blocks are as common as each other.
        width, depth = _log_uniform(space.max_agents, draws), 1
        if width == 1 or draws.uniform() < 0.7:
            depth = _log_uniform(space.max_agents // width, draws)
        models = [space.models[draws.below(len(space.models))] for _ in range(2)]
        pattern = draws.below(len(_PATTERNS))
        layers = [[models[_PATTERNS[pattern](place, layer, width, depth)] for place in range(width)] for layer in range(depth)]
        full = draws.uniform() < 0.5
        fuses = NodeRole.FUSER in space.roles and draws.uniform() < 0.3
        graph = _layered(layers, sink, full=full, fuses=fuses)
        if any(len(graph.read_by(node.node_id)) > space.max_in_degree for node in graph.nodes) or not space.fits(graph):
            return None
        return Fitted(graph, ())


def _layered(layers: Sequence[Sequence[str]], sink: Node, *, full: bool, fuses: bool) -> Graph:
    agents: list[Node] = []
    edges: list[Edge] = []
    before: list[str] = []
    for number, layer in enumerate(layers):
        role = NodeRole.FUSER if fuses and number and number == len(layers) - 1 else NodeRole.ASSISTANT
        names = [f"a{len(agents) + place}" for place in range(1, len(layer) + 1)]
        agents += [Node(name, model, role) for name, model in zip(names, layer, strict=True)]
        edges += _links(before, names, full=full)
        before = names
    return Graph((*agents, sink), (*edges, *((name, sink.node_id) for name in before)), sink.node_id)


def _links(before: Sequence[str], names: Sequence[str], *, full: bool) -> Iterator[Edge]:
    if full:
        return ((source, target) for source in before for target in names)
    return zip(before, names, strict=False)


def _log_uniform(most: int, draws: Draws) -> int:
    """Draw a number from 1 to `most`, each doubling as likely as the other."""
    return min(most, int((most + 1) ** draws.uniform()))
