import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.errors import InputError
from multigraft.graphs.blocks import chain, grid, moa, parallel, random_graph, single
from multigraft.graphs.canonical import canonical
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.graphs.latency import span_s, sum_s
from multigraft.randomness import Draws

THE_SINK = Node(SINK, "large")
ROLES = (NodeRole.ASSISTANT, NodeRole.FUSER)


def test_one_model_is_the_sink_alone() -> None:
    assert single(THE_SINK) == Graph((THE_SINK,), ())


def test_parallel_models_are_all_read_by_the_sink_alone() -> None:
    graph = parallel(["m", "n", "m"], THE_SINK)
    assert [node.model for node in graph.nodes] == ["m", "n", "m", "large"]
    assert graph.edges == (("a1", SINK), ("a2", SINK), ("a3", SINK))


def test_a_chain_refines_one_answer() -> None:
    assert chain(["m", "n", "m"], THE_SINK).edges == (("a1", "a2"), ("a2", "a3"), ("a3", SINK))
    assert chain([], THE_SINK) == single(THE_SINK)


@pytest.mark.parametrize(("width", "depth"), [(1, 1), (1, 8), (8, 1), (3, 4), (3, 8), (4, 6), (1, 24), (24, 1)])
def test_a_grid_has_the_nodes_edges_levels_and_times_of_its_shape(width: int, depth: int) -> None:
    graph = grid(width, depth, ["m"], THE_SINK)
    assert len(graph.nodes) == width * depth + 1
    assert len(graph.edges) == width * depth
    assert max(graph.depth_of().values()) + 1 == depth + 1
    assert len(graph.read_by(SINK)) == width
    unit_s = dict.fromkeys(graph.live, 1.0)
    assert span_s(graph, unit_s) == depth + 1
    assert sum_s(graph, unit_s) == width * depth + 1


def test_a_grid_one_wide_or_one_deep_is_a_chain_or_parallel() -> None:
    assert grid(1, 5, ["m"], THE_SINK) == chain(["m"] * 5, THE_SINK)
    assert grid(5, 1, ["m"], THE_SINK) == parallel(["m"] * 5, THE_SINK)


def test_a_grid_deals_models_in_turn() -> None:
    graph = grid(2, 3, ["m", "n"], THE_SINK)
    assert [node.model for node in graph.nodes] == ["m", "n", "m", "n", "m", "n", "large"]
    assert graph.edges == (("a1", "a2"), ("a2", "a3"), ("a3", SINK), ("a4", "a5"), ("a5", "a6"), ("a6", SINK))


def test_layers_read_the_whole_layer_before() -> None:
    graph = moa([["m", "n"], ["o", "p"]], THE_SINK)
    assert set(graph.edges) == {("a1", "a3"), ("a1", "a4"), ("a2", "a3"), ("a2", "a4"), ("a3", SINK), ("a4", SINK)}
    assert moa([], THE_SINK) == single(THE_SINK)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: grid(0, 2, ["m"], THE_SINK), "width 0"),
        (lambda: grid(2, 0, ["m"], THE_SINK), "depth 0"),
        (lambda: grid(2, 2, [], THE_SINK), "0 models"),
        (lambda: moa([["m"], []], THE_SINK), "layer 2 of 2"),
        (lambda: parallel([], THE_SINK), "layer 1 of 1"),
        (lambda: parallel(["m"], Node("a1", "m")), "'a1' is taken"),
        (lambda: single(Node(SINK, "", NodeRole.VOTE)), "reads no other node"),
        (lambda: random_graph(["m"], -1, THE_SINK, Draws(0)), "-1 agents"),
        (lambda: random_graph([], 2, THE_SINK, Draws(0)), "2 agents without a model"),
        (lambda: random_graph(["m"], 2, THE_SINK, Draws(0), edge_probability=1.5), "probability of 1.5"),
        (lambda: random_graph(["m"], 2, THE_SINK, Draws(0), max_in_degree=0), "at most 0"),
    ],
)
def test_shapes_that_cannot_be_say_why(make: object, text: str) -> None:
    assert callable(make)
    with pytest.raises(InputError, match=text):
        make()


@settings(deadline=None, max_examples=200)
@given(
    num_agents=st.integers(0, 10),
    seed=st.integers(0, 10**6),
    edge_probability=st.floats(0, 1),
    room=st.one_of(st.none(), st.integers(1, 4)),
    wide=st.booleans(),
)
def test_every_agent_of_a_random_graph_reaches_the_sink_within_the_limits(
    num_agents: int, seed: int, edge_probability: float, room: int | None, wide: bool
) -> None:
    roles = ROLES if wide else ROLES[:1]
    graph = random_graph("ab", num_agents, THE_SINK, Draws(seed), edge_probability=edge_probability, roles=roles, max_in_degree=room)
    assert len(graph.live) == num_agents + 1
    assert [node.node_id for node in graph.nodes] == [*(f"a{number}" for number in range(1, num_agents + 1)), SINK]
    assert all(len(graph.read_by(node.node_id)) <= (num_agents if room is None else room) for node in graph.nodes)
    for node in graph.nodes:
        assert node.role in roles
        if node.role is NodeRole.FUSER:
            assert any(graph.node(source).role is NodeRole.ASSISTANT for source in graph.read_by(node.node_id))
    assert graph == random_graph("ab", num_agents, THE_SINK, Draws(seed), edge_probability=edge_probability, roles=roles, max_in_degree=room)


def test_the_probability_of_edges_spans_from_a_tree_to_the_densest_graph() -> None:
    densest = random_graph(["m"], 5, THE_SINK, Draws(3), edge_probability=1.0)
    assert len(densest.edges) == 5 * 4 / 2 + 5
    assert all(len(random_graph(["m"], 5, THE_SINK, Draws(seed), edge_probability=0.0).edges) == 5 for seed in range(20))


def test_random_graphs_have_both_models_and_roles_and_many_shapes() -> None:
    graphs = [random_graph("ab", 4, THE_SINK, Draws(seed), roles=ROLES) for seed in range(200)]
    assert {node.model for graph in graphs for node in graph.nodes} == {"a", "b", "large"}
    assert {node.role for graph in graphs for node in graph.nodes} == set(ROLES)
    assert len({canonical(graph) for graph in graphs}) > 150
