from hypothesis import given, settings
from hypothesis import strategies as st
from tests.graphs.test_canonical import renamed

from multigraft.graphs.blocks import chain, grid, parallel, random_graph, single
from multigraft.graphs.canonical import canonical_order
from multigraft.graphs.cones import cone_keys
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.randomness import Draws

THE_SINK = Node(SINK, "large")


@settings(deadline=None, max_examples=100)
@given(num_agents=st.integers(0, 9), seed=st.integers(0, 10**6), edge_probability=st.floats(0, 0.6))
def test_corresponding_nodes_of_isomorphic_graphs_draw_alike(num_agents: int, seed: int, edge_probability: float) -> None:
    graph = random_graph("ab", num_agents, THE_SINK, Draws(seed), edge_probability=edge_probability, roles=tuple(NodeRole)[:2])
    other = renamed(graph, seed)
    keys, other_keys = cone_keys(graph), cone_keys(other)
    assert [keys[node_id] for node_id in canonical_order(graph)] == [other_keys[node_id] for node_id in canonical_order(other)]
    assert len(set(keys.values())) == len(keys)


def test_which_of_two_equal_nodes_is_read_again_is_a_matter_of_names_alone() -> None:
    nodes = (Node("s1", "m"), Node("s2", "m"), Node("x", "n"), THE_SINK)
    one = cone_keys(Graph(nodes, (("s1", "x"), ("x", SINK), ("s2", SINK))))
    other = cone_keys(Graph(nodes, (("s2", "x"), ("x", SINK), ("s1", SINK))))
    assert one["x"] == other["x"]
    assert one["s1"] == other["s2"]
    assert one["s2"] == other["s1"]
    assert one["s1"] != one["s2"]


def test_a_graph_and_what_it_grows_into_share_what_they_share() -> None:
    short, long = cone_keys(chain(["m"] * 3, THE_SINK)), cone_keys(chain(["m"] * 7, THE_SINK))
    assert [short[f"a{number}"] for number in (1, 2, 3)] == [long[f"a{number}"] for number in (1, 2, 3)]
    narrow, wide = cone_keys(parallel(["m"] * 3, THE_SINK)), cone_keys(parallel(["m"] * 8, THE_SINK))
    assert len(set(narrow.values()) & set(wide.values())) == 3
    shallow, deep = cone_keys(grid(3, 2, ["m"], THE_SINK)), cone_keys(grid(3, 4, ["m"], THE_SINK))
    assert len(set(shallow.values()) & set(deep.values())) == 6


def test_refining_one_of_several_answers_leaves_all_answers_as_they_were() -> None:
    plain = cone_keys(parallel(["m"] * 3, THE_SINK))
    for source in ("a1", "a2", "a3"):
        left = [agent for agent in ("a1", "a2", "a3") if agent != source]
        nodes = (*(Node(agent, "m") for agent in ("a1", "a2", "a3", "x")), THE_SINK)
        refined = cone_keys(Graph(nodes, ((source, "x"), ("x", SINK), *((agent, SINK) for agent in left))))
        assert {refined[agent] for agent in ("a1", "a2", "a3")} == {plain[agent] for agent in ("a1", "a2", "a3")}
        # Always the first of them, so that graphs that refine one answer share that too.
        assert refined[source].endswith(".0")


def test_one_model_alone_draws_what_the_first_of_many_does() -> None:
    sink = Node(SINK, "m")
    assert cone_keys(single(sink))[SINK] == cone_keys(parallel(["m"] * 2, sink))["a1"]


def test_dead_nodes_have_no_key() -> None:
    graph = Graph((Node("a1", "m"), Node("a2", "m"), THE_SINK), (("a2", SINK),))
    assert set(cone_keys(graph)) == {"a2", SINK}
    assert cone_keys(graph)["a2"].endswith(".0")
