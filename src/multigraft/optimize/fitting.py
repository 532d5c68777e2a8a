"""From what a method has in mind to a graph that is sound and affordable: what every proposal goes through."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from multigraft.graphs.graph import Edge, Graph, Node, NodeRole
from multigraft.graphs.pruning import pruned
from multigraft.graphs.repair import repaired
from multigraft.optimize.problem import Space
from multigraft.randomness import Draws


class Fitted(NamedTuple):
    """A graph of the space."""

    graph: Graph
    """Sound, within the caps, all of it live."""
    notes: tuple[str, ...]
    """What was changed, each up to its first colon by its kind."""


def fitted(
    nodes: Iterable[Node],
    edges: Iterable[Edge],
    sink: str,
    space: Space,
    *,
    probabilities: Mapping[Edge, float] | None = None,
    draws: Draws,
    connect_useless: bool = False,
) -> Fitted:
    """Make a graph of the space out of nodes and edges of any kind.

    Nodes of models or roles that the space does not have, and nodes beyond the most there may be, are dropped or changed; a sink that the space does not have,
    or that is too dear by itself, becomes one that it has; then the edges are repaired, and the graph is pruned to the caps.

    Args:
        nodes: the sink among them, where there is one.
        edges: pairs of node ids; ends that do not exist, loops and cycles are allowed.
        sink: id of the sink.
        space: which graphs are allowed.
        probabilities: of edges, [0, 1]: those more probable are kept and added first.
        draws: for the choice of nodes that are too many.
        connect_useless: give a node that nobody reads its likeliest reader, instead of leaving it out.

    Raises:
        BudgetError: no graph at all fits into the caps.
    """
    notes: list[str] = []
    kept = _known(nodes, space, notes)
    agents = [node for node in kept if node.node_id != sink]
    given = next((node for node in kept if node.node_id == sink), None)
    target = _sink(given, space, notes)
    # The space's sinks have an id of their own; nothing else may have it.
    agents = [node for node in agents if node.node_id != target.node_id]
    renamed = [(source, target.node_id if end == sink else end) for source, end in edges]
    agents = _few_enough(_with_known_roles(agents, space, notes), _reaching(target.node_id, renamed), space.max_agents, draws, notes)
    if not agents:
        return Fitted(space.smallest(target), tuple(notes))
    sound = repaired((*agents, target), renamed, target.node_id, probabilities, max_in_degree=space.max_in_degree, connect_useless=connect_useless)
    rank = {model: index for index, model in enumerate(space.models)}
    cheap = pruned(sound.graph, space.costs, space.caps, size_rank=rank, probabilities=probabilities)
    notes += [*sound.notes, *cheap.notes]
    return Fitted(cheap.graph.live_part(), tuple(notes))


def fitted_graph(graph: Graph, space: Space, *, probabilities: Mapping[Edge, float] | None = None, draws: Draws, connect_useless: bool = False) -> Fitted:
    """Make a graph of the space out of any graph; see `fitted`."""
    return fitted(graph.nodes, graph.edges, graph.sink, space, probabilities=probabilities, draws=draws, connect_useless=connect_useless)


def affordable_sinks(space: Space) -> tuple[Node, ...]:
    """Return the sinks that fit into the caps by themselves, or with one agent of the cheapest model where they call none.

    Raises:
        BudgetError: there is none; names the smallest graph.
    """
    space.check()
    return tuple(sink for sink in space.sinks if space.fits(space.smallest(sink)))


def _known(nodes: Iterable[Node], space: Space, notes: list[str]) -> list[Node]:
    known: dict[str, Node] = {}
    for node in nodes:
        if node.node_id in known:
            notes.append(f"node dropped: the id {node.node_id} twice")
        elif node in space.sinks or node.model in space.models:
            known[node.node_id] = node
        else:
            notes.append(f"node dropped: {node.node_id} has no model of the pool")
    return list(known.values())


def _sink(given: Node | None, space: Space, notes: list[str]) -> Node:
    allowed = affordable_sinks(space)
    if given in allowed:
        return given
    sink = next((sink for sink in allowed if given is not None and (sink.model == given.model or sink.role is given.role)), allowed[0])
    notes.append(f"sink changed: {sink.model or sink.role}")
    return sink


def _with_known_roles(agents: Sequence[Node], space: Space, notes: list[str]) -> list[Node]:
    roles = [replace(node, role=NodeRole.ASSISTANT) if node.role not in space.roles else node for node in agents]
    changed = sum(before.role is not after.role for before, after in zip(agents, roles, strict=True))
    if changed:
        notes.append(f"role changed: {changed} of {len(agents)}")
    return roles


def _few_enough(agents: Sequence[Node], useful: Collection[str], most: int, draws: Draws, notes: list[str]) -> list[Node]:
    excess = len(agents) - most
    if excess <= 0:
        return list(agents)
    notes.append(f"node dropped: {excess} more than {most}")
    worth = sorted(draws.shuffled(agents), key=lambda node: node.node_id not in useful)
    kept = {node.node_id for node in worth[:most]}
    return [node for node in agents if node.node_id in kept]


def _reaching(sink: str, edges: Sequence[Edge]) -> set[str]:
    found = {sink}
    waiting = [sink]
    while waiting:
        end = waiting.pop()
        for source in [source for source, target in edges if target == end and source not in found]:
            found.add(source)
            waiting.append(source)
    return found
