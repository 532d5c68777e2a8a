"""Every graph of a small space, cheapest first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import ClassVar

from multigraft.errors import InputError
from multigraft.graphs.canonical import canonical, graph_id
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.graph import Graph, Node, NodeRole
from multigraft.graphs.roles import may_fuse
from multigraft.optimize.fitting import affordable_sinks
from multigraft.optimize.problem import MethodSearch, Problem, Proposal, Space, proposed


@dataclass(frozen=True, kw_only=True)
class Exhaustive:
    """Evaluates all graphs that fit, each once, the cheapest first; refuses a space that holds more than may be evaluated.

    Args:
        batch: graphs proposed at once; >= 1.
        most_counted: graphs after which counting them for the refusal stops; >= 1.

    Raises:
        ValueError: a setting out of its range.
    """

    consults: ClassVar[bool] = False

    batch: int = 4
    most_counted: int = 10_000

    def __post_init__(self) -> None:
        for name in ("batch", "most_counted"):
            if getattr(self, name) < 1:
                message = f"{name} must be at least 1, not {getattr(self, name)}"
                raise ValueError(message)

    def search(self, problem: Problem) -> MethodSearch:
        """Propose every graph.

        Raises:
            InputError: there are more than may be evaluated; says how many, and how to have fewer.
        """
        graphs: list[Graph] = []
        for graph in all_graphs(problem.space):
            graphs.append(graph)
            if len(graphs) >= max(self.most_counted, problem.max_evaluations + 1):
                break
        if len(graphs) > problem.max_evaluations:
            raise InputError(self._refusal(len(graphs), problem))
        graphs.sort(key=lambda graph: (cheapness(problem.space.costs.of(graph)), graph_id(graph)))
        for first in range(0, len(graphs), self.batch):
            yield from proposed(*(Proposal(graph, "exhaustive") for graph in graphs[first : first + self.batch]))

    def _refusal(self, num_graphs: int, problem: Problem) -> str:
        space = problem.space
        count = f"at least {num_graphs:,}" if num_graphs >= self.most_counted else f"{num_graphs:,}"
        return (
            f"the space holds {count} graphs, and {problem.max_evaluations:,} may be evaluated: allow as many evaluations, or shrink it with fewer agents "
            f"(now up to {space.max_agents}), models ({len(space.models)}), sinks ({len(space.sinks)}) or roles ({len(space.roles)}), a lower in-degree "
            f"({space.max_in_degree}) or a lower budget; any other method searches it in part"
        )


def all_graphs(space: Space) -> Iterator[Graph]:
    """Go through all graphs that fit, each once up to the names of its nodes, those with fewer agents first; all of every graph is live.

    Each shape with models is made from one with an agent less, by an agent that reads nothing: without it, the rest is again a shape, and not dearer, so that
    what exceeds the caps need not be grown.
    """
    for sink in affordable_sinks(space):
        # As an assistant of the same model while it may read nothing yet; its own role is set with those of the agents.
        bare = Graph((Node(sink.node_id, sink.model or space.models[0]),), (), sink.node_id)
        shapes = [bare]
        for size in range(space.max_agents + 1):
            if size:
                shapes = list(_grown(shapes, space, sink))
            for shape in shapes:
                yield from _with_roles(shape, space, sink)


def cheapness(cost: GraphCost) -> tuple[float, float, float, int, float]:
    """Return what graphs are ordered by, the cheapest first: what is known of FLOPs, dollars, seconds, then calls and tokens."""
    return (cost.flops or cost.units or 0.0, cost.usd or 0.0, cost.latency_s or 0.0, cost.calls, cost.tokens)


def _grown(shapes: list[Graph], space: Space, sink: Node) -> Iterator[Graph]:
    seen: set[str] = set()
    for shape in shapes:
        open_ends = [node.node_id for node in shape.nodes if len(shape.read_by(node.node_id)) < space.max_in_degree]
        new_id = f"a{len(shape.nodes)}"
        for model, num_read in product(space.models, range(1, len(open_ends) + 1)):
            for targets in combinations(open_ends, num_read):
                grown = Graph((Node(new_id, model), *shape.nodes), (*shape.edges, *((new_id, target) for target in targets)), shape.sink)
                key = graph_id(grown)
                if key not in seen and space.fits(_ending_in(sink, grown)):
                    seen.add(key)
                    yield canonical(grown)


def _with_roles(shape: Graph, space: Space, sink: Node) -> Iterator[Graph]:
    if len(shape.nodes) == 1:
        if not sink.selects and sink.role is not NodeRole.FUSER:
            yield Graph((sink,), (), sink.node_id)
        return
    ended = _ending_in(sink, shape)
    readers = [node for node in ended.nodes if node.node_id != ended.sink and ended.read_by(node.node_id)]
    seen: set[str] = set()
    for roles in product(space.roles, repeat=len(readers)):
        given = dict(zip([node.node_id for node in readers], roles, strict=True))
        by_id = {node.node_id: replace(node, role=given.get(node.node_id, node.role)) for node in ended.nodes}
        if any(node.role is NodeRole.FUSER and not may_fuse(by_id[source].role for source in ended.read_by(node.node_id)) for node in by_id.values()):
            continue
        graph = Graph(tuple(by_id.values()), ended.edges, ended.sink)
        key = graph_id(graph)
        if key not in seen and space.fits(graph):
            seen.add(key)
            yield graph


def _ending_in(sink: Node, shape: Graph) -> Graph:
    """Put the sink in the place of the assistant that stood for it; agents get the assistant's role."""
    nodes = tuple(replace(sink, node_id=shape.sink) if node.node_id == shape.sink else node for node in shape.nodes)
    return Graph(nodes, shape.edges, shape.sink)
