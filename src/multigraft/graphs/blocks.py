"""Shapes of collaboration graphs: one model, wide, deep, wide and deep, layers that read each other in full, and random ones.

Agents are named `a1`, `a2`, ... Source of the shapes: arXiv 2511.00086, section 4 (width, depth, and both); layers: Wang et al., "Mixture-of-Agents Enhances
Large Language Model Capabilities" (arXiv 2406.04692), section 2.
"""

from collections.abc import Sequence
from itertools import pairwise

from multigraft.errors import InputError
from multigraft.graphs.graph import Edge, Graph, Node, NodeRole
from multigraft.graphs.roles import may_fuse
from multigraft.randomness import Draws


def single(sink: Node) -> Graph:
    """Return the sink alone: one model."""
    return Graph((sink,), (), sink.node_id)


def parallel(models: Sequence[str], sink: Node) -> Graph:
    """Let each model answer, and the sink read them all."""
    return moa((models,), sink)


def chain(models: Sequence[str], sink: Node) -> Graph:
    """Let the first model answer, each further one refine the answer before, and the sink read the last."""
    return moa([(model,) for model in models], sink)


def grid(width: int, depth: int, models: Sequence[str], sink: Node) -> Graph:
    """Set chains beside each other, the sink reading the last node of each.

    Args:
        width: number of chains; >= 1.
        depth: agents a chain; >= 1.
        models: dealt to the agents in turn, chain by chain; one model goes to all.
        sink: of the graph.

    Returns:
        width * depth + 1 nodes and as many edges less one, on depth + 1 levels.

    Raises:
        InputError: a width or depth below 1, or no model.
    """
    if width < 1 or depth < 1 or not models:
        message = f"a grid of width {width} and depth {depth} with {len(models)} models is none; give at least 1 of each"
        raise InputError(message)
    agents = [Node(f"a{number + 1}", models[number % len(models)]) for number in range(width * depth)]
    edges: list[Edge] = []
    for first in range(0, width * depth, depth):
        links = [node.node_id for node in agents[first : first + depth]] + [sink.node_id]
        edges += pairwise(links)
    return Graph((*agents, sink), tuple(edges), sink.node_id)


def moa(layers: Sequence[Sequence[str]], sink: Node) -> Graph:
    """Let every node read all nodes of the layer before, and the sink all of the last.

    Args:
        layers: models of each layer; none empty.
        sink: of the graph.

    Raises:
        InputError: an empty layer.
    """
    if not all(layers):
        message = f"layer {[bool(layer) for layer in layers].index(False) + 1} of {len(layers)} has no model; give each at least one"
        raise InputError(message)
    agents: list[Node] = []
    edges: list[Edge] = []
    before: list[Node] = []
    for layer in layers:
        nodes = [Node(f"a{len(agents) + number}", model) for number, model in enumerate(layer, start=1)]
        edges += [(source.node_id, target.node_id) for source in before for target in nodes]
        agents += nodes
        before = nodes
    edges += [(source.node_id, sink.node_id) for source in before]
    return Graph((*agents, sink), tuple(edges), sink.node_id)


def random_graph(
    models: Sequence[str],
    num_agents: int,
    sink: Node,
    draws: Draws,
    *,
    edge_probability: float = 0.5,
    roles: Sequence[NodeRole] = (NodeRole.ASSISTANT,),
    max_in_degree: int | None = None,
) -> Graph:
    """Draw a graph in which every agent reaches the sink.

    Agents get models and roles at random and stand in a random order; each reads each before it with the probability given, and so does the sink. An agent that
    nobody reads is then read by a random node after it, the sink among them, that has room.

    Args:
        models: each as likely for an agent; at least one.
        num_agents: nodes beside the sink; >= 0.
        sink: of the graph.
        draws: the source of chance.
        edge_probability: in [0, 1].
        roles: each as likely for an agent that reads an assistant; all others are assistants.
        max_in_degree: nodes that one node reads at most, >= 1; None: no limit.

    Raises:
        InputError: a number outside its range, or no model.
    """
    _check_random(models, num_agents, edge_probability, max_in_degree)
    place = draws.shuffled(range(num_agents))
    order = [f"a{number + 1}" for number in place] + [sink.node_id]
    room = num_agents if max_in_degree is None else max_in_degree
    read: dict[str, list[str]] = {}
    for index, target in enumerate(order):
        drawn = [source for source in order[:index] if draws.uniform() < edge_probability]
        read[target] = draws.sample(drawn, room)
    for index in reversed(range(num_agents)):
        source, later = order[index], order[index + 1 :]
        if not any(source in read[target] for target in later):
            open_ones = [target for target in later if len(read[target]) < room]
            # Each node has at least one after it, and the next agent's reader was settled before it: a full one makes room instead.
            target = open_ones[draws.below(len(open_ones))] if open_ones else order[index + 1]
            read[target] = [*read[target][: room - 1], source]
    agents: dict[str, Node] = {}
    for node_id in order[:-1]:
        role = roles[draws.below(len(roles))]
        if role is NodeRole.FUSER and not may_fuse(agents[source].role for source in read[node_id]):
            role = NodeRole.ASSISTANT
        agents[node_id] = Node(node_id, models[draws.below(len(models))], role)
    nodes = (*(agents[f"a{number}"] for number in range(1, num_agents + 1)), sink)
    return Graph(nodes, tuple((source, target) for target, sources in read.items() for source in sources), sink.node_id)


def _check_random(models: Sequence[str], num_agents: int, edge_probability: float, max_in_degree: int | None) -> None:
    problem = None
    if num_agents < 0:
        problem = f"{num_agents} agents; give 0 or more"
    elif num_agents and not models:
        problem = f"{num_agents} agents without a model; name at least one model"
    elif not 0 <= edge_probability <= 1:
        problem = f"an edge probability of {edge_probability}; give a number from 0 to 1"
    elif max_in_degree is not None and max_in_degree < 1:
        problem = f"nodes that read at most {max_in_degree} others; give at least 1"
    if problem:
        message = f"a random graph cannot have {problem}"
        raise InputError(message)
