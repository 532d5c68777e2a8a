from itertools import combinations, pairwise, permutations, product
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.graphs.blocks import chain, grid, moa, parallel, random_graph, single
from multigraft.graphs.canonical import canonical, canonical_order, graph_id
from multigraft.graphs.graph import SINK, Edge, Graph, Node, NodeRole
from multigraft.randomness import Draws

THE_SINK = Node(SINK, "large")
ROLES = (NodeRole.ASSISTANT, NodeRole.FUSER)


def renamed(graph: Graph, seed: int) -> Graph:
    """Give every node a name and place at random, and the edges another order."""
    draws = Draws("renamed", seed)
    names = dict(zip([node.node_id for node in graph.nodes], draws.shuffled([f"n{number}" for number in range(len(graph.nodes))]), strict=True))
    nodes = tuple(Node(names[node.node_id], node.model, node.role) for node in draws.shuffled(graph.nodes))
    return Graph(nodes, tuple((names[source], names[target]) for source, target in draws.shuffled(graph.edges)), names[graph.sink])


def all_read_by_the_sink(models: tuple[str, ...], edges: tuple[Edge, ...]) -> Graph:
    """The sink reads every agent, so that it tells nothing about them and every graph of agents is live."""
    nodes = tuple(Node(f"a{number}", model) for number, model in enumerate(models))
    return Graph((*nodes, THE_SINK), (*edges, *((node.node_id, SINK) for node in nodes)))


def forward_edge_sets(num_agents: int) -> list[tuple[Edge, ...]]:
    pairs = list(combinations([f"a{number}" for number in range(num_agents)], 2))
    return [tuple(pair for pair, chosen in zip(pairs, bits, strict=True) if chosen) for bits in product((False, True), repeat=len(pairs))]


@pytest.mark.parametrize(("num_agents", "count"), [(1, 1), (2, 2), (3, 6), (4, 31), (5, 302)])
def test_there_are_as_many_forms_as_unlabelled_acyclic_graphs(num_agents: int, count: int) -> None:
    graphs = [all_read_by_the_sink(("m",) * num_agents, edges) for edges in forward_edge_sets(num_agents)]
    assert len({canonical(graph) for graph in graphs}) == count
    assert len({graph_id(graph) for graph in graphs}) == count


@pytest.mark.parametrize(("num_agents", "num_models", "count"), [(2, 2, 7), (3, 2, 40), (4, 2, 420), (2, 7, 77), (3, 7, 1505)])
def test_there_are_as_many_forms_as_coloured_acyclic_graphs(num_agents: int, num_models: int, count: int) -> None:
    colourings = list(product([f"m{number}" for number in range(num_models)], repeat=num_agents))
    assert len({graph_id(all_read_by_the_sink(models, edges)) for edges in forward_edge_sets(num_agents) for models in colourings}) == count


def test_forms_are_equal_exactly_where_some_renaming_makes_graphs_equal() -> None:
    agents = ("a0", "a1", "a2", "a3")
    renamings = [dict(zip(agents, names, strict=True)) | {SINK: SINK} for names in permutations(agents)]
    ids: dict[tuple[Edge, ...], set[str]] = {}
    for between, bits in product(forward_edge_sets(4), product((False, True), repeat=4)):
        edges = (*between, *((agent, SINK) for agent, chosen in zip(agents, bits, strict=True) if chosen))
        if {source for source, _ in edges} == set(agents):
            least = min(tuple(sorted((names[source], names[target]) for source, target in edges)) for names in renamings)
            ids.setdefault(least, set()).add(graph_id(Graph((*(Node(agent, "m") for agent in agents), THE_SINK), edges)))
    assert all(len(found) == 1 for found in ids.values())
    assert len({next(iter(found)) for found in ids.values()}) == len(ids)
    # With the sink these are the acyclic graphs of five nodes with one sink up to names.
    assert len(ids) == 164


@settings(deadline=None, max_examples=150)
@given(num_agents=st.integers(0, 9), seed=st.integers(0, 10**6), edge_probability=st.floats(0, 1), models=st.sampled_from(["a", "ab", "abc"]))
def test_other_names_and_orders_make_no_other_form(num_agents: int, seed: int, edge_probability: float, models: str) -> None:
    graph = random_graph(models, num_agents, THE_SINK, Draws(seed), edge_probability=edge_probability, roles=ROLES)
    other = renamed(graph, seed)
    assert canonical(graph) == canonical(other)
    assert graph_id(graph) == graph_id(other)
    assert canonical(canonical(graph)) == canonical(graph)


@settings(deadline=None, max_examples=60)
@given(num_agents=st.integers(1, 8), seed=st.integers(0, 10**6))
def test_the_form_is_the_graph_itself_under_the_order(num_agents: int, seed: int) -> None:
    graph = random_graph("ab", num_agents, THE_SINK, Draws(seed), edge_probability=0.3, roles=ROLES)
    form, order = canonical(graph), canonical_order(graph)
    assert [node.node_id for node in form.nodes] == [*(f"a{number}" for number in range(1, num_agents + 1)), SINK]
    assert form.order == tuple(node.node_id for node in form.nodes)
    back = {node.node_id: node_id for node, node_id in zip(form.nodes, order, strict=True)}
    assert {(back[source], back[target]) for source, target in form.edges} == set(graph.edges)
    assert [(node.model, node.role) for node in form.nodes] == [(graph.node(node_id).model, graph.node(node_id).role) for node_id in order]


def test_nodes_that_do_not_reach_the_sink_do_not_count() -> None:
    dead = Graph((Node("x", "m"), Node("a", "m"), Node("y", "m"), THE_SINK), (("x", "y"), ("a", SINK), ("a", "y")))
    assert canonical(dead) == canonical(parallel(["m"], THE_SINK))
    assert canonical_order(dead) == ("a", SINK)


def test_models_roles_and_the_sink_tell_graphs_apart() -> None:
    edges = (("a1", "a2"), ("a2", SINK))
    graphs = [
        Graph((Node("a1", "m"), Node("a2", "m"), THE_SINK), edges),
        Graph((Node("a1", "m"), Node("a2", "n"), THE_SINK), edges),
        Graph((Node("a1", "n"), Node("a2", "m"), THE_SINK), edges),
        Graph((Node("a1", "m"), Node("a2", "m", NodeRole.FUSER), THE_SINK), edges),
        Graph((Node("a1", "m"), Node("a2", "m"), Node(SINK, "m")), edges),
        Graph((Node("a1", "m"), Node("a2", "m"), Node(SINK, "large", NodeRole.FUSER)), edges),
        Graph((Node("a1", "m"), Node("a2", "m"), Node(SINK, "", NodeRole.VOTE)), edges),
        Graph((Node("a1", "m"), Node("a2", "m"), Node(SINK, "", NodeRole.BEST)), edges),
    ]
    assert len({graph_id(graph) for graph in graphs}) == len(graphs)
    assert len({canonical(graph) for graph in graphs}) == len(graphs)


def ring(*lengths: int) -> Graph:
    """Rings of answering and refining nodes in turn: each refining one reads the two beside it, and the sink reads all of them."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    for number, length in enumerate(lengths):
        for place in range(length):
            nodes += [Node(f"x{number}-{place}", "m"), Node(f"y{number}-{place}", "m")]
            edges += [(f"x{number}-{place}", f"y{number}-{other % length}") for other in (place, place + 1)]
            edges.append((f"y{number}-{place}", SINK))
    return Graph((*nodes, THE_SINK), tuple(edges))


def test_graphs_that_look_alike_from_every_node_are_told_apart() -> None:
    rings = [ring(8), ring(2, 6), ring(3, 5), ring(4, 4), ring(2, 2, 4), ring(2, 3, 3), ring(2, 2, 2, 2)]
    assert len({graph_id(graph) for graph in rings}) == len(rings)
    assert [graph_id(renamed(graph, seed)) for seed, graph in enumerate(rings)] == [graph_id(graph) for graph in rings]
    assert graph_id(ring(6, 2)) == graph_id(ring(2, 6))


def fed_rings(*parts: tuple[int, ...], tail: int) -> Graph:
    """A hub for each part, which reads its rings, and is read by the end of a chain: hubs look alike as long as their rings are as many nodes in all."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    for number, lengths in enumerate(parts):
        links = [f"t{number}-{place}" for place in range(tail)] + [f"top{number}"]
        rings = ring(*lengths)
        nodes += [Node(name, "m") for name in (*links, f"hub{number}")] + [
            Node(f"{number}-{node.node_id}", "m") for node in rings.nodes if node.node_id != SINK
        ]
        edges += [*pairwise(links), (f"hub{number}", links[-1]), (links[-1], SINK)]
        edges += [(f"{number}-{source}", f"hub{number}" if target == SINK else f"{number}-{target}") for source, target in rings.edges]
    return Graph((*nodes, THE_SINK), tuple(edges))


@pytest.mark.parametrize("tail", [0, 3, 12])
def test_parts_that_look_alike_and_are_not_are_in_no_order_of_names(tail: int) -> None:
    graph = fed_rings((4,), (2, 2), tail=tail)
    assert {graph_id(renamed(graph, seed)) for seed in range(12)} == {graph_id(graph)}
    assert graph_id(graph) != graph_id(fed_rings((4,), (4,), tail=tail))
    assert graph_id(graph) == graph_id(fed_rings((2, 2), (4,), tail=tail))


def cube() -> Graph:
    """Nodes are subsets of four things; each reads those with one thing less."""
    nodes = [Node(f"s{subset}", "m") for subset in range(16)]
    edges = [(f"s{subset ^ 1 << thing}", f"s{subset}") for subset in range(16) for thing in range(4) if subset >> thing & 1]
    return Graph((*nodes, THE_SINK), (*edges, ("s15", SINK)))


@pytest.mark.parametrize(
    "graph", [grid(16, 1, ["m"], THE_SINK), grid(8, 2, ["m"], THE_SINK), grid(4, 4, ["m"], THE_SINK), chain(["m"] * 16, THE_SINK), ring(8), ring(4, 4), cube()]
)
def test_seventeen_nodes_of_much_symmetry_take_no_time(graph: Graph) -> None:
    assert len(graph.nodes) == 17
    started_s = process_time()
    forms = {canonical(renamed(graph, seed)) for seed in range(20)}
    assert len(forms) == 1
    # At most some milliseconds each here; without the use of symmetry the chains of two alone would take minutes.
    assert process_time() - started_s < 2


def test_a_graph_of_hundreds_of_nodes_has_a_form() -> None:
    started_s = process_time()
    for wide in (parallel(["m"] * 400, THE_SINK), grid(200, 2, ["m"], THE_SINK), chain(["m"] * 400, THE_SINK)):
        assert canonical(renamed(wide, 1)) == canonical(wide)
    assert process_time() - started_s < 2
    # Every ring looks like every other, and each of its nodes like the next: what is found out about one must serve for all.
    rings = ring(*[3] * 6)
    started_s = process_time()
    assert graph_id(renamed(rings, 3)) == graph_id(rings)
    assert process_time() - started_s < 4
    layered = moa([["m"] * 30] * 4, THE_SINK)
    assert graph_id(renamed(layered, 2)) == graph_id(layered)


def test_ids_stay_what_they_are_between_versions() -> None:
    # They name stored results: a change here makes archives forget what they know.
    assert graph_id(single(THE_SINK)) == "f01d4fafa70b"
    assert graph_id(grid(2, 2, ["m"], THE_SINK)) == "8a0f00b7cf11"
