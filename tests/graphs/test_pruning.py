from collections.abc import Mapping

import pytest

from multigraft.errors import BudgetError
from multigraft.graphs.blocks import chain, grid, parallel, random_graph
from multigraft.graphs.costs import NO_CAPS, Caps, GraphCost
from multigraft.graphs.graph import SINK, Edge, Graph, Node, NodeRole
from multigraft.graphs.latency import span_s, sum_s
from multigraft.graphs.pruning import pruned
from multigraft.randomness import Draws

RANK = {"tiny": 0, "small": 1, "large": 2}
THE_SINK = Node(SINK, "small")
ROLES = (NodeRole.ASSISTANT, NodeRole.FUSER)


class Weights:
    """Costs that are easy to add up: 1, 3 or 9 by model, half as much again for each node read; a second a weight."""

    def of(self, graph: Graph) -> GraphCost:
        weight = {"tiny": 1.0, "small": 3.0, "large": 9.0, "": 0.0}
        each = {node.node_id: weight[node.model] * (1 + 0.5 * len(graph.read_by(node.node_id))) for node in graph.live_nodes}
        calls = sum(not node.selects for node in graph.live_nodes)
        return GraphCost(calls, 100.0 * calls, units=sum(each.values()), latency_s=span_s(graph, each), latency_sum_s=sum_s(graph, each))


COSTS = Weights()


def cheapest(sink: Node) -> GraphCost:
    """What the least graph with a sink costs."""
    alone = Node(SINK, sink.model)
    return COSTS.of(parallel(["tiny"], sink) if sink.selects else Graph((alone,), ()))


def random_case(seed: int) -> tuple[Graph, Caps, Mapping[Edge, float] | None]:
    draws = Draws("pruning", seed)
    num_agents = draws.below(10)
    sinks = [THE_SINK, Node(SINK, "tiny"), Node(SINK, "large")]
    sinks += [Node(SINK, "small", NodeRole.FUSER), Node(SINK, "", NodeRole.VOTE), Node(SINK, "", NodeRole.BEST)] if num_agents else []
    sink = sinks[draws.below(len(sinks))]
    graph = random_graph(tuple(RANK), num_agents, sink, draws, edge_probability=draws.uniform(), roles=ROLES)
    # Without some of its edges, so that there are dead nodes too; the sink keeps what it reads.
    edges = tuple(edge for edge in graph.edges if edge[1] == SINK or draws.uniform() < 0.8)
    fed = {target for _, target in edges}
    nodes = tuple(node if node.node_id in fed or node.selects else Node(node.node_id, node.model) for node in graph.nodes)
    least, room = cheapest(sink), draws.uniform() * 25
    units, latency_s = (least.units or 0.0) + room, (least.latency_s or 0.0) + room / 2
    caps = [Caps(units=units), Caps(latency_s=latency_s), Caps(units=units, calls=1 + draws.below(5))][draws.below(3)]
    odds = None if draws.below(2) else {edge: draws.uniform() for edge in edges}
    return Graph(nodes, edges), caps, odds


def test_three_thousand_random_prunings_stay_within_the_budget_and_feed_the_sink() -> None:
    fed_again = shrunk = 0
    for seed in range(3000):
        graph, caps, odds = random_case(seed)
        result, removed, notes = pruned(graph, COSTS, caps, size_rank=RANK, probabilities=odds)
        assert caps.exceeded(COSTS.of(result)) is None
        assert result.live == {node.node_id for node in result.nodes}
        assert len(result.nodes) == 1 or result.read_by(SINK)
        assert sorted([*removed, *(node.node_id for node in result.nodes)]) == sorted(node.node_id for node in graph.nodes)
        for node in result.nodes:
            assert node.role is not NodeRole.FUSER or NodeRole.ASSISTANT in [result.node(source).role for source in result.read_by(node.node_id)]
        added = {note.split(", ")[1].removesuffix(" added") for note in notes if note.startswith("sink")}
        assert {" -> ".join(edge) for edge in set(result.edges) - set(graph.edges)} <= added
        fed_again += any(note.startswith("sink") for note in notes)
        shrunk += any(note.startswith("pruned") for note in notes)
    # The cases are not trivial: many shrink, and many sinks lose all they read on the way.
    assert shrunk > 1000
    assert fed_again > 200


def test_a_graph_that_fits_stays_as_it_is() -> None:
    graph = grid(2, 2, ["tiny", "small"], THE_SINK)
    assert pruned(graph, COSTS, NO_CAPS, size_rank=RANK) == (graph, (), ())
    assert pruned(graph, COSTS, Caps(units=COSTS.of(graph).units), size_rank=RANK) == (graph, (), ())


def test_dead_nodes_leave_first_and_may_be_enough() -> None:
    graph = Graph((Node("a1", "tiny"), Node("a2", "large"), THE_SINK), (("a1", SINK), ("a1", "a2")))
    assert pruned(graph, COSTS, Caps(units=5.5), size_rank=RANK) == (parallel(["tiny"], THE_SINK), ("a2",), ("dead: a2 reaches no sink, left out",))


def test_the_smallest_model_leaves_first() -> None:
    # 9 + 1 + 3 + 3 * 2.5 = 20.5, and without a2 18.
    result = pruned(parallel(["large", "tiny", "small"], THE_SINK), COSTS, Caps(units=18.0), size_rank=RANK)
    assert result.removed == ("a2",)
    assert result.notes == ("pruned: a2 (tiny) left out",)
    assert [node.model for node in result.graph.nodes] == ["large", "small", "small"]


def test_of_equals_the_one_with_the_fewest_nodes_downstream_leaves() -> None:
    graph = Graph((Node("a1", "tiny"), Node("a2", "tiny"), Node("a3", "small"), THE_SINK), (("a1", "a3"), ("a3", SINK), ("a2", SINK)))
    assert pruned(graph, COSTS, Caps(calls=3), size_rank=RANK).removed == ("a2",)


def test_of_equals_the_one_with_the_least_likely_edges_leaves_and_then_the_first() -> None:
    graph = parallel(["tiny"] * 11, THE_SINK)
    odds = {(f"a{number}", SINK): 0.5 for number in range(1, 12)}
    assert pruned(graph, COSTS, Caps(calls=11), size_rank=RANK, probabilities=odds | {("a7", SINK): 0.4}).removed == ("a7",)
    assert pruned(graph, COSTS, Caps(calls=10), size_rank=RANK, probabilities=odds).removed == ("a1", "a2")


def test_a_chain_gets_shorter_from_its_end_and_the_sink_is_fed_again() -> None:
    result = pruned(chain(["tiny"] * 4, THE_SINK), COSTS, Caps(calls=3), size_rank=RANK)
    assert result.graph == chain(["tiny"] * 2, THE_SINK)
    assert result.removed == ("a4", "a3")
    assert result.notes[:2] == ("pruned: a4 (tiny) left out", "sink: it read nothing, a3 -> sink added")


def test_the_sink_is_fed_by_the_likeliest_then_the_largest_agent() -> None:
    nodes = (Node("a2", "small"), Node("a1", "large"), Node("a3", "tiny"), THE_SINK)
    graph = Graph(nodes, (("a1", "a3"), ("a2", "a3"), ("a3", SINK)))
    assert pruned(graph, COSTS, Caps(calls=3), size_rank=RANK).graph == parallel(["large"], THE_SINK)
    likely = {("a2", SINK): 0.7, ("a1", SINK): 0.1}
    again = pruned(graph, COSTS, Caps(calls=3), size_rank=RANK, probabilities=likely)
    assert again.graph == Graph((Node("a2", "small"), THE_SINK), (("a2", SINK),))
    assert again.removed == ("a3", "a1")
    assert again.notes[-1] == "dead: a1 reaches no sink, left out"


def test_a_node_that_loses_its_way_to_the_sink_leaves_too() -> None:
    result = pruned(grid(2, 2, ["tiny"], THE_SINK), COSTS, Caps(calls=4), size_rank=RANK)
    assert result.removed == ("a2", "a1")
    assert [node.node_id for node in result.graph.nodes] == ["a3", "a4", SINK]


def test_a_fuser_that_lost_its_assistant_becomes_one() -> None:
    nodes = (Node("a1", "tiny"), Node("a2", "large", NodeRole.FUSER), THE_SINK)
    result = pruned(Graph(nodes, (("a1", "a2"), ("a2", SINK))), COSTS, Caps(calls=2), size_rank=RANK)
    assert result.graph == Graph((Node("a2", "large"), THE_SINK), (("a2", SINK),))
    assert result.notes == ("pruned: a1 (tiny) left out", "role: a2 made an assistant, since it reads none")


def test_a_graph_that_is_too_slow_loses_what_makes_it_slow() -> None:
    # The way over a3 takes 9 + 2.5, those beside it 1 + 2.5; without a3, 1 + 2.
    graph = parallel(["tiny", "tiny", "large"], Node(SINK, "tiny"))
    assert pruned(graph, COSTS, Caps(latency_s=3.0), size_rank=RANK).removed == ("a3",)
    nothing_left = pruned(graph, COSTS, Caps(latency_s=2.0), size_rank=RANK)
    assert nothing_left.graph == Graph((Node(SINK, "tiny"),), ())
    assert nothing_left.removed == ("a3", "a1", "a2")


def test_chains_that_are_too_slow_lose_their_beginnings_and_none_of_the_others() -> None:
    # Each chain takes 1 + 1.5 + 1.5 before the sink's 3 + 1.5 a chain.
    result = pruned(grid(3, 3, ["tiny"], THE_SINK), COSTS, Caps(latency_s=10.5), size_rank=RANK)
    assert sorted(result.removed) == ["a1", "a4", "a7"]
    assert COSTS.of(result.graph).latency_s == 1 + 1.5 + 3 + 3 * 1.5
    assert [result.graph.read_by(node) for node in ("a2", "a3", SINK)] == [(), ("a2",), ("a3", "a6", "a9")]


def test_a_sink_that_costs_too_much_alone_is_refused_by_name() -> None:
    with pytest.raises(BudgetError, match=r"budget infeasible: no graph with this sink fits into units=2.5; the smallest is small, and it takes units=3;"):
        pruned(parallel(["tiny"] * 3, THE_SINK), COSTS, Caps(units=2.5), size_rank=RANK)


def test_a_limit_on_what_is_not_known_is_refused() -> None:
    with pytest.raises(BudgetError, match="the smallest is small, and its usd is not known"):
        pruned(parallel(["tiny"] * 3, THE_SINK), COSTS, Caps(usd=1.0), size_rank=RANK)


@pytest.mark.parametrize("role", [NodeRole.VOTE, NodeRole.BEST])
def test_a_sink_that_selects_keeps_an_agent_of_a_size_that_fits(role: NodeRole) -> None:
    graph = parallel(["small", "large"], Node(SINK, "", role))
    assert [node.model for node in pruned(graph, COSTS, Caps(units=9.0), size_rank=RANK).graph.nodes] == ["large", ""]
    smaller = pruned(graph, COSTS, Caps(units=4.0), size_rank=RANK)
    assert smaller.graph == Graph((Node("a2", "small"), Node(SINK, "", role)), (("a2", SINK),))
    assert smaller.notes == ("pruned: a1 (small) left out", "model: a2 made the smaller small")
    with pytest.raises(BudgetError, match=rf"the smallest is tiny \+ {role.value}, and it takes units=1;"):
        pruned(graph, COSTS, Caps(units=0.5), size_rank=RANK)


def test_models_without_a_rank_leave_last() -> None:
    result = pruned(parallel(["tiny", "large"], THE_SINK), COSTS, Caps(calls=2), size_rank={"large": 0})
    assert result.removed == ("a2",)
