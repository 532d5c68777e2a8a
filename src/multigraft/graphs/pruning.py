"""A graph that costs no more than it may, out of one that does: the smallest models leave first.

Source: arXiv 2511.00086, appendix A.11 (nodes of the smallest model are deleted until the budget holds). Departures: nodes that are never run leave first and
free of charge, ties are settled by what the sink loses least by, a sink that lost all it read is fed again, and a graph that is too slow loses nodes of its
critical path, as without any other it would be as slow.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from multigraft.errors import BudgetError
from multigraft.graphs.costs import Caps, Costs
from multigraft.graphs.graph import Edge, Graph, Node
from multigraft.graphs.latency import slowest_way
from multigraft.graphs.roles import sound_roles, with_sound_roles


class Pruned(NamedTuple):
    """What came of it."""

    graph: Graph
    """Within the caps, all of it live."""
    removed: tuple[str, ...]
    """Ids of the nodes that are gone, in the order they went."""
    notes: tuple[str, ...]
    """One a change; its kind is the text up to the first colon: `dead`, `pruned`, `sink`, `role` or `model`."""


def pruned(graph: Graph, costs: Costs, caps: Caps, *, size_rank: Mapping[str, int], probabilities: Mapping[Edge, float] | None = None) -> Pruned:
    """Remove agents until the graph costs no more than it may.

    Agents that do not reach the sink leave first, and again whenever some lose their way to it. While the graph is over a cap, one agent of the smallest model
    leaves with its edges: of equals the one with the fewest live nodes downstream, then with the lowest sum of the probabilities of its edges, then the first
    by id. A sink that thereby reads nothing is connected to the best agent left: the likeliest, then the largest, then the deepest. The last agent below a sink
    that selects gets a smaller model where nothing else fits.

    While the graph only takes too long, an agent on its critical path leaves: the one without which the most agents are left, then the one without which the
    graph is the fastest, then as above, but of equals the one with the most downstream.

    Args:
        graph: any.
        costs: what graphs cost.
        caps: what one answer may cost at most.
        size_rank: rank of each model by size, 0 the smallest; a model that is not in it counts as larger than all.
        probabilities: how likely each edge is; missing ones count as 0; None: all alike.

    Raises:
        BudgetError: nothing with this sink fits; names the smallest graph there is, and what it costs.
    """
    shrinking = _Shrinking(graph, size_rank, probabilities or {}, [], [])
    shrinking.drop_dead()
    shrinking.graph, role_notes = with_sound_roles(shrinking.graph)
    shrinking.notes += role_notes
    while (exceeded := caps.exceeded(costs.of(shrinking.graph))) is not None:
        agents = [node for node in shrinking.graph.nodes if node.node_id != graph.sink]
        if not agents or (len(agents) == 1 and shrinking.graph.node(graph.sink).selects):
            shrinking.swap_last(costs, caps)
            break
        shrinking.remove(shrinking.slowest_to_go(costs) if exceeded == "latency_s" else shrinking.first_to_go(agents))
    return Pruned(shrinking.graph, tuple(shrinking.removed), tuple(shrinking.notes))


@dataclass(slots=True)
class _Shrinking:
    graph: Graph
    size_rank: Mapping[str, int]
    probabilities: Mapping[Edge, float]
    removed: list[str]
    notes: list[str]

    def rank(self, node: Node) -> int:
        return self.size_rank.get(node.model, len(self.size_rank))

    def drop_dead(self) -> None:
        live = self.graph.live_part()
        for node in self.graph.nodes:
            if node.node_id not in live.live:
                self.removed.append(node.node_id)
                self.notes.append(f"dead: {node.node_id} reaches no sink, left out")
        self.graph = live

    def first_to_go(self, agents: Iterable[Node]) -> Node:
        downstream, incident = _downstream(self.graph), self.incident()
        return min(agents, key=lambda node: (self.rank(node), downstream[node.node_id].bit_count(), incident[node.node_id], _by_number(node.node_id)))

    def slowest_to_go(self, costs: Costs) -> Node:
        """Choose an agent of the critical path: the rest should keep as many agents as it can, and be as fast as it can."""
        downstream, incident = _downstream(self.graph), self.incident()

        def loss(node: Node) -> tuple[int, float, int, int, float, tuple[int, str]]:
            rest = _Shrinking(self.graph, self.size_rank, self.probabilities, [], [])
            rest.remove(node)
            seconds = costs.of(rest.graph).latency_s or 0.0
            return len(rest.removed), seconds, self.rank(node), -downstream[node.node_id].bit_count(), incident[node.node_id], _by_number(node.node_id)

        return min((self.graph.node(node_id) for node_id in slowest_way(self.graph, costs) if node_id != self.graph.sink), key=loss)

    def incident(self) -> Mapping[str, float]:
        """Return the sum of the probabilities of each node's edges."""
        found: dict[str, float] = {node.node_id: 0.0 for node in self.graph.nodes}
        for edge in self.graph.edges:
            for end in edge:
                found[end] += self.probabilities.get(edge, 0.0)
        return found

    def remove(self, gone: Node) -> None:
        """Take one agent out, and what is needed for the rest to be a sound graph."""
        sink = self.graph.sink
        nodes = [node for node in self.graph.nodes if node is not gone]
        edges = [edge for edge in self.graph.edges if gone.node_id not in edge]
        order = [node_id for node_id in self.graph.order if node_id != gone.node_id]
        self.removed.append(gone.node_id)
        self.notes.append(f"pruned: {gone.node_id} ({gone.model}) left out")
        if len(nodes) > 1 and not any(target == sink for _, target in edges):
            best = self._best_feeder([node for node in nodes if node.node_id != sink])
            edges.append((best.node_id, sink))
            self.notes.append(f"sink: it read nothing, {best.node_id} -> {sink} added")
        read_by = {node_id: [source for source, target in edges if target == node_id] for node_id in order}
        sound, notes = sound_roles(nodes, read_by, order, sink)
        self.notes += notes
        self.graph = Graph(sound, tuple(edges), sink)
        self.drop_dead()

    def _best_feeder(self, agents: Iterable[Node]) -> Node:
        levels = self.graph.depth_of()
        return max(agents, key=lambda node: (self.probabilities.get((node.node_id, self.graph.sink), 0.0), self.rank(node), levels[node.node_id]))

    def swap_last(self, costs: Costs, caps: Caps) -> None:
        """Give the last agent below a selector the largest smaller model that fits, or say that nothing does."""
        *agents, sink = sorted(self.graph.nodes, key=lambda node: node.node_id == self.graph.sink)
        smaller = sorted((rank, model) for model, rank in self.size_rank.items() if agents and rank < self.rank(agents[0]))
        tried = self.graph
        for _, model in reversed(smaller):
            tried = Graph((Node(agents[0].node_id, model), sink), self.graph.edges, sink.node_id)
            if caps.exceeded(costs.of(tried)) is None:
                self.notes.append(f"model: {agents[0].node_id} made the smaller {model}")
                self.graph = tried
                return
        raise _nothing_fits(tried, costs, caps)


def _downstream(graph: Graph) -> Mapping[str, int]:
    """Return a bit for each node that can be reached from a node, by its id."""
    place = {node_id: index for index, node_id in enumerate(graph.order)}
    bits: dict[str, int] = {}
    for node_id in reversed(graph.order):
        bits[node_id] = 0
        for target in graph.readers_of(node_id):
            bits[node_id] |= bits[target] | 1 << place[target]
    return bits


def _by_number(node_id: str) -> tuple[int, str]:
    """`a2` before `a10`."""
    return (len(node_id), node_id)


def _nothing_fits(smallest: Graph, costs: Costs, caps: Caps) -> BudgetError:
    cost = costs.of(smallest)
    kind = caps.exceeded(cost) or ""
    value, cap = getattr(cost, kind), getattr(caps, kind)
    takes = f"its {kind} is not known" if value is None else f"it takes {kind}={value:.6g}"
    named = " + ".join(node.model or node.role for node in smallest.live_nodes)
    message = (
        f"budget infeasible: no graph with this sink fits into {kind}={cap:.6g}; the smallest is {named}, and {takes}; raise the budget or take a smaller sink"
    )
    return BudgetError(message)
