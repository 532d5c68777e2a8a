from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, permutations, product
from time import process_time

import pytest
from tests.graphs.enumerated_draws import scattered

from multigraft.errors import InputError
from multigraft.graphs.decoding import acyclic, most_probable, most_probable_models
from multigraft.graphs.distribution import Distribution
from multigraft.graphs.draw import NodeBudget
from multigraft.graphs.graph import SINK, Edge, Graph, Node, NodeRole
from multigraft.graphs.layout import Layout
from multigraft.randomness import Draws

THE_SINK = Node(SINK, "large")


def names(num_agents: int) -> tuple[str, ...]:
    return tuple(f"a{number}" for number in range(1, num_agents + 1))


def random_weights(num_agents: int, seed: int, *, shift: float = 1.0) -> dict[Edge, float]:
    draws = Draws("decoding", num_agents, seed)
    return {(source, target): 4 * draws.uniform() - shift for source in names(num_agents) for target in names(num_agents) if source != target}


@cache
def all_acyclic(num_agents: int) -> tuple[frozenset[Edge], ...]:
    """Every acyclic set of edges between agents, each found once."""
    found = set()
    for order in permutations(names(num_agents)):
        forward = list(combinations(order, 2))
        found |= {frozenset(edge for edge, chosen in zip(forward, bits, strict=True) if chosen) for bits in product((False, True), repeat=len(forward))}
    return tuple(found)


def weight_of(read: Mapping[str, Sequence[str]], weights: Mapping[Edge, float]) -> float:
    return sum(weights[source, target] for target, sources in read.items() for source in sources)


def best_by_order(nodes: Sequence[str], weights: Mapping[Edge, float]) -> float:
    return max(sum(max(0.0, weights[edge]) for edge in combinations(order, 2)) for order in permutations(nodes))


def greedy(nodes: Sequence[str], weights: Mapping[Edge, float]) -> float:
    above: dict[str, set[str]] = {node: {node} for node in nodes}
    total = 0.0
    for (source, target), weight in sorted(weights.items(), key=lambda item: -item[1]):
        if weight > 0 and target not in above[source]:
            total += weight
            for node in nodes:
                if target in above[node]:
                    above[node] |= above[source]
    return total


def assert_acyclic(order: Sequence[str], read: Mapping[str, Sequence[str]]) -> None:
    place = {node: index for index, node in enumerate(order)}
    assert all(place[source] < place[target] for target, sources in read.items() for source in sources)


def test_there_are_as_many_acyclic_sets_as_labelled_acyclic_graphs() -> None:
    assert [len(all_acyclic(num_agents)) for num_agents in (1, 2, 3, 4)] == [1, 3, 25, 543]


def test_edges_are_the_best_of_all_acyclic_sets_of_four_agents() -> None:
    greedy_lost = 0
    for seed in range(200):
        weights = random_weights(4, seed, shift=0.5 + seed % 4 * 0.5)
        order, read = acyclic(names(4), weights)
        assert_acyclic(order, read)
        best = max(sum(weights[edge] for edge in edges) for edges in all_acyclic(4))
        assert weight_of(read, weights) == pytest.approx(best, abs=1e-12)
        greedy_lost += greedy(names(4), weights) < best - 1e-9
    # Exactness is worth having: taking the likeliest edges first misses the best in a good part of these cases.
    assert greedy_lost > 10


@pytest.mark.parametrize(("num_agents", "num_cases"), [(5, 60), (6, 12), (7, 2)])
def test_edges_are_the_best_of_all_orders_of_more_agents(num_agents: int, num_cases: int) -> None:
    for seed in range(num_cases):
        weights = random_weights(num_agents, seed, shift=0.5 + seed % 3)
        order, read = acyclic(names(num_agents), weights)
        assert_acyclic(order, read)
        assert weight_of(read, weights) == pytest.approx(best_by_order(names(num_agents), weights), abs=1e-12)


def test_sixteen_agents_on_cycles_through_each_other_are_decoded_in_a_moment() -> None:
    draws = Draws("planted")
    planted = draws.shuffled(names(16))
    # Every agent would read every other, but forward in one order more gladly than backward: that order is the best, since no pair can bring more.
    forward = {edge: 1 + draws.uniform() for edge in combinations(planted, 2)}
    backward = {(target, source): draws.uniform() for source, target in forward}
    started_s = process_time()
    order, read = acyclic(names(16), forward | backward)
    # About a tenth of a second here.
    assert process_time() - started_s < 3
    assert list(order) == planted
    assert {(source, target) for target, sources in read.items() for source in sources} == forward.keys()


def test_parts_without_a_common_cycle_are_solved_apart_so_that_many_agents_stay_exact() -> None:
    left, right = names(12)[:6], names(12)[6:]
    weights = random_weights(12, 2, shift=1.5)
    weights |= {(source, target): -1.0 for source in right for target in left}
    across = sum(max(0.0, weights[source, target]) for source in left for target in right)
    order, read = acyclic(names(12), weights)
    assert_acyclic(order, read)
    assert weight_of(read, weights) == pytest.approx(best_by_order(left, weights) + best_by_order(right, weights) + across, abs=1e-12)
    many = names(60)
    forward = {(source, target): 0.5 if many.index(source) < many.index(target) else -0.5 for source in many for target in many if source != target}
    assert sum(map(len, acyclic(many, forward)[1].values())) == 60 * 59 / 2


def test_more_than_sixteen_agents_on_cycles_are_decoded_greedily() -> None:
    weights = random_weights(18, 3)
    order, read = acyclic(names(18), weights)
    assert_acyclic(order, read)
    assert weight_of(read, weights) >= greedy(names(18), weights) - 1e-9
    assert sorted(order) == sorted(names(18))


def test_weights_that_are_missing_or_not_positive_are_no_edges() -> None:
    assert acyclic(("a", "b"), {("a", "b"): 0.0}) == (("a", "b"), {"a": [], "b": []})
    assert acyclic(("a", "b"), {("b", "a"): 0.1}) == (("b", "a"), {"b": [], "a": ["b"]})
    assert acyclic((), {}) == ((), {})


def test_the_sink_reads_all_that_are_likely_or_else_the_likeliest() -> None:
    layout = Layout(agents=names(3), models=("m",), sinks=(THE_SINK,))
    start = Distribution.uniform(layout)
    likely = start.with_edge_probabilities({("a1", SINK): 0.6, ("a2", SINK): 0.5, ("a3", SINK): 0.7})
    assert most_probable(likely).edges == (("a1", SINK), ("a3", SINK))
    unlikely = start.with_edge_probabilities({("a1", SINK): 0.1, ("a2", SINK): 0.3, ("a3", SINK): 0.2})
    assert most_probable(unlikely).edges == (("a2", SINK),)


def test_roles_and_models_are_the_likeliest_that_may_be() -> None:
    layout = Layout(agents=names(3), models=("m", "n"), sinks=(Node(SINK, "small"), THE_SINK))
    logits = list(Distribution.uniform(layout).with_role_probabilities(dict.fromkeys(names(3), 0.9)).logits)
    logits[layout.models_at("a2")[1]] = 1.0
    logits[layout.sinks_at()[1]] = 0.3
    chain = {("a1", "a2"): 0.9, ("a2", "a3"): 0.9, ("a3", SINK): 0.9, ("a1", SINK): 0.1, ("a2", SINK): 0.1}
    graph = most_probable(Distribution(layout, tuple(logits)).with_edge_probabilities(chain))
    # a1 reads nothing, and a3 a fuser alone.
    assert graph.nodes == (Node("a1", "m"), Node("a2", "n", NodeRole.FUSER), Node("a3", "m"), THE_SINK)
    assert graph.edges == (("a1", "a2"), ("a2", "a3"), ("a3", SINK))


def test_the_graph_decoded_is_sound_whatever_the_distribution() -> None:
    layout = Layout(agents=names(5), models=("m", "n"), sinks=(THE_SINK, Node(SINK, "", NodeRole.VOTE), Node(SINK, "large", NodeRole.FUSER)))
    for seed in range(60):
        distribution = scattered(layout, seed)
        graph = most_probable(distribution)
        draw = distribution.draw_of(graph)
        assert {node.node_id for node in graph.nodes if node.role is NodeRole.FUSER} - {SINK} <= draw.free_roles
        weights = {edge: distribution.logits[layout.edge_at(edge)] for edge in layout.edges() if edge[1] != SINK}
        assert sum(weights[edge] for edge in graph.edges if edge[1] != SINK) == pytest.approx(best_by_order(names(5), weights))


def test_models_may_be_given_and_so_who_takes_part() -> None:
    distribution = scattered(Layout(agents=names(4), models=("m",), sinks=(THE_SINK,)), 1)
    graph = most_probable(distribution, models={"a2": "x", "a4": "y"})
    assert [(node.node_id, node.model) for node in graph.nodes] == [("a2", "x"), ("a4", "y"), (SINK, "large")]
    assert most_probable(distribution, models={}) == Graph((THE_SINK,), ())
    with pytest.raises(InputError, match="reads no other node"):
        most_probable(Distribution.uniform(Layout(agents=("a1",), models=("m",), sinks=(Node(SINK, "", NodeRole.BEST),))), models={})


def test_models_under_a_budget_are_the_likeliest_together() -> None:
    layout = Layout(agents=names(4), models=("m", "n", "o"), sinks=(THE_SINK,))
    costs = {"m": 1.0, "n": 2.7, "o": 6.0}
    bound = 0
    for seed in range(80):
        distribution, total = scattered(layout, seed), 4.0 + seed % 20
        chances = {agent: distribution.model_probabilities(agent) for agent in names(4)}
        best = 0.0
        for models in product(layout.models, repeat=4):
            if sum(costs[model] for model in models) <= total:
                chance = 1.0
                for agent, model in zip(names(4), models, strict=True):
                    chance *= chances[agent][model]
                best = max(best, chance)
        chosen = most_probable_models(distribution, NodeBudget(costs, total))
        assert sum(costs[model] for model in chosen.values()) <= total
        chance = 1.0
        for agent, model in chosen.items():
            chance *= chances[agent][model]
        assert chance == pytest.approx(best)
        bound += chosen != most_probable_models(distribution)
    assert bound > 20


def test_models_are_the_lightest_where_nothing_fits() -> None:
    layout = Layout(agents=names(2), models=("n", "m"), sinks=(THE_SINK,))
    assert most_probable_models(scattered(layout, 1), NodeBudget({"m": 1.0, "n": 2.0}, 1.5)) == {"a1": "m", "a2": "m"}
    graph = most_probable(scattered(layout, 1), budget=NodeBudget({"m": 1.0, "n": 2.0}, 2.0))
    assert [node.model for node in graph.nodes] == ["m", "m", "large"]
