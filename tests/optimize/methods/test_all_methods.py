"""What holds for every method that asks no optimiser model."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimize.methods.spaces import assert_belongs, evaluated, problem_for, proposals, space_for, spaces

from multigraft.errors import BudgetError
from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import Graph
from multigraft.optimize.loop.objectives import QualityMinusLatency
from multigraft.optimize.loop.search import SearchSettings, search
from multigraft.optimize.loop.simulate import drive
from multigraft.optimize.methods.table import method_from
from multigraft.optimize.problem import Evaluation, Problem, Space

CASES: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "random": ("random", {}),
    "reinforce": ("reinforce", {}),
    "tpe": ("bayes", {"warm_up": 3}),
    "kernel": ("bayes", {"model": "kernel", "warm_up": 3, "pool": 20}),
    "surrogate": ("surrogate", {"pool": 16, "neighbours": 12}),
    "surrogate of whole graphs": ("surrogate", {"pool": 16, "neighbours": 12, "parts": False}),
}


def quality(graph: Graph) -> float:
    """Wide is good, and so is the second model."""
    return min(0.9, 0.2 + 0.1 * len(graph.read_by(graph.sink)) + 0.1 * sum(node.model == "medium" for node in graph.live_nodes))


def noisy(graph: Graph) -> Evaluation:
    return evaluated(graph, quality)


@pytest.mark.parametrize("case", CASES)
@settings(deadline=None, max_examples=12)
@given(space=spaces(), seed=st.integers(0, 3))
def test_proposals_belong_to_the_space_and_end(case: str, space: Space, seed: int) -> None:
    name, changed = CASES[case]
    problem = problem_for(space, seed=seed, max_evaluations=8)
    try:
        space.check()
    except BudgetError:
        with pytest.raises(BudgetError):
            proposals(name, problem, noisy, **changed)
        return
    made = proposals(name, problem, noisy, **changed)
    assert made
    for proposal in made:
        assert_belongs(proposal.graph, space)
    assert len({graph_id(proposal.graph) for proposal in made}) <= 8 + (3 if name == "reinforce" else 0)


@pytest.mark.parametrize("case", CASES)
def test_a_seed_makes_a_search(case: str) -> None:
    name, changed = CASES[case]
    runs = [proposals(name, problem_for(space_for(), seed=seed, max_evaluations=8), noisy, **changed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert [proposal.graph for proposal in runs[0]] != [proposal.graph for proposal in runs[2]]


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_proposed_twice_where_there_is_more(case: str) -> None:
    name, changed = CASES[case]
    made = proposals(name, problem_for(space_for(), max_evaluations=10), noisy, **changed)
    ids = [graph_id(proposal.graph) for proposal in made]
    assert len(set(ids)) == 10 or name == "reinforce"
    assert len(set(ids)) == len(ids) or name == "reinforce"


@pytest.mark.parametrize("case", CASES)
def test_a_space_of_one_graph_is_used_up_at_once(case: str) -> None:
    name, changed = CASES[case]
    made = proposals(name, problem_for(space_for(max_agents=0)), noisy, **changed)
    assert {proposal.graph for proposal in made} == {Graph(space_for().sinks, ())}


@pytest.mark.parametrize("case", CASES)
def test_evaluations_without_a_score_are_borne(case: str) -> None:
    name, changed = CASES[case]

    def unknown(graph: Graph) -> Evaluation:
        return Evaluation(graph, "train", (), space_for().costs.of(graph))

    made = proposals(name, problem_for(space_for(), max_evaluations=6), unknown, **changed)
    assert len({graph_id(proposal.graph) for proposal in made}) >= 5


@pytest.mark.parametrize("case", CASES)
def test_latency_that_costs_much_leads_to_flat_graphs(case: str) -> None:
    """Within the loop, with a better quality for no depth: one level below the sink, or none, is best."""
    name, changed = CASES[case]
    problem = problem_for(space_for(units=40.0), objective=QualityMinusLatency(0.5, 1.0), max_evaluations=15)
    settings_of_loop = SearchSettings(num_train=20, num_validation=20, patience=0, compare_singles=False)
    found = drive(search(method_from(name, changed), problem, settings_of_loop), lambda run: evaluated(run.graph, quality, num_questions=20))
    assert found.best is not None
    assert found.best.graph.depth_of()[found.best.graph.sink] <= 1


def test_problems_are_not_changed() -> None:
    problem = problem_for(space_for())
    assert isinstance(problem, Problem)
    assert problem == problem_for(space_for()) or problem.space.costs is not problem_for(space_for()).space.costs
