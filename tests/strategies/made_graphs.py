"""Graphs for tests: a line of text each, and random ones."""

from hypothesis import strategies as st

from multigraft.graphs.graph import Graph, Node, NodeRole

ROLES = {"a": NodeRole.ASSISTANT, "f": NodeRole.FUSER, "v": NodeRole.VOTE, "b": NodeRole.BEST}


def graph_from(text: str) -> Graph:
    """Read a graph from words `name:model<read,read`; the last is the sink. `model/f` makes a fuser, `/v` a sink that votes, `/b` one that takes the best."""
    nodes, edges = [], []
    for word in text.split():
        name, _, rest = word.partition(":")
        what, _, read = rest.partition("<")
        model, _, role = what.partition("/")
        nodes.append(Node(name, model, ROLES[role or "a"]))
        edges += [(source, name) for source in read.split(",") if source]
    return Graph(tuple(nodes), tuple(edges), nodes[-1].node_id)


@st.composite
def random_graphs(draw: st.DrawFn, models: str = "abc", most: int = 9) -> Graph:
    """Draw any graph of up to so many agents, some of them dead, and any kind of sink."""
    count = draw(st.integers(0, most))
    sink_role = draw(st.sampled_from(list(NodeRole) if count else [NodeRole.ASSISTANT]))
    edges = [(f"n{source}", f"n{target}") for target in range(count) for source in range(target) if draw(st.booleans())]
    reading = {target for _, target in edges}
    nodes = []
    for number in range(count):
        may_fuse = f"n{number}" in reading and draw(st.booleans())
        nodes.append(Node(f"n{number}", draw(st.sampled_from(models)), NodeRole.FUSER if may_fuse else NodeRole.ASSISTANT))
    last = draw(st.sets(st.integers(0, count - 1), min_size=1)) if count else set()
    edges += [(f"n{number}", "sink") for number in sorted(last)]
    selects = sink_role in {NodeRole.VOTE, NodeRole.BEST}
    nodes.append(Node("sink", "" if selects else draw(st.sampled_from(models)), sink_role))
    return Graph(tuple(nodes), tuple(edges))
