"""Which roles fit together: a fuser needs something raw to condense.

Source: arXiv 2511.00086, section 3 (at least one assistant; a fuser follows at least one assistant). A node that reads nothing cannot be a fuser, so a graph
with agents always has an assistant.
"""

from collections.abc import Iterable, Mapping, Sequence

from multigraft.graphs.graph import Graph, Node, NodeRole


def may_fuse(read: Iterable[NodeRole]) -> bool:
    """Whether a node that reads nodes of these roles may be a fuser: one of them is an assistant."""
    return NodeRole.ASSISTANT in read


def sound_roles(nodes: Sequence[Node], read_by: Mapping[str, Sequence[str]], order: Sequence[str], sink: str) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """Make agents assistants where they cannot be fusers; a fusing sink that reads fusers alone keeps its role, and the first of them becomes an assistant.

    Args:
        nodes: agents and sink, in any order; no selector among the agents.
        read_by: ids of the nodes that each node reads, the most wanted first.
        order: all ids, every node after those it reads.
        sink: id of the sink.

    Returns:
        The nodes in their order, and a note for each that changed.
    """
    by_id = {node.node_id: node for node in nodes}
    notes: list[str] = []
    for node_id in order:
        node, read = by_id[node_id], read_by[node_id]
        if node.role is not NodeRole.FUSER or may_fuse(by_id[source].role for source in read):
            continue
        changed = read[0] if node_id == sink and read else node_id
        by_id[changed] = Node(changed, by_id[changed].model)
        notes.append(f"role: {changed} made an assistant, since {'the sink' if changed != node_id else 'it'} reads none")
    return tuple(by_id[node.node_id] for node in nodes), tuple(notes)


def with_sound_roles(graph: Graph) -> tuple[Graph, tuple[str, ...]]:
    """Return a graph whose agents are fusers only where they read an assistant, and a note for each that changed."""
    nodes, notes = sound_roles(graph.nodes, {node.node_id: graph.read_by(node.node_id) for node in graph.nodes}, graph.order, graph.sink)
    return (Graph(nodes, graph.edges, graph.sink), notes) if notes else (graph, ())
