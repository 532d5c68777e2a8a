"""Random search: budgets filled, all sizes, every node read."""

import pytest
from tests.optimize.methods.spaces import assert_belongs, exact, problem_for, proposals, space_for

from multigraft.errors import InputError
from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import NodeRole
from multigraft.optimize.combinations import combos, node_costs, sparse_node_budget
from multigraft.optimize.methods.random_graphs import GraphDrawer
from multigraft.randomness import Draws


def half(graph: object) -> float:
    return 0.5


def test_sizes_vary_and_models_fill_a_budget() -> None:
    space = space_for(num_models=3, units=14.0, max_agents=9)
    drawer = GraphDrawer(space, Draws(1), edge_probability=0.119, fuser_probability=0.5)
    graphs = [drawer.draw().graph for _ in range(300)]
    largest = sparse_node_budget(space, space.sinks[0])
    mixes = {mix for budget in range(largest + 1) for mix in combos(node_costs(space), budget, most_nodes=9)}
    unpruned = 0
    for graph in graphs:
        assert_belongs(graph, space)
        agents = [node for node in graph.nodes if node.node_id != graph.sink]
        unpruned += tuple(sum(node.model == model for node in agents) for model in space.models) in mixes
    assert unpruned > 250
    assert {len(graph.nodes) for graph in graphs} == set(range(1, largest + 2))
    assert any(node.role is NodeRole.FUSER for graph in graphs for node in graph.nodes)
    assert {max(graph.depth_of().values()) for graph in graphs} >= {0, 1, 2, 3}


def test_more_edges_where_they_are_likelier() -> None:
    space = space_for(units=None, max_agents=6)

    def edges(probability: float) -> int:
        drawer = GraphDrawer(space, Draws(1), edge_probability=probability, fuser_probability=0.0)
        return sum(len(drawer.draw().graph.edges) for _ in range(50))

    assert edges(0.0) < edges(0.3) < edges(1.0)


def test_batches_hold_as_many_as_are_left() -> None:
    made = proposals("random", problem_for(space_for(), max_evaluations=10), lambda graph: exact(graph, half))
    assert len({graph_id(proposal.graph) for proposal in made}) == len(made) == 10


def test_a_small_space_is_drawn_in_full() -> None:
    made = proposals("random", problem_for(space_for(num_models=1, max_agents=1, units=None), max_evaluations=10), lambda graph: exact(graph, half))
    assert len(made) == 2


@pytest.mark.parametrize("changed", [{"edge_probability": 1.1}, {"fuser_probability": -0.1}, {"batch": 0}])
def test_settings_are_checked(changed: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(changed))):
        proposals("random", problem_for(space_for()), lambda graph: exact(graph, half), **changed)
