from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, inf, log, nan, sqrt

import pytest
from tests.graphs.enumerated_draws import all_draws, draws_given, scattered, weighted

from multigraft.errors import InputError
from multigraft.graphs.canonical import canonical
from multigraft.graphs.distribution import Distribution
from multigraft.graphs.draw import Draw, NodeBudget
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.graphs.layout import Layout
from multigraft.graphs.logistic import log_sigmoid, logit, sigmoid
from multigraft.randomness import Draws, key_of

THE_SINK = Node(SINK, "large")
ROLES = (NodeRole.ASSISTANT, NodeRole.FUSER)
VOTE = Node(SINK, "", NodeRole.VOTE)

EVERYTHING = Layout(agents=("a1", "a2"), models=("m", "n"), sinks=(THE_SINK, VOTE))
"""Two agents, so that there are few draws, and all kinds of chance."""
EDGES = Layout(agents=("a1", "a2", "a3"), models=("m",), sinks=(THE_SINK,), roles=ROLES[:1])
EDGES_AND_ROLES = replace(EDGES, roles=ROLES)
BUDGET = NodeBudget({"m": 1.0, "n": 2.0, "o": 4.0}, 4.0)
"""With the model `o` there is room for one agent alone, and after `n` there is none for `o`."""
BUDGETED = Layout(agents=("a1", "a2"), models=("m", "n", "o"), sinks=(THE_SINK,), roles=ROLES[:1])


def utility(graph: Graph) -> float:
    """Anything in [0, 1) that depends on what runs, and on nothing else."""
    form = canonical(graph)
    return key_of("utility", *(part for node in form.nodes for part in (node.model, node.role.value)), *(end for edge in form.edges for end in edge)) / 2**64


def expected(distribution: Distribution, draws: Sequence[tuple[float, Draw]], scores: Sequence[float]) -> float:
    return sum(probability * score for (probability, _), score in zip(weighted(distribution, draws), scores, strict=True))


def differences(distribution: Distribution, draw: Draw) -> list[float]:
    """The slopes of the log-probability of a draw, by central differences."""
    step = 1e-5
    units = [tuple(float(place == other) for other in range(distribution.layout.size)) for place in range(distribution.layout.size)]
    ends = [(distribution.moved(unit, step), distribution.moved(unit, -step)) for unit in units]
    return [(after.log_probability(draw) - before.log_probability(draw)) / (2 * step) for after, before in ends]


def test_with_an_order_the_probabilities_of_all_graphs_sum_to_one() -> None:
    distribution = scattered(EDGES, 1)
    for order in (("a1", "a2", "a3"), ("a3", "a1", "a2"), ("a2", "a3", "a1")):
        draws = list(draws_given(EDGES, order, ({}, dict.fromkeys(order, "m"))))
        # Three edges forward, and the sink reads one agent at least.
        assert len(draws) == 8 * 7
        assert sum(exp(distribution.log_probability(draw)) for draw in draws) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("layout", "budget"), [(EVERYTHING, None), (EDGES_AND_ROLES, None), (BUDGETED, BUDGET)])
def test_the_probabilities_of_all_draws_sum_to_one(layout: Layout, budget: NodeBudget | None) -> None:
    draws = all_draws(layout, budget=budget)
    assert sum(probability for probability, _ in weighted(scattered(layout, 2), draws)) == pytest.approx(1, abs=1e-12)


def test_a_probability_is_what_one_counts_by_hand() -> None:
    layout = Layout(agents=("a1", "a2"), models=("m", "n"), sinks=(THE_SINK,))
    distribution = Distribution.uniform(layout).with_edge_probabilities({("a1", "a2"): 0.3, ("a1", SINK): 0.2, ("a2", SINK): 0.6})
    graph = Graph((Node("a1", "m"), Node("a2", "n", NodeRole.FUSER), THE_SINK), (("a1", "a2"), ("a2", SINK)))
    draw = Draw(graph, ("a1", "a2"), 0, {"a1": ("m", "n"), "a2": ("m", "n")}, frozenset({"a2"}))
    # Both models, the edge, the sink that reads a2 alone given that it reads any, and the role.
    by_hand = 0.5 * 0.5 * 0.3 * (0.8 * 0.6 / (1 - 0.8 * 0.4)) * 0.5
    assert exp(distribution.log_probability(draw)) == pytest.approx(by_hand, rel=1e-12)
    gradient = distribution.gradient(draw)
    assert gradient[layout.edge_at(("a1", "a2"))] == pytest.approx(0.7)
    assert gradient[layout.edge_at(("a2", "a1"))] == 0
    assert gradient[layout.edge_at(("a1", SINK))] == pytest.approx(-0.2 / 0.68)
    assert gradient[layout.edge_at(("a2", SINK))] == pytest.approx(1 - 0.6 / 0.68)
    assert [gradient[place] for place in layout.roles_at("a1")] == [0, 0]
    assert [gradient[place] for place in layout.roles_at("a2")] == [-0.5, 0.5]
    assert [gradient[place] for place in layout.models_at("a2")] == [-0.5, 0.5]
    assert [gradient[place] for place in layout.sinks_at()] == [0]


@pytest.mark.parametrize(("layout", "budget"), [(EVERYTHING, None), (EDGES_AND_ROLES, None), (BUDGETED, BUDGET)])
def test_the_gradient_of_a_draw_is_that_of_its_log_probability(layout: Layout, budget: NodeBudget | None) -> None:
    distribution = scattered(layout, 3)
    for number in range(12):
        draw = distribution.sample(Draws(number), budget=budget)
        assert distribution.gradient(draw) == pytest.approx(differences(distribution, draw), abs=1e-8)


@pytest.mark.parametrize("live_only", [False, True])
@pytest.mark.parametrize(("layout", "budget"), [(EVERYTHING, None), (EDGES_AND_ROLES, None), (BUDGETED, BUDGET)])
def test_the_expected_gradient_is_that_of_the_exact_expectation(layout: Layout, budget: NodeBudget | None, live_only: bool) -> None:
    distribution, draws = scattered(layout, 4), all_draws(layout, budget=budget)
    scores = [utility(draw.graph) for _, draw in draws]
    estimate = [0.0] * layout.size
    for (probability, draw), score in zip(weighted(distribution, draws), scores, strict=True):
        for place, slope in enumerate(distribution.gradient(draw, live_only=live_only)):
            estimate[place] += probability * score * slope
    places = range(0, layout.size, 2 if layout is EDGES_AND_ROLES else 1)
    unit = [tuple(float(place == other) for other in range(layout.size)) for place in places]
    step = 1e-4
    values = [[expected(distribution.moved(direction, times * step), draws, scores) for times in (-2, -1, 1, 2)] for direction in unit]
    # Five points, so that the differences themselves are exact to the last digits compared.
    exact = [(two_before - 8 * before + 8 * after - two_after) / (12 * step) for two_before, before, after, two_after in values]
    assert max(abs(slope) for slope in exact) > 1e-3
    assert max(abs(estimate[place] - slope) for place, slope in zip(places, exact, strict=True)) < 1e-9


def test_leaving_out_what_never_runs_takes_variance_away() -> None:
    distribution, draws = scattered(EDGES_AND_ROLES, 5), all_draws(EDGES_AND_ROLES)

    def spread(live_only: bool) -> float:
        pairs = [(probability, utility(draw.graph), distribution.gradient(draw, live_only=live_only)) for probability, draw in weighted(distribution, draws)]
        return sum(probability * score**2 * sum(slope**2 for slope in slopes) for probability, score, slopes in pairs)

    assert spread(live_only=True) < 0.95 * spread(live_only=False)


def test_the_baseline_takes_away_exactly_the_bias_of_rejected_draws() -> None:
    """Were graphs drawn until the sink reads something, x - p would be the slope of a draw, and wrong on average by the chance of being accepted."""
    distribution, draws = scattered(EDGES, 6), all_draws(EDGES)
    chances = weighted(distribution, draws)
    exact = [0.0] * EDGES.size
    naive = [0.0] * EDGES.size
    mended = [0.0] * EDGES.size
    mean = sum(probability * utility(draw.graph) for probability, draw in chances)
    for probability, draw in chances:
        score = utility(draw.graph)
        plain = [0.0] * EDGES.size
        for edge in (*draw.considered, *draw.to_sink):
            plain[EDGES.edge_at(edge)] = (edge in draw.graph.edges) - distribution.edge_probability(edge)
        for place, (slope, raw) in enumerate(zip(distribution.gradient(draw), plain, strict=True)):
            exact[place] += probability * score * slope
            naive[place] += probability * score * raw
            mended[place] += probability * (score - mean) * raw
    assert max(abs(one - other) for one, other in zip(naive, exact, strict=True)) > 0.01
    assert max(abs(one - other) for one, other in zip(mended, exact, strict=True)) < 1e-12


def test_draws_come_as_often_as_they_should() -> None:
    layout = replace(EVERYTHING, roles=ROLES, sinks=(THE_SINK,))
    distribution, num_draws = scattered(layout, 8), 6000
    chances: Counter[Graph] = Counter()
    for probability, draw in weighted(distribution, all_draws(layout)):
        chances[draw.graph] += probability  # type: ignore[assignment]  # a counter adds fractions as well
    seen = Counter(distribution.sample(Draws("frequency", number)).graph for number in range(num_draws))
    assert seen.keys() <= chances.keys()
    statistic = sum((seen[graph] - num_draws * chance) ** 2 / (num_draws * chance) for graph, chance in chances.items())
    # Chi-squared with about 100 degrees of freedom: mean n, standard deviation sqrt(2 n).
    freedom = len(chances) - 1
    assert abs(statistic - freedom) < 4 * sqrt(2 * freedom)


@pytest.mark.parametrize(("layout", "budget"), [(EVERYTHING, None), (EDGES_AND_ROLES, None), (BUDGETED, BUDGET)])
def test_every_draw_is_one_of_those_there_are(layout: Layout, budget: NodeBudget | None) -> None:
    distribution = scattered(layout, 9)
    known = {(draw.graph, draw.order, draw.sink_index, tuple(sorted(draw.feasible.items())), draw.free_roles) for _, draw in all_draws(layout, budget=budget)}
    for number in range(150):
        draw = distribution.sample(Draws(number), budget=budget)
        assert (draw.graph, draw.order, draw.sink_index, tuple(sorted(draw.feasible.items())), draw.free_roles) in known
        if budget:
            assert sum(budget.costs[node.model] for node in draw.graph.nodes if node.node_id != SINK) <= budget.total


def test_the_sink_is_fed_by_somebody_however_unlikely_that_is() -> None:
    layout = Layout(agents=tuple(f"a{number}" for number in range(1, 9)), models=("m",), sinks=(VOTE,))
    distribution = Distribution.uniform(layout, edge_probability=1e-12)
    feeders = Counter(source for number in range(400) for source, _ in distribution.sample(Draws(number)).graph.edges)
    assert sum(feeders.values()) == 400
    # One each, and each of the eight as likely: 50 expected, with a standard deviation below 7.
    assert all(22 < feeders[agent] < 78 for agent in layout.agents)
    assert exp(distribution.log_probability(distribution.sample(Draws(0)))) == pytest.approx(1 / 8)


def test_the_same_draws_lead_to_the_same_graph_and_others_to_others() -> None:
    distribution = scattered(EDGES_AND_ROLES, 10)
    assert distribution.sample(Draws("one")) == distribution.sample(Draws("one"))
    assert len({distribution.sample(Draws(number)).graph for number in range(50)}) > 10


def test_models_may_be_given_and_so_who_takes_part() -> None:
    distribution = scattered(EVERYTHING, 11)
    draw = distribution.sample(Draws(1), models={"a2": "other"})
    assert [node.model for node in draw.graph.nodes if node.node_id != SINK] == ["other"]
    assert draw.order == ("a2",)
    assert draw.feasible == {}
    assert not any(distribution.gradient(draw)[place] for place in EVERYTHING.models_at("a2"))
    with pytest.raises(InputError, match="no agent 'a9'"):
        distribution.sample(Draws(1), models={"a9": "m"})
    alone = replace(EVERYTHING, sinks=(THE_SINK,))
    assert Distribution.uniform(alone).sample(Draws(1), models={}).graph == Graph((THE_SINK,), ())
    assert Distribution.uniform(alone).log_probability(Distribution.uniform(alone).sample(Draws(1), models={})) == 0
    with pytest.raises(InputError, match="reads no other node"):
        Distribution.uniform(replace(EVERYTHING, sinks=(VOTE,))).sample(Draws(1), models={})


def test_a_given_graph_is_as_likely_as_if_it_had_been_drawn() -> None:
    distribution = scattered(EDGES_AND_ROLES, 12)
    for number in range(20):
        draw = distribution.sample(Draws(number), models=dict.fromkeys(EDGES.agents, "m"))
        again = distribution.draw_of(draw.graph)
        assert again.free_roles == draw.free_roles
        if again.order == draw.order:
            assert distribution.log_probability(again) == pytest.approx(distribution.log_probability(draw))
    for graph in (Graph((Node("b", "m"), THE_SINK), (("b", SINK),)), Graph((Node("a1", "m"), VOTE), (("a1", SINK),))):
        with pytest.raises(InputError, match="is not one that can be drawn here"):
            distribution.draw_of(graph)


def test_probabilities_written_back_are_held_off_the_ends() -> None:
    distribution = Distribution.uniform(EVERYTHING).with_edge_probabilities({("a1", "a2"): 0.25, ("a1", SINK): 0.0, ("a2", SINK): 7.0})
    assert distribution.edge_probability(("a1", "a2")) == pytest.approx(0.25)
    assert distribution.logits[EVERYTHING.edge_at(("a1", "a2"))] == pytest.approx(log(1 / 3))
    assert distribution.edge_probability(("a1", SINK)) == pytest.approx(0.01)
    assert distribution.edge_probability(("a2", SINK)) == pytest.approx(0.99)
    assert distribution.edge_probabilities() == {edge: distribution.edge_probability(edge) for edge in EVERYTHING.edges()}
    assert distribution.edge_probability(("a2", "a1")) == 0.5
    roles = distribution.with_role_probabilities({"a2": 0.8}).role_probabilities("a2")
    assert roles == pytest.approx({NodeRole.ASSISTANT: 0.2, NodeRole.FUSER: 0.8})


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda d: d.with_edge_probabilities({("a1", "a1"): 0.5}), "a1 -> a1 is no edge"),
        (lambda d: d.with_edge_probabilities({(SINK, "a1"): 0.5}), "sink -> a1 is no edge"),
        (lambda d: d.with_edge_probabilities({("a1", "zz"): 0.5}), "a1 -> zz is no edge"),
        (lambda d: d.with_edge_probabilities({("a1", "a2"): nan}), "probability of nan"),
        (lambda d: d.with_edge_probabilities({("a1", "a2"): inf}), "probability of inf"),
        (lambda d: d.with_role_probabilities({"zz": 0.5}), "no agent 'zz'"),
        (lambda d: Distribution.uniform(d.layout, edge_probability=1.0), "probability of 1.0"),
        (lambda d: Distribution(d.layout, (0.0,)), "not 1"),
        (lambda d: Distribution(d.layout, (nan,) * d.layout.size), "nan among them"),
        (lambda d: Distribution(d.layout, (31.0,) * d.layout.size), "31.0 among them"),
        (lambda d: Layout(agents=("a", "a"), models=("m",), sinks=(THE_SINK,)), "distinct ids"),
        (lambda d: Layout(agents=(SINK,), models=("m",), sinks=(THE_SINK,)), "other than 'sink'"),
        (lambda d: Layout(agents=("a",), models=(), sinks=(THE_SINK,)), "at least one, not none"),
        (lambda d: Layout(agents=("a",), models=("m",), sinks=(Node("b", "m"),)), "need the id 'sink'"),
        (lambda d: Layout(agents=(), models=(), sinks=(VOTE,)), "needs agents to read"),
        (lambda d: Layout(agents=("a",), models=("m",), sinks=(THE_SINK,), roles=(NodeRole.FUSER,)), "not fuser"),
        (lambda d: NodeBudget({"m": 0.0}, 1.0), "agents of 'm' weigh 0.0"),
        (lambda d: NodeBudget({"m": 1.0}, -1.0), "total weight of -1.0"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(write: Callable[[Distribution], object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        write(Distribution.uniform(EVERYTHING))


def test_the_start_is_as_likely_as_one_says() -> None:
    start = Distribution.uniform(EVERYTHING, edge_probability=sigmoid(-2))
    assert start.edge_probability(("a1", "a2")) == pytest.approx(0.119203, abs=5e-7)
    assert start.role_probabilities("a1") == {NodeRole.ASSISTANT: 0.5, NodeRole.FUSER: 0.5}
    assert start.model_probabilities("a1") == {"m": 0.5, "n": 0.5}
    assert start.sink_probabilities() == (0.5, 0.5)
    assert len(start.logits) == 2 * 2 + 2 * 2 + 2 * 2 + 2


def test_every_logit_has_one_place() -> None:
    layout = Layout(agents=("a1", "a2", "a3"), models=("m", "n"), sinks=(THE_SINK, VOTE))
    places = [layout.edge_at(edge) for edge in layout.edges()]
    places += [place for agent in layout.agents for place in (*layout.roles_at(agent),)]
    places += [place for agent in layout.agents for place in (*layout.models_at(agent),)]
    assert [*places, *layout.sinks_at()] == list(range(layout.size))


def test_logits_and_probabilities_are_exact_at_the_ends() -> None:
    assert sigmoid(logit(1e-12)) == pytest.approx(1e-12, rel=1e-12)
    assert sigmoid(-800) == 0
    assert sigmoid(800) == 1
    assert log_sigmoid(-800) == -800
    assert log_sigmoid(800) == 0
    assert log_sigmoid(0) == pytest.approx(-log(2))


def test_logits_stay_where_probabilities_can_be_told_apart() -> None:
    far = Distribution.uniform(EVERYTHING).moved((1.0,) * EVERYTHING.size, 1e9)
    assert set(far.logits) == {30.0}
    assert far.log_probability(far.sample(Draws(0))) > -inf
