"""Our own search: what it takes from an evaluation, what it learns, and that it finds what is good."""

from collections.abc import Mapping
from math import sqrt

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimize.methods.spaces import NAMES, WeighedCosts, exact, problem_for, proposals, space_for

from multigraft.errors import InputError
from multigraft.graphs.blocks import chain, grid, parallel
from multigraft.graphs.cones import cone
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.optimize.loop.objectives import Quality, QualityMinusLatency
from multigraft.optimize.methods.belief import Belief
from multigraft.optimize.methods.candidates import Candidates
from multigraft.optimize.methods.evidence import Evidence, adjusted_means, noise_of
from multigraft.optimize.methods.features import Featuriser
from multigraft.optimize.methods.gaussian import Kernel, Point, Posterior, Stack, compared
from multigraft.optimize.methods.one_step import OneStep, Step
from multigraft.optimize.methods.random_graphs import GraphDrawer
from multigraft.optimize.problem import Evaluation, Trial, sink_node
from multigraft.randomness import Draws

SINK_NODE = sink_node("medium")
STRENGTHS: Mapping[str, float] = {"small": 0.2, "medium": 0.3, "large": 0.6}


def stepwise(graph: Graph) -> dict[str, float]:
    """A world in which the beliefs can be right: each node is a third of the way from the mean read to its model alone, and a third to the best."""
    found: dict[str, float] = {}
    for node in graph.live_nodes:
        read = [found[source] for source in graph.read_by(node.node_id)]
        mean = sum(read) / len(read) if read else 0.0
        alone = STRENGTHS[node.model]
        found[node.node_id] = mean + (alone - mean) / 3 + (max(read) - mean) / 3 if read else alone
    return found


def seen_in_full(graph: Graph, num_questions: int = 2000) -> Evaluation:
    """Scores that are the chances themselves."""
    chances = stepwise(graph)
    trials = tuple(Trial(question, chances[graph.sink], None, chances) for question in range(num_questions))
    return Evaluation(graph, "train", trials, WeighedCosts().of(graph))


def test_every_node_brings_the_score_of_the_graph_that_ends_in_it() -> None:
    graph = grid(2, 2, ["small"], SINK_NODE)
    evidence = Evidence(Featuriser(space_for()), parts=True)
    scores = {"a1": 0.0, "a2": 1.0, "a3": 1.0, "a4": None, SINK: 1.0}
    evidence.add(Evaluation(graph, "train", (Trial(3, 1.0, None, scores), Trial(4, None)), WeighedCosts().of(graph)))
    featuriser = Featuriser(space_for())
    alone, short = (Graph((Node("x", "small"),), (), "x"), Graph((Node("y", "small"), Node("x", "small")), (("y", "x"),), "x"))
    assert evidence.seen == [
        (Point(featuriser.of(alone), inner=False), {3: 0.5}),
        (Point(featuriser.of(short), inner=True), {3: 1.0}),
        (Point(featuriser.of(graph), inner=False), {3: 1.0}),
    ]
    whole = Evidence(featuriser, parts=False)
    whole.add(Evaluation(graph, "train", (Trial(3, 1.0, None, scores),), WeighedCosts().of(graph)))
    assert whole.seen == [(Point(featuriser.of(graph), inner=False), {3: 1.0})]


def test_a_cone_is_what_leads_to_a_node() -> None:
    graph = Graph((Node("a1", "small"), Node("a2", "large"), Node("a3", "small"), SINK_NODE), (("a1", "a2"), ("a1", SINK), ("a2", SINK), ("a3", SINK)))
    assert cone(graph, "a2") == Graph((Node("a1", "small"), Node("a2", "large")), (("a1", "a2"),), "a2")


def test_hard_questions_are_not_held_against_those_who_answered_them() -> None:
    easy = dict.fromkeys(range(10), 1.0)
    hard = dict.fromkeys(range(10, 20), 0.0)
    both = easy | hard
    means = adjusted_means([both, both, both, both, easy, hard])
    assert means[:4] == pytest.approx([0.5] * 4, abs=0.05)
    assert abs(means[4] - means[5]) < 0.5
    assert adjusted_means([{0: 1.0, 1: 0.0}, {0: 1.0, 1: 1.0}]) == [0.5, 1.0]


def test_noise_by_hand() -> None:
    noise = noise_of([{0: 1.0, 1: 0.0}, {0: 1.0, 1: 0.0}, {0: 0.0, 1: 1.0}, {5: 1.0, 6: 0.0}])
    # (1 + 1) / (2 + 2) right: 0.25 over 2 questions; covariances 0.5 / 4, of which 0.8 count.
    assert numpy.diag(noise) == pytest.approx([0.125] * 4)
    assert noise[0, 1] == pytest.approx(0.1)
    assert noise[0, 2] == pytest.approx(-0.1)
    assert noise[0, 3] == 0.0


@settings(deadline=None, max_examples=30)
@given(st.lists(st.dictionaries(st.integers(0, 9), st.sampled_from([0.0, 0.5, 1.0]), min_size=1), min_size=1, max_size=6))
def test_noise_is_a_covariance(scores: list[dict[int, float]]) -> None:
    noise = noise_of(scores)
    assert noise == pytest.approx(noise.T)
    assert numpy.linalg.eigvalsh(noise).min() > 0


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000))
def test_features_do_not_depend_on_names(seed: int) -> None:
    space = space_for(num_models=3)
    graph = GraphDrawer(space, Draws(seed), edge_probability=0.4, fuser_probability=0.5).draw().graph
    names = dict(zip([node.node_id for node in graph.nodes], Draws(seed, "names").shuffled([f"n{number}" for number in range(len(graph.nodes))]), strict=True))
    nodes = [Node(names[node.node_id], node.model, node.role) for node in graph.nodes]
    other = Graph(tuple(Draws(seed).shuffled(nodes)), tuple((names[source], names[target]) for source, target in graph.edges), names[graph.sink])
    assert Featuriser(space).of(other) == Featuriser(space).of(graph)


def test_shape_in_doublings() -> None:
    featuriser = Featuriser(space_for())
    # Width 3, depth 1, three agents; each 2 / 3. Width 1, depth 7, seven agents.
    assert featuriser.of(parallel(["small"] * 3, SINK_NODE)).shape == pytest.approx((2 / 3, 1 / 3, 2 / 3))
    assert featuriser.of(chain(["small"] * 7, SINK_NODE)).shape == pytest.approx((1 / 3, 1.0, 1.0))
    assert featuriser.of(Graph((SINK_NODE,), ())).shape == (0.0, 0.0, 0.0)


def test_the_posterior_is_that_of_normal_variables() -> None:
    featuriser = Featuriser(space_for())
    graphs = [parallel(["small"] * width, SINK_NODE) for width in (1, 2, 3)]
    stack = Stack([Point(featuriser.of(graph), inner=False) for graph in graphs])
    kernel = Kernel(own=0.0)
    prior = kernel.of(compared(stack, stack))
    assert numpy.diag(prior) == pytest.approx(kernel.variances(stack), rel=1e-6)
    known = Stack([Point(featuriser.of(graph), inner=False) for graph in graphs[:2]])
    noise = numpy.diag([0.01, 0.02])
    posterior = Posterior(kernel, known, compared(known, known), numpy.array([0.2, 0.1]), noise)
    means, deviations = posterior.at(stack)
    own, cross = prior[:2, :2] + noise, prior[:, :2]
    assert means == pytest.approx(posterior.mean + cross @ numpy.linalg.solve(own, numpy.array([0.2, 0.1]) - posterior.mean))
    assert deviations**2 == pytest.approx(numpy.diag(prior - cross @ numpy.linalg.solve(own, cross.T)), abs=1e-8)
    residual = numpy.array([0.2, 0.1]) - posterior.mean
    expected = -0.5 * residual @ numpy.linalg.solve(own, residual) - 0.5 * numpy.log(numpy.linalg.det(own))
    assert posterior.log_likelihood == pytest.approx(expected)


def test_what_a_step_adds_is_learnt() -> None:
    space = space_for(num_models=3)
    drawer = GraphDrawer(space, Draws(5), edge_probability=0.3, fuser_probability=0.0)
    steps = []
    for _ in range(40):
        graph = drawer.draw().graph
        chances, levels = stepwise(graph), graph.depth_of()
        steps += [
            Step(
                node, tuple(chances[source] for source in graph.read_by(node.node_id)), levels[node.node_id], node.node_id != SINK, chances[node.node_id], 1e-4
            )
            for node in graph.nodes
        ]
    learnt, blank = OneStep(space, steps), OneStep(space, [])
    for graph in (chain(["small", "large", "small"], SINK_NODE), parallel(["small", "medium", "large"], SINK_NODE), grid(2, 3, ["large", "small"], SINK_NODE)):
        truth = stepwise(graph)[SINK]
        assert learnt.of(graph)[SINK][0] == pytest.approx(truth, abs=0.03)
        # What was seen is known better than what was not.
        assert learnt.of(graph)[SINK][1:].std() < 0.05 < 0.5 * blank.of(graph)[SINK][1:].std()


def test_a_model_that_nobody_asked_is_expected_to_be_like_others_of_its_size() -> None:
    space = space_for(num_models=4)
    steps = [Step(Node("a1", "small"), (), 0, inner=False, value=0.5, noise=1e-4), Step(Node("a1", "large"), (), 0, inner=False, value=0.8, noise=1e-4)]
    strengths = [OneStep(space, steps).of(Graph((Node("a1", name),), (), "a1"))["a1"] for name in NAMES]
    assert [values[0] for values in strengths] == sorted(values[0] for values in strengths)
    assert strengths[0][0] == pytest.approx(0.5, abs=0.01)
    assert strengths[3][1:].std() > 3 * strengths[2][1:].std()


def test_belief_comes_to_the_truth_and_knows_how_sure_it_is() -> None:
    space = space_for(num_models=3, units=None)
    belief = Belief(space, Quality(), parts=True)
    with pytest.raises(ValueError, match="nothing was learnt yet"):
        belief.judged([belief.candidate(Graph((SINK_NODE,), ()))])
    for graph in (grid(2, 2, ["small", "large"], SINK_NODE), parallel(["small", "medium", "large"], SINK_NODE), chain(["large", "medium"], SINK_NODE)):
        belief.learn(seen_in_full(graph))
    others = [grid(3, 1, ["large"], SINK_NODE), chain(["small", "small", "small"], SINK_NODE), grid(1, 1, ["large"], SINK_NODE)]
    means, deviations = belief.judged([belief.candidate(graph) for graph in others])
    for graph, mean, deviation in zip(others, means, deviations, strict=True):
        assert abs(mean - stepwise(graph)[SINK]) < 2.5 * deviation < 0.5
    assert means.argmax() in {0, 2}


def test_what_latency_takes_is_known_beforehand() -> None:
    space = space_for(num_models=3, units=None)
    plain, hasty = Belief(space, Quality(), parts=True), Belief(space, QualityMinusLatency(0.1, 1.0), parts=True)
    graph, other = chain(["small"] * 2, SINK_NODE), chain(["small"] * 4, SINK_NODE)
    for belief in (plain, hasty):
        belief.learn(seen_in_full(graph))
    (plain_means, _), (hasty_means, _) = (belief.judged([belief.candidate(found) for found in (graph, other)]) for belief in (plain, hasty))
    # Three and five levels of a second each.
    assert plain_means - hasty_means == pytest.approx([0.3, 0.5])


def test_the_pool_holds_blocks_of_every_kind_once() -> None:
    space = space_for(num_models=2, units=30.0, max_agents=8)
    candidates = Candidates(space, Draws(0))
    candidates.add_smallest()
    candidates.add_regular(300)
    graphs = [found.graph for found in candidates.graphs.values()]
    sizes = {
        (round(width), round(depth)) for width, depth, _ in (tuple(2 ** (3 * value) - 1 for value in Featuriser(space).of(graph).shape) for graph in graphs)
    }
    assert {(0, 0), (1, 1), (8, 1), (1, 8), (2, 2), (4, 2), (2, 4)} <= sizes
    assert any(node.role is NodeRole.FUSER for graph in graphs for node in graph.nodes)
    assert all(space.fits(graph) for graph in graphs)


def test_the_first_graph_tells_much_and_the_best_is_found_soon() -> None:
    space = space_for(num_models=3, units=30.0)
    found = [proposals("surrogate", problem_for(space, seed=seed, max_evaluations=6), seen_in_full, pool=80, neighbours=12) for seed in range(4)]
    for made in found:
        assert [proposal.origin for proposal in made] == ["informative"] + ["promising"] * 5
        assert len(made[0].graph.nodes) >= 3
        # The best there is reads large models and nothing else: 0.5 by one third of the way from 0.6 to 0.3.
        assert max(stepwise(proposal.graph)[SINK] for proposal in made[:4]) == pytest.approx(0.5, abs=0.02)


def test_a_model_without_parts_still_learns() -> None:
    space = space_for(num_models=3, units=30.0)
    made = proposals("surrogate", problem_for(space, max_evaluations=12), lambda graph: exact(graph, lambda found: stepwise(found)[SINK]), parts=False, pool=80)
    assert max(stepwise(proposal.graph)[SINK] for proposal in made) > 0.45


def test_distances_are_never_negative_and_kernels_at_most_one() -> None:
    featuriser = Featuriser(space_for(num_models=4))
    drawer = GraphDrawer(space_for(num_models=4), Draws(1), edge_probability=0.3, fuser_probability=0.5)
    stack = Stack([Point(featuriser.of(drawer.draw().graph), inner=bool(number % 2)) for number in range(30)])
    kernel = Kernel()
    covariance = kernel.of(compared(stack, stack))
    assert numpy.linalg.eigvalsh(covariance).min() > -1e-9
    limit = numpy.sqrt(numpy.outer(kernel.variances(stack), kernel.variances(stack)))
    assert (covariance <= limit * (1 + sqrt(1e-9))).all()


@pytest.mark.parametrize("changed", [{"pool": 0}, {"neighbours": -1}, {"optimism": -0.1}])
def test_settings_are_checked(changed: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(changed))):
        proposals("surrogate", problem_for(space_for()), seen_in_full, **changed)
