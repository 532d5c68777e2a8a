"""Seconds of calls and graphs: fits that recover what made the data, and schedules worked out by hand."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from multigraft.budget.cost import ModelCost
from multigraft.errors import InputError
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.graphs.graph import Graph, Node
from multigraft.graphs.latency import CallTime, LatencyModel, critical_path, fitted, slots_s, slowest_way, span_s, sum_s


def samples(model: LatencyModel, sizes: list[tuple[int, int]]) -> list[CallTime]:
    return [CallTime(read, written, model.seconds(read, written)) for read, written in sizes]


def test_a_fit_recovers_its_model() -> None:
    model = LatencyModel(0.4, 0.0002, 0.03)
    found = fitted(samples(model, [(100, 20), (200, 50), (1500, 30), (700, 300), (90, 1)]))
    assert found.start_s == pytest.approx(0.4)
    assert found.per_prompt_token_s == pytest.approx(0.0002)
    assert found.per_completion_token_s == pytest.approx(0.03)


@given(st.floats(0, 5), st.floats(0, 0.01), st.floats(0, 0.2), st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 500)), min_size=1, max_size=12))
@settings(deadline=None, max_examples=100)
def test_a_fit_explains_calls_without_noise(start: float, read: float, written: float, sizes: list[tuple[int, int]]) -> None:
    calls = samples(LatencyModel(start, read, written), sizes)
    found = fitted(calls)
    for call in calls:
        # Calls of nearly one size leave the numbers open, but not the seconds.
        assert found.seconds(call.prompt_tokens, call.completion_tokens) == pytest.approx(call.seconds, rel=1e-3, abs=2e-3)


@given(st.lists(st.tuples(st.floats(0, 5000), st.floats(0, 500), st.floats(0, 1000)), min_size=1, max_size=15))
@settings(deadline=None, max_examples=100)
def test_a_fit_of_anything_is_a_model_and_no_worse_than_the_mean(calls: list[tuple[float, float, float]]) -> None:
    found = fitted(calls)
    mean = sum(call[2] for call in calls) / len(calls)
    error = sum((found.seconds(call[0], call[1]) - call[2]) ** 2 for call in calls)
    assert error <= sum((mean - call[2]) ** 2 for call in calls) * (1 + 1e-6) + 1e-6


def test_one_call_gives_a_start_and_equal_calls_their_mean() -> None:
    assert fitted([(100, 20, 3.0)]) == LatencyModel(3.0)
    assert fitted([(100, 20, 3.0), (100, 20, 5.0)]).start_s == pytest.approx(4.0)


def test_tokens_that_go_hand_in_hand_count_once() -> None:
    found = fitted([(20, 10, 1.0), (40, 20, 2.0), (60, 30, 3.0)])
    assert (found.start_s, found.per_prompt_token_s) == (0, 0)
    assert found.per_completion_token_s == pytest.approx(0.1)


def test_a_number_that_would_be_negative_is_zero() -> None:
    # Longer prompts were faster by accident.
    found = fitted([(100, 10, 2.0), (200, 10, 1.9), (100, 20, 3.0), (200, 20, 2.9)])
    assert found.per_prompt_token_s == 0
    assert found.per_completion_token_s == pytest.approx(0.1)
    assert found.start_s == pytest.approx(0.95)


@pytest.mark.parametrize("calls", [[], [(1.0, 2.0, -1.0)], [(float("nan"), 1.0, 1.0)]])
def test_what_is_no_call_is_refused(calls: list[tuple[float, float, float]]) -> None:
    with pytest.raises(InputError, match="logged call"):
        fitted(calls)


def test_a_model_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match="per_prompt_token_s"):
        LatencyModel(1.0, -0.1)


def graph(edges: str, nodes: str) -> Graph:
    pairs = tuple((pair[0], pair[1]) for pair in edges.split())
    return Graph(tuple(Node(name, "m") for name in nodes), pairs, nodes[-1])


DIAMOND = graph("ab ac bd cd", "abcd")
TIMES = {"a": 1.0, "b": 2.0, "c": 5.0, "d": 1.0}


def test_the_critical_path_of_a_diamond() -> None:
    assert critical_path(DIAMOND, TIMES) == ("a", "c", "d")
    assert span_s(DIAMOND, TIMES) == 7
    assert sum_s(DIAMOND, TIMES) == 9
    assert [slots_s(DIAMOND, TIMES, slots) for slots in (1, 2, 3)] == [9, 7, 7]


def test_dead_nodes_take_no_time() -> None:
    assert span_s(graph("ab ax xy", "axyb"), {"a": 1.0, "b": 1.0, "x": 100.0, "y": 100.0}) == 2


def test_the_longest_way_goes_first() -> None:
    # p, q and the long r all feed s: r must not wait.
    wide = graph("ps qs rs", "pqrs")
    assert slots_s(wide, {"p": 1.0, "q": 1.0, "r": 3.0, "s": 1.0}, 2) == 4
    assert slots_s(wide, {"p": 2.0, "q": 2.0, "r": 3.0, "s": 1.0}, 2) == 5


@pytest.mark.parametrize(("width", "depth"), [(1, 8), (3, 4), (4, 6), (8, 1)])
def test_chains_of_unit_nodes(width: int, depth: int) -> None:
    ids = [[f"c{column}.{row}" for row in range(depth)] for column in range(width)]
    edges = tuple(edge for chain in ids for edge in zip(chain, [*chain[1:], "sink"], strict=True))
    chains = Graph((*(Node(node_id, "m") for chain in ids for node_id in chain), Node("sink", "m")), edges)
    times = dict.fromkeys(chains.live, 1.0)
    assert span_s(chains, times) == depth + 1
    assert sum_s(chains, times) == width * depth + 1
    assert len(critical_path(chains, times)) == depth + 1
    assert slots_s(chains, times, width) == depth + 1
    assert slots_s(chains, times, 1) == width * depth + 1


def test_no_place_is_refused() -> None:
    with pytest.raises(InputError, match="0 places"):
        slots_s(DIAMOND, TIMES, 0)


@given(st.lists(st.booleans(), min_size=21, max_size=21), st.lists(st.floats(0, 10), min_size=7, max_size=7), st.integers(1, 5))
@settings(deadline=None, max_examples=100)
def test_a_schedule_lies_between_its_bounds(drawn: list[bool], seconds: list[float], slots: int) -> None:
    pairs = [(source, target) for place, target in enumerate("abcdefs") for source in "abcdefs"[:place]]
    edges = {pair for pair, wanted in zip(pairs, drawn, strict=True) if wanted} | {("f", "s")}
    drawn_graph = Graph(tuple(Node(name, "m") for name in "abcdefs"), tuple(edges), "s")
    times = dict(zip("abcdefs", seconds, strict=True))
    span, total, found = span_s(drawn_graph, times), sum_s(drawn_graph, times), slots_s(drawn_graph, times, slots)
    assert max(span, total / slots) <= found + 1e-9
    assert found <= total / slots + (1 - 1 / slots) * span + 1e-9
    assert sum(times[node] for node in critical_path(drawn_graph, times)) == pytest.approx(span)
    if slots >= 5:
        assert found >= span


def test_the_slowest_way_counts_what_is_read() -> None:
    """A model that is fast by itself, but has much to read, is slower than one that reads nothing."""
    quick = [Node(f"a{number}", "quick") for number in range(1, 5)]
    graph = Graph((*quick, Node("a5", "slow"), Node("s", "quick")), (("a1", "a4"), ("a2", "a4"), ("a3", "a4"), ("a4", "s"), ("a5", "s")), "s")
    latency = {"quick": LatencyModel(1.0, 0.01), "slow": LatencyModel(3.0)}
    # a1: 1 + 1 = 2 s; a4: 2 + 1 + 1 + 3 * 0.5 = 5.5 s; a5: 3 s.
    costs = KnownCosts({}, Workload(100, 50), latency=latency)
    assert slowest_way(graph, costs) == ("a1", "a4", "s")
    assert costs.of(graph).latency_s == pytest.approx(5.5 + 1 + 1 + 2 * 0.5)
    slower = KnownCosts({}, Workload(100, 50), latency=latency | {"slow": LatencyModel(5.6)})
    assert slowest_way(graph, slower) == ("a5", "s")


def test_without_seconds_the_deepest_way_is_the_slowest() -> None:
    graph = Graph((Node("a", "m"), Node("b", "m"), Node("c", "m"), Node("d", "m")), (("a", "d"), ("b", "c"), ("c", "d")), "d")
    assert slowest_way(graph, KnownCosts({"m": ModelCost()}, Workload(1, 1))) == ("b", "c", "d")
