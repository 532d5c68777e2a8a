"""Policy gradients: their direction where it can be told, their steps by hand, and what they end in."""

from itertools import pairwise
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.graphs.enumerated_draws import all_draws, scattered, weighted
from tests.optimize.methods.spaces import exact, problem_for, proposals, space_for

from multigraft.errors import InputError
from multigraft.graphs.canonical import canonical, graph_id
from multigraft.graphs.distribution import Distribution
from multigraft.graphs.graph import SINK, Graph, NodeRole
from multigraft.graphs.layout import Layout
from multigraft.optimize.methods.reinforce import Adam, Reinforce, layout_of, node_budget_of
from multigraft.optimize.problem import Evaluation, sink_node
from multigraft.randomness import Draws, key_of

BANDIT = space_for(num_models=2, units=None, max_agents=2, roles=(NodeRole.ASSISTANT,))


FEW = Layout(agents=("a1", "a2"), models=("small", "medium"), sinks=(sink_node("large"),))
"""Two agents, so that there are few draws, and all kinds of chance."""


def any_utility(graph: Graph) -> float:
    """Anything in [0, 1) that depends on what runs, and on nothing else."""
    form = canonical(graph)
    return key_of("utility", *(part for node in form.nodes for part in (node.model, node.role.value)), *(end for edge in form.edges for end in edge)) / 2**64


def medium_share(graph: Graph) -> float:
    """A bandit: what counts is the model of the agents that run."""
    agents = [node for node in graph.nodes if node.node_id != SINK]
    return sum(node.model == "medium" for node in agents) / len(agents) if agents else 0.0


@pytest.mark.parametrize("baseline", ["none", "mean", "leave_one_out"])
def test_the_gradient_points_to_the_better_arm(baseline: str) -> None:
    method = Reinforce(batch=200, baseline=baseline)  # type: ignore[arg-type]  # one of the three
    problem = problem_for(BANDIT)
    distribution = Distribution.uniform(layout_of(BANDIT), edge_probability=0.5)
    draws = Draws("bandit")
    drawn = [distribution.sample(draws) for _ in range(200)]
    evaluations = [exact(draw.graph.live_part(), medium_share) for draw in drawn]
    gradient = method._gradient(problem, distribution, drawn, evaluations, [])
    for agent in distribution.layout.agents:
        small, medium = (gradient[place] for place in distribution.layout.models_at(agent))
        assert medium > 0.03
        assert small == pytest.approx(-medium)
    # Edges make no difference here.
    assert all(abs(gradient[distribution.layout.edge_at(edge)]) < 0.06 for edge in distribution.layout.edges())


@settings(deadline=None, max_examples=30)
@given(utilities=st.lists(st.floats(-1, 1), min_size=2, max_size=6), past=st.lists(st.floats(-1, 1), max_size=3))
def test_baselines_by_their_formulae(utilities: list[float], past: list[float]) -> None:
    for place, advantage in enumerate(Reinforce()._advantages(utilities, [])):
        others = utilities[:place] + utilities[place + 1 :]
        assert advantage == pytest.approx(utilities[place] - sum(others) / len(others), abs=1e-9)
    assert Reinforce(baseline="none")._advantages(utilities, list(past)) == utilities
    kept = list(past)
    expected = sum(past) / len(past) if past else 0.0
    assert Reinforce(baseline="mean")._advantages(utilities, kept) == pytest.approx([utility - expected for utility in utilities])
    assert kept == [*past, *utilities]


@pytest.mark.parametrize("baseline", ["none", "leave_one_out"])
def test_the_gradient_estimated_from_two_draws_has_no_bias(baseline: str) -> None:
    distribution, problem = scattered(FEW, 7), problem_for(BANDIT)
    chances = weighted(distribution, all_draws(FEW))
    evaluations = [exact(draw.graph.live_part(), any_utility) for _, draw in chances]
    method = Reinforce(batch=2, baseline=baseline)  # type: ignore[arg-type]  # one of the three
    total, expected = [0.0] * FEW.size, [0.0] * FEW.size
    for (one, first), one_found in zip(chances, evaluations, strict=True):
        for place, slope in enumerate(distribution.gradient(first)):
            expected[place] += one * (one_found.mean or 0.0) * slope
        for (two, second), two_found in zip(chances, evaluations, strict=True):
            for place, slope in enumerate(method._gradient(problem, distribution, [first, second], [one_found, two_found], [])):
                total[place] += one * two * slope
    assert total == pytest.approx(expected, abs=1e-12)
    assert max(map(abs, expected)) > 1e-3


def test_learning_raises_the_expected_utility() -> None:
    draws, problem, method = all_draws(FEW), problem_for(BANDIT), Reinforce(batch=8)
    scores = [any_utility(draw.graph) for _, draw in draws]
    distribution, adam = Distribution.uniform(FEW), Adam(0.1, FEW.size)

    def expected() -> float:
        return sum(chance * score for (chance, _), score in zip(weighted(distribution, draws), scores, strict=True))

    values = [expected()]
    for number in range(150):
        batch = [distribution.sample(Draws("learning", number, place)) for place in range(8)]
        found = [exact(draw.graph.live_part(), any_utility) for draw in batch]
        distribution = distribution.moved(adam.step(method._gradient(problem, distribution, batch, found, [])))
        if number % 50 == 49:
            values.append(expected())
    assert all(later > sooner for sooner, later in pairwise(values))
    assert values[-1] > values[0] + 0.4 * (max(scores) - values[0])


def test_one_graph_alone_tells_nothing_against_the_others() -> None:
    assert Reinforce()._advantages([0.7], []) == [0.0]
    assert Reinforce()._advantages([], []) == []


def test_steps_of_adam_by_hand() -> None:
    adam = Adam(0.1, 2)
    # The first step is the sign of the gradient times the rate, whatever its size.
    assert adam.step([0.5, -2.0]) == pytest.approx((0.1, -0.1))
    # Means 0.9 * 0.05 + 0.1 * 0 and 0.999 * 0.00025, over 0.19 and 0.001999.
    assert adam.step([0.0, 0.0])[0] == pytest.approx(0.1 * (0.045 / 0.19) / sqrt(0.00024975 / 0.001999))


def test_a_search_comes_to_prefer_what_pays() -> None:
    made = proposals("reinforce", problem_for(BANDIT, max_evaluations=200), lambda graph: exact(graph, medium_share), learning_rate=0.3)
    assert medium_share(made[-1].graph) == 1.0
    assert made[-1].origin == "most probable"
    first, later = made[:20], made[-21:-1]
    assert sum(medium_share(proposal.graph) for proposal in later) > sum(medium_share(proposal.graph) for proposal in first) + 4


def test_one_evaluation_is_kept_for_the_most_probable_graph() -> None:
    made = proposals("reinforce", problem_for(space_for(), max_evaluations=10), lambda graph: exact(graph, medium_share))
    assert [proposal.origin for proposal in made].count("most probable") == 1
    assert made[-1].origin == "most probable"
    before = [graph_id(proposal.graph) for proposal in made[:-5]]
    assert len(set(before)) < 9


def test_evaluations_that_failed_move_nothing() -> None:
    distribution = Distribution.uniform(layout_of(BANDIT))
    drawn = [distribution.sample(Draws(number)) for number in range(2)]
    failed = [Evaluation(draw.graph, "train", (), BANDIT.costs.of(draw.graph)) for draw in drawn]
    assert set(Reinforce()._gradient(problem_for(BANDIT), distribution, drawn, failed, [])) == {0.0}


def test_what_a_distribution_is_over() -> None:
    space = space_for(num_models=3, sinks=(sink_node("large"), sink_node("small"), sink_node("", NodeRole.VOTE)), units=7.5, max_agents=4)
    layout = layout_of(space)
    assert layout.agents == ("a1", "a2", "a3", "a4")
    # The large sink is over budget by itself.
    assert layout.sinks == (sink_node("small"), sink_node("", NodeRole.VOTE))
    budget = node_budget_of(space)
    assert budget.costs == {"small": 1.0, "medium": 3.0, "large": 8.0}
    # Seven agents below a vote, which costs nothing.
    assert budget.total == 7.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be above 0, not 0.0"),
        ({"edge_probability": 1.0}, r"edge_probability must be between 0 and 1, neither included, not 1.0"),
        ({"batch": 1}, "batch must be at least 2 for the baseline leave_one_out, not 1"),
        ({"batch": 0, "baseline": "none"}, "batch must be at least 1 for the baseline none, not 0"),
    ],
)
def test_settings_are_checked(changed: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        proposals("reinforce", problem_for(space_for()), lambda graph: exact(graph, medium_share), **changed)
