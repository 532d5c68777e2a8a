"""All graphs of a small space: how many there are, their order, and that the best is among them."""

import pytest
from tests.optimize.methods.spaces import NAMES, assert_belongs, exact, problem_for, proposals, space_for

from multigraft.errors import InputError
from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.optimize.methods.exhaustive import all_graphs
from multigraft.optimize.problem import sink_node

ASSISTANTS = (NodeRole.ASSISTANT,)


def test_shapes_are_as_many_as_there_are_unlabelled_acyclic_graphs_with_one_sink() -> None:
    """1, 1, 3, 16, 164 for 1 to 5 nodes: unlabelled acyclic graphs in which all nodes lead to one."""
    space = space_for(num_models=1, sinks=(sink_node("small"),), units=None, max_agents=4, roles=ASSISTANTS)
    graphs = list(all_graphs(space))
    assert [sum(len(graph.nodes) == size for graph in graphs) for size in range(1, 6)] == [1, 1, 3, 16, 164]
    assert len({graph_id(graph) for graph in graphs}) == 185


def test_two_agents_by_hand() -> None:
    """With models s and m under one sink. One agent: 2. Two that read nothing: ss, sm, mm. A chain: 4, and each with the first read by the sink, too: 4."""
    space = space_for(num_models=2, units=None, max_agents=2, roles=ASSISTANTS)
    assert len(list(all_graphs(space))) == 1 + 2 + 3 + 4 + 4
    # The second of a chain may be a fuser: 8 more.
    assert len(list(all_graphs(space_for(num_models=2, units=None, max_agents=2)))) == 1 + 2 + 3 + 8 + 8
    # Each node reads one other at most: no two below the sink.
    assert len(list(all_graphs(space_for(num_models=2, units=None, max_agents=2, roles=ASSISTANTS, max_in_degree=1)))) == 1 + 2 + 4


def test_sinks_that_choose_need_an_agent() -> None:
    space = space_for(num_models=1, sinks=(sink_node("", NodeRole.VOTE), sink_node("small")), units=None, max_agents=1)
    assert list(all_graphs(space)) == [
        Graph((Node("a1", "small"), sink_node("", NodeRole.VOTE)), (("a1", SINK),)),
        Graph((sink_node("small"),), ()),
        Graph((Node("a1", "small"), sink_node("small")), (("a1", SINK),)),
    ]


def test_all_that_fit_and_no_others_the_cheapest_first() -> None:
    space = space_for(num_models=3, units=7.0, max_agents=3)
    every = {graph_id(graph) for graph in all_graphs(space_for(num_models=3, units=None, max_agents=3)) if space.fits(graph)}
    made = proposals("exhaustive", problem_for(space, max_evaluations=1000), lambda graph: exact(graph, lambda _: 0.5))
    graphs = [proposal.graph for proposal in made]
    assert {graph_id(graph) for graph in graphs} == every
    assert len(graphs) == len(every) > 20
    costs = [space.costs.of(graph).units or 0.0 for graph in graphs]
    assert costs == sorted(costs)
    for graph in graphs:
        assert_belongs(graph, space)


def test_the_optimum_is_found() -> None:
    target = Graph((Node("a1", "small"), Node("a2", "medium", NodeRole.FUSER), sink_node("medium")), (("a1", "a2"), ("a1", SINK), ("a2", SINK)))
    space = space_for(num_models=2, max_agents=2)
    seen = [
        (exact(proposal.graph, lambda graph: 1.0 if graph_id(graph) == graph_id(target) else 0.3).mean, proposal.graph)
        for proposal in proposals("exhaustive", problem_for(space, max_evaluations=30), lambda graph: exact(graph, lambda _: 0.3), batch=7)
    ]
    assert [graph_id(graph) for score, graph in seen if score == 1.0] == [graph_id(target)]


def test_a_space_that_is_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(InputError, match=r"the space holds 22 graphs, and 21 may be evaluated: .* fewer agents \(now up to 2\), models \(2\)"):
        proposals("exhaustive", problem_for(space_for(num_models=2, units=None, max_agents=2), max_evaluations=21), lambda graph: exact(graph, lambda _: 0.5))
    with pytest.raises(InputError, match=r"the space holds at least 300 graphs"):
        proposals("exhaustive", problem_for(space_for(num_models=len(NAMES), units=None)), lambda graph: exact(graph, lambda _: 0.5), most_counted=300)


@pytest.mark.parametrize("changed", [{"batch": 0}, {"most_counted": 0}])
def test_settings_are_checked(changed: dict[str, object]) -> None:
    with pytest.raises(InputError, match="must be at least 1, not 0"):
        proposals("exhaustive", problem_for(space_for()), lambda graph: exact(graph, lambda _: 0.5), **changed)
