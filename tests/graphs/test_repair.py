from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.errors import InputError
from multigraft.graphs.graph import SINK, Edge, Graph, Node, NodeRole
from multigraft.graphs.repair import repaired

THE_SINK = Node(SINK, "large")
FUSER = NodeRole.FUSER
NAMES = st.sampled_from(["a1", "a2", "a3", "a4", "a5", SINK, "", "no id", "../x", "ghost", "a" * 41, "é"])
NODES = st.builds(Node, NAMES, st.sampled_from(["m", "n", ""]), st.sampled_from(list(NodeRole)))
EDGES = st.lists(st.tuples(NAMES, NAMES), max_size=30)
ODDS = st.one_of(st.none(), st.dictionaries(st.tuples(NAMES, NAMES), st.one_of(st.floats(0, 1), st.sampled_from([nan, inf, -inf, -3.0])), max_size=30))


def assistants(*node_ids: str) -> list[Node]:
    return [Node(node_id, "m") for node_id in node_ids]


def assert_sound(graph: Graph, sink: Node, max_in_degree: int) -> None:
    """What `Graph` refuses cannot be here; this is the rest."""
    assert graph.sink == sink.node_id
    assert graph.node(graph.sink) == sink or (sink.role is FUSER and len(graph.nodes) == 1)
    assert len(graph.nodes) == 1 or graph.read_by(graph.sink)
    for node in graph.nodes:
        read = [graph.node(source).role for source in graph.read_by(node.node_id)]
        assert len(read) <= max_in_degree
        if node.role is FUSER:
            assert NodeRole.ASSISTANT in read


@settings(deadline=None, max_examples=400)
@given(
    nodes=st.lists(NODES, max_size=9),
    edges=EDGES,
    odds=ODDS,
    sink=st.sampled_from([THE_SINK, Node(SINK, "large", FUSER), Node(SINK, "", NodeRole.VOTE), Node(SINK, "", NodeRole.BEST)]),
    max_in_degree=st.integers(1, 4),
    connect=st.booleans(),
    keep_dead=st.booleans(),
)
def test_whatever_comes_in_a_sound_graph_comes_out(
    nodes: list[Node], edges: list[Edge], odds: dict[Edge, float] | None, sink: Node, max_in_degree: int, connect: bool, keep_dead: bool
) -> None:
    usable = {node.node_id for node in nodes if node.model and node.node_id in {"a1", "a2", "a3", "a4", "a5", "ghost"}}
    if sink.selects and not usable:
        with pytest.raises(InputError, match="no agent is left"):
            repaired(nodes, edges, sink, odds)
        return
    graph, notes = repaired(nodes, edges, sink, odds, max_in_degree=max_in_degree, connect_useless=connect, keep_dead=keep_dead)
    assert_sound(graph, sink, max_in_degree)
    assert {node.node_id for node in graph.nodes} - {SINK} <= usable
    if keep_dead:
        assert {node.node_id for node in graph.nodes} == usable | {SINK}
    else:
        assert graph.live_part() == graph
    assert {note.split(":", 1)[0] for note in notes} <= {"node", "edge", "in-degree", "cycle", "sink", "useless", "dead", "role"}
    added = sum(note.endswith(" added") for note in notes)
    assert len(set(graph.edges) - set(edges)) <= added
    again = repaired(graph.nodes, graph.edges, graph.sink, max_in_degree=max_in_degree, keep_dead=keep_dead)
    assert again == (graph, ())


def test_a_sound_graph_stays_as_it_is() -> None:
    nodes = [Node("a1", "m"), Node("a2", "n", FUSER), THE_SINK]
    edges = [("a1", "a2"), ("a2", SINK), ("a1", SINK)]
    assert repaired(nodes, edges, THE_SINK) == (Graph(tuple(nodes), tuple(edges)), ())
    assert repaired(nodes, edges, SINK) == (Graph(tuple(nodes), tuple(edges)), ())


def test_a_cycle_loses_its_least_likely_edge() -> None:
    edges = [("a1", "a2"), ("a2", "a3"), ("a3", "a1"), ("a3", SINK), ("a1", SINK)]
    odds = dict(zip(edges, [0.3, 0.8, 0.9, 0.5, 0.5], strict=True))
    graph, notes = repaired(assistants("a1", "a2", "a3"), edges, THE_SINK, odds)
    assert set(graph.edges) == set(edges) - {("a1", "a2")}
    assert notes == ("cycle: a1 -> a2 left out",)


def test_without_probabilities_the_edge_that_closes_a_cycle_goes() -> None:
    edges = [("a2", "a1"), ("a1", SINK), ("a1", "a2")]
    assert repaired(assistants("a1", "a2"), edges, THE_SINK) == (
        Graph((*assistants("a1", "a2"), THE_SINK), (("a2", "a1"), ("a1", SINK))),
        ("cycle: a1 -> a2 left out",),
    )


def test_a_full_node_keeps_the_likeliest_it_reads() -> None:
    edges = [("a1", SINK), ("a2", SINK), ("a3", SINK)]
    graph, notes = repaired(assistants("a1", "a2", "a3"), edges, THE_SINK, dict(zip(edges, [0.2, 0.9, 0.8], strict=True)), max_in_degree=2)
    assert graph.edges == (("a2", SINK), ("a3", SINK))
    assert notes == ("in-degree: a1 -> sink left out, sink reads 2 others already", "dead: a1 reaches no sink, left out")


def test_a_sink_that_reads_nothing_is_given_the_likeliest_agent() -> None:
    odds = {("a1", SINK): 0.2, ("a2", SINK): 0.6, ("a3", SINK): 0.4}
    graph, notes = repaired(assistants("a1", "a2", "a3"), [("a1", "a2")], THE_SINK, odds)
    assert graph.edges == (("a1", "a2"), ("a2", SINK))
    assert notes == ("sink: it read nothing, a2 -> sink added", "dead: a3 reaches no sink, left out")


def test_without_probabilities_the_sink_is_given_the_agent_most_lead_to() -> None:
    graph, _ = repaired(assistants("a1", "a2", "a3"), [("a3", "a1"), ("a1", "a2")], THE_SINK)
    assert graph.edges == (("a1", "a2"), ("a2", SINK), ("a3", "a1"))


def test_probabilities_that_are_no_numbers_count_for_nothing() -> None:
    odds = {("a1", SINK): nan, ("a2", SINK): inf, ("a3", SINK): 0.1}
    assert repaired(assistants("a1", "a2", "a3"), [], THE_SINK, odds).graph.edges == (("a3", SINK),)


def test_edges_that_cannot_be_are_left_out_each_for_its_reason() -> None:
    edges = [("a1", "ghost"), ("a1", "a1"), (SINK, "a1"), ("a1", SINK), ("a1", SINK)]
    graph, notes = repaired(assistants("a1"), edges, THE_SINK)
    assert graph.edges == (("a1", SINK),)
    assert notes == (
        "edge: a1 -> ghost left out, there is no such node",
        "edge: a1 -> a1 left out, a node cannot read itself",
        "edge: sink -> a1 left out, nobody reads the sink",
        "edge: a1 -> sink left out, it is there twice",
    )


def test_nodes_that_cannot_be_are_left_out_or_mended() -> None:
    nodes = [Node("a1", "m"), Node("a1", "n"), Node("two words", "m"), Node("a2", ""), Node("a3", "m", NodeRole.VOTE), Node(SINK, "small")]
    graph, notes = repaired(nodes, [("a1", SINK), ("a3", SINK)], THE_SINK)
    assert graph == Graph((Node("a1", "m"), Node("a3", "m"), THE_SINK), (("a1", SINK), ("a3", SINK)))
    assert notes == (
        "node: a1 is there twice, the second left out",
        "node: 'two words' is no id, left out",
        "node: a2 names no model, left out",
        "role: a3 made an assistant, since only the sink selects",
        "sink: sink kept as it was",
    )


def test_notes_stay_short_whatever_they_quote() -> None:
    _, notes = repaired([Node("x" * 10**6, "m")], [("y" * 10**6, "z" * 10**6)], THE_SINK)
    assert len(notes) == 2
    assert max(map(len, notes)) < 150


def test_fusers_that_read_no_assistant_become_assistants_from_below_upwards() -> None:
    nodes = [Node("a1", "m", FUSER), Node("a2", "m", FUSER), Node("a3", "m", FUSER), THE_SINK]
    graph, notes = repaired(nodes, [("a1", "a2"), ("a2", "a3"), ("a3", SINK)], SINK)
    # The first becomes an assistant, so that the second may condense it; the third then has a fuser alone to read.
    assert [node.role.value for node in graph.nodes] == ["assistant", "fuser", "assistant", "assistant"]
    assert notes == ("role: a1 made an assistant, since it reads none", "role: a3 made an assistant, since it reads none")


def test_a_fusing_sink_keeps_its_role_and_is_given_an_assistant() -> None:
    sink = Node(SINK, "large", FUSER)
    nodes = [Node("a1", "m"), Node("a2", "m", FUSER), Node("a3", "m", FUSER)]
    edges = [("a1", "a2"), ("a1", "a3"), ("a2", SINK), ("a3", SINK)]
    graph, notes = repaired(nodes, edges, sink, dict(zip(edges, [0.9, 0.9, 0.4, 0.5], strict=True)))
    assert [node.role.value for node in graph.nodes] == ["assistant", "fuser", "assistant", "fuser"]
    assert notes == ("role: a3 made an assistant, since the sink reads none",)
    alone = repaired([], [], sink)
    assert alone == (Graph((THE_SINK,), ()), ("role: sink made an assistant, since it reads none",))


def test_useless_nodes_are_connected_where_that_is_likely_enough() -> None:
    nodes = assistants("a1", "a2", "a3", "a4", "a5")
    odds = {("a1", SINK): 0.9, ("a2", "a1"): 0.3, ("a2", SINK): 0.25, ("a3", "a2"): 0.5, ("a3", "a1"): 0.2, ("a4", SINK): 0.19, ("a5", SINK): 0.2}
    graph, notes = repaired(nodes, [("a1", SINK)], THE_SINK, odds, connect_useless=True)
    # a3's likeliest successor a2 is useful by the time a3 has its turn; a4's only one is not likely enough, a5's just so.
    assert graph.edges == (("a1", SINK), ("a2", "a1"), ("a3", "a2"), ("a5", SINK))
    assert notes == ("useless: a2 -> a1 added", "useless: a3 -> a2 added", "useless: a5 -> sink added", "dead: a4 reaches no sink, left out")


def test_connecting_a_useless_node_makes_all_that_lead_to_it_useful() -> None:
    odds = {("a1", SINK): 0.9, ("a3", "a1"): 0.6, ("a2", "a3"): 0.9, ("a2", SINK): 0.4}
    graph, notes = repaired(assistants("a1", "a3", "a2"), [("a1", SINK), ("a2", "a3")], THE_SINK, odds, connect_useless=True)
    assert set(graph.edges) == {("a1", SINK), ("a2", "a3"), ("a3", "a1")}
    assert notes == ("useless: a3 -> a1 added",)


def test_dead_nodes_may_be_kept() -> None:
    graph, notes = repaired([*assistants("a1", "a2"), Node("a3", "m", FUSER)], [("a1", SINK), ("a1", "a2")], THE_SINK, keep_dead=True)
    assert [node.node_id for node in graph.nodes] == ["a1", "a2", "a3", SINK]
    assert graph.live == {"a1", SINK}
    assert graph.node("a3").role is NodeRole.ASSISTANT
    assert notes == ("role: a3 made an assistant, since it reads none",)


def test_what_cannot_be_mended_is_refused() -> None:
    with pytest.raises(InputError, match="there is no node 'sink' to be the sink"):
        repaired(assistants("a1"), [], SINK)
    with pytest.raises(InputError, match="no agent is left for the sink 'vote'"):
        repaired([Node("a1", "")], [], Node(SINK, "", NodeRole.VOTE))
    with pytest.raises(InputError, match="at most 0 others"):
        repaired([], [], THE_SINK, max_in_degree=0)
    with pytest.raises(InputError, match="names no model"):
        repaired([], [], Node(SINK, ""))
