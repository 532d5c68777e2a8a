"""What a node's output depends on: the node and all that leads to it, its cone.

Nodes with equal cones, in one graph or in two, are asked the same, so the key of a cone names a node's draws: graphs that begin alike get the same outputs for
the parts they share, and these are paid once. Equal nodes beside each other are told apart by a count in canonical order, so that graphs that differ in names
alone draw alike.
"""

from collections.abc import Mapping
from hashlib import blake2b

from multigraft.graphs.canonical import canonical_order
from multigraft.graphs.graph import Graph, NodeRole
from multigraft.randomness import seed_of
from multigraft.types import Role


def call_role(graph: Graph, node_id: str) -> Role:
    """Say what the call of a node asks of its model.

    Args:
        graph: with the node in it.
        node_id: of a node that calls a model.
    """
    num_read = len(graph.read_by(node_id))
    if num_read == 0:
        return Role.ANSWER
    if graph.node(node_id).role is NodeRole.FUSER:
        return Role.FUSE
    if node_id == graph.sink:
        return Role.CONCLUDE
    return Role.REFINE if num_read == 1 else Role.AGGREGATE


def cone_keys(graph: Graph) -> Mapping[str, str]:
    """Return the key of every live node's cone, by node id.

    Two nodes have equal keys exactly when they ask the same of the same model, read nodes with equal keys, and are the same in number of their kind, counted in
    canonical order: isomorphic graphs have equal keys on corresponding nodes.
    """
    keys: dict[str, str] = {}
    met: dict[str, int] = {}
    by_id = {node.node_id: node for node in graph.nodes}
    for node_id in canonical_order(graph):
        node = by_id[node_id]
        asked = node.role if node.selects else call_role(graph, node_id)
        read = sorted(keys[source] for source in graph.read_by(node_id))
        base = blake2b("\n".join((node.model, asked, *read)).encode(), digest_size=12).hexdigest()
        met[base] = met.get(base, -1) + 1
        keys[node_id] = f"{base}.{met[base]}"
    return keys


def cone(graph: Graph, node_id: str) -> Graph:
    """Return the graph that ends in one of a graph's nodes.

    Args:
        graph: any.
        node_id: of a node in it.
    """
    found = {node_id}
    waiting = [node_id]
    while waiting:
        for source in graph.read_by(waiting.pop()):
            if source not in found:
                found.add(source)
                waiting.append(source)
    nodes = tuple(node for node in graph.nodes if node.node_id in found)
    return Graph(nodes, tuple(edge for edge in graph.edges if edge[1] in found), node_id)


def shown_order(graph: Graph, keys: Mapping[str, str], node_id: str) -> tuple[str, ...]:
    """Return the nodes that a node reads in the order it is shown them, which depends on their cones and not on their names."""
    return tuple(sorted(graph.read_by(node_id), key=keys.__getitem__))


def node_seed(seed: int, prompt_id: str, cone_key: str, attempt: int = 0) -> int:
    """Return the seed of a node's call, in [0, 2**31).

    Args:
        seed: of the run.
        prompt_id: identity of the question.
        cone_key: of the node.
        attempt: how often the node has failed before.
    """
    return seed_of(seed, prompt_id, cone_key, attempt)
