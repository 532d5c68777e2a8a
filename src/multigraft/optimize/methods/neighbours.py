"""Graphs next to a graph: one thing changed."""

from dataclasses import replace

from multigraft.graphs.graph import Edge, Graph, Node
from multigraft.optimize.fitting import Fitted, fitted
from multigraft.optimize.problem import Space
from multigraft.randomness import Draws


def mutated(graph: Graph, space: Space, draws: Draws) -> Fitted:
    """Change one thing about a graph: a model, a role, the sink, an edge, or an agent more, fewer, or twice."""
    nodes = {node.node_id: node for node in graph.nodes}
    edges = list(graph.edges)
    agents = [node_id for node_id in nodes if node_id != graph.sink]
    free = [node_id for node_id in space.agent_ids if node_id not in nodes]
    sink = nodes.pop(graph.sink)
    change = draws.below(7)
    if change == 0 and agents:
        chosen = agents[draws.below(len(agents))]
        nodes[chosen] = replace(nodes[chosen], model=space.models[draws.below(len(space.models))])
    elif change == 1:
        sink = replace(space.sinks[draws.below(len(space.sinks))], node_id=sink.node_id)
    elif change == 2 and agents:
        chosen = agents[draws.below(len(agents))]
        nodes[chosen] = replace(nodes[chosen], role=space.roles[draws.below(len(space.roles))])
    elif change == 3 and agents:
        gone = agents[draws.below(len(agents))]
        del nodes[gone]
        # What it read is read by its readers, so that a chain gets shorter and does not break.
        sources, targets = graph.read_by(gone), graph.readers_of(gone)
        edges = [edge for edge in edges if gone not in edge] + [(source, target) for source in sources for target in targets if (source, target) not in edges]
    elif change == 4 and len(agents) > 1:
        source = agents[draws.below(len(agents))]
        targets_but_it = [name for name in (*agents, graph.sink) if name != source]
        target = targets_but_it[draws.below(len(targets_but_it))]
        edges = [edge for edge in edges if edge != (source, target)] if (source, target) in edges else [*edges, (source, target)]
    elif change == 5 and free and agents:
        twin = agents[draws.below(len(agents))]
        nodes[free[0]] = replace(nodes[twin], node_id=free[0])
        edges += [(source, free[0]) for source in graph.read_by(twin)] + [(free[0], target) for target in graph.readers_of(twin)]
    elif free:
        nodes[free[0]] = Node(free[0], space.models[draws.below(len(space.models))])
        edges = _with_agent(free[0], graph, draws)
    return fitted((*nodes.values(), sink), edges, sink.node_id, space, draws=draws, connect_useless=True)


def _with_agent(new_id: str, graph: Graph, draws: Draws) -> list[Edge]:
    """Return the edges of a graph with an agent more: within an edge, or beside all others."""
    if graph.edges and draws.uniform() < 0.5:
        split = graph.edges[draws.below(len(graph.edges))]
        return [*(edge for edge in graph.edges if edge != split), (split[0], new_id), (new_id, split[1])]
    reader = graph.nodes[draws.below(len(graph.nodes))]
    return [*graph.edges, (new_id, reader.node_id)]
