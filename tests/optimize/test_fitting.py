"""Whatever a method has in mind becomes a graph of the space."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimize.methods.spaces import NAMES, assert_belongs, space_for, spaces

from multigraft.errors import BudgetError
from multigraft.graphs.graph import SINK, Edge, Graph, Node, NodeRole
from multigraft.optimize.fitting import affordable_sinks, fitted, fitted_graph
from multigraft.optimize.problem import Space, sink_node
from multigraft.randomness import Draws

IDS = [*(f"a{number}" for number in range(1, 10)), SINK, "x"]
raw_nodes = st.lists(
    st.builds(Node, st.sampled_from(IDS), st.sampled_from([*NAMES, "unknown"]), st.sampled_from([NodeRole.ASSISTANT, NodeRole.FUSER])), max_size=12
)
raw_edges = st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)), max_size=30)


@settings(deadline=None, max_examples=150)
@given(space=spaces(), nodes=raw_nodes, edges=raw_edges, connect=st.booleans())
def test_anything_becomes_sound_and_affordable(space: Space, nodes: list[Node], edges: list[Edge], connect: bool) -> None:
    try:
        allowed = affordable_sinks(space)
    except BudgetError:
        with pytest.raises(BudgetError):
            fitted(nodes, edges, SINK, space, draws=Draws(0))
        return
    found = fitted(nodes, edges, SINK, space, draws=Draws(0), connect_useless=connect)
    assert_belongs(found.graph, space)
    assert found.graph.node(SINK) in allowed
    again = fitted_graph(found.graph, space, draws=Draws(1), connect_useless=connect)
    assert again.graph == found.graph
    assert again.notes == ()


def test_a_graph_of_the_space_stays_as_it_is() -> None:
    graph = Graph((Node("a1", "small"), Node("a2", "large"), sink_node("medium")), (("a1", "a2"), ("a2", SINK)))
    assert fitted_graph(graph, space_for(), draws=Draws(0)) == (graph, ())


def test_a_node_nobody_reads_is_left_out_or_connected() -> None:
    nodes = (Node("a1", "small"), Node("a2", "small"), sink_node("medium"))
    left_out = fitted(nodes, [("a1", SINK)], SINK, space_for(), draws=Draws(0))
    assert [node.node_id for node in left_out.graph.nodes] == ["a1", SINK]
    connected = fitted(nodes, [("a1", SINK)], SINK, space_for(), draws=Draws(0), connect_useless=True, probabilities={("a2", "a1"): 0.9, ("a1", SINK): 0.5})
    assert set(connected.graph.edges) == {("a2", "a1"), ("a1", SINK)}


def test_nodes_that_are_too_many_go_and_those_never_run_go_first() -> None:
    nodes = [Node(f"a{number}", "small") for number in range(1, 6)]
    found = fitted([*nodes, sink_node("medium")], [("a4", SINK), ("a5", "a4")], SINK, space_for(max_agents=2), draws=Draws(0))
    assert [node.node_id for node in found.graph.nodes] == ["a4", "a5", SINK]
    assert "node dropped: 3 more than 2" in found.notes


def test_a_sink_that_is_not_there_or_too_dear_becomes_another() -> None:
    space = space_for(sinks=(sink_node("large"), sink_node("small")), units=6.0)
    assert affordable_sinks(space) == (sink_node("small"),)
    found = fitted([Node("a1", "small"), sink_node("large")], [("a1", SINK)], SINK, space, draws=Draws(0))
    assert found.graph == Graph((Node("a1", "small"), sink_node("small")), (("a1", SINK),))
    assert found.notes == ("sink changed: small",)


def test_what_no_graph_fits_into_is_refused() -> None:
    with pytest.raises(BudgetError, match=r"no graph fits into units=2"):
        fitted([sink_node("medium")], [], SINK, space_for(units=2.0), draws=Draws(0))
