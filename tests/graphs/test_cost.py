"""Costs of graphs, against the figures of arXiv 2511.00086, its public code, and hand-computed values."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.budget.cost import ModelCost
from multigraft.budget.flops import ModelShape, call_flops, decode_flops, prefill_flops
from multigraft.budget.price import Price
from multigraft.budget.shapes import KNOWN_SHAPES
from multigraft.errors import InputError
from multigraft.graphs.cost import KnownCosts, Workload, coefficients, dense
from multigraft.graphs.costs import Caps
from multigraft.graphs.graph import Graph, Node, NodeRole
from multigraft.graphs.latency import LatencyModel

SHAPES = {
    "1b": ModelShape(10**9, 16, 2048),
    "3b": ModelShape(3 * 10**9, 28, 3072),
    "8b": ModelShape(8 * 10**9, 32, 4096),
    "70b": ModelShape(70 * 10**9, 80, 8192),
}
WORKLOADS = {"MATH": Workload(202, 275), "MMLU": Workload(213, 215), "HumanEval": Workload(180, 115)}
BASES = {"MATH": 9.710e11, "MMLU": 8.680e11, "HumanEval": 5.957e11}
MODELS = {name: ModelCost(shape) for name, shape in SHAPES.items()}


def paper_costs(task: str = "MATH") -> KnownCosts:
    return KnownCosts(MODELS, WORKLOADS[task], base_flops=BASES[task])


def chains(width: int, depth: int, model: str = "1b", sink: str = "3b") -> Graph:
    ids = [[f"c{column}.{row}" for row in range(depth)] for column in range(width)]
    nodes = [Node(node_id, model) for chain in ids for node_id in chain]
    edges = [edge for chain in ids for edge in zip(chain, [*chain[1:], "sink"], strict=True)]
    return Graph((*nodes, Node("sink", sink)), tuple(edges))


def test_the_toy_figures() -> None:
    shape = ModelShape(100, 2, 10)
    assert coefficients(shape, Workload(4, 3)) == (360, 2400, 3640)
    assert coefficients(shape, Workload(4, 3)).flops(2) == 9880
    assert (prefill_flops(shape, 10), decode_flops(shape, 10, 3), call_flops(shape, 10, 3)) == (6400, 3480, 9880)
    costs = KnownCosts({"toy": ModelCost(shape)}, Workload(4, 3))
    fork = Graph((Node("0", "toy"), Node("1", "toy"), Node("2", "toy")), (("0", "2"), ("1", "2")), "2")
    found = costs.of(fork)
    assert found.flops == 17160
    assert found.units == 17160 / 3640
    assert (found.calls, found.tokens) == (3, 7 + 7 + 13)
    assert [(node.num_read, node.prompt_tokens, node.completion_tokens, node.flops) for node in costs.nodes_of(fork)] == [
        (0, 4, 3, 3640),
        (0, 4, 3, 3640),
        (2, 10, 3, 9880),
    ]


@pytest.mark.parametrize(("task", "flops"), [("MATH", 9.689426e11), ("MMLU", 8.680332e11), ("HumanEval", 5.957226e11)])
def test_one_call_of_the_smallest_model(task: str, flops: float) -> None:
    costs = KnownCosts(MODELS, WORKLOADS[task])
    assert costs.base_flops == pytest.approx(flops, rel=1e-7)
    assert costs.of(dense(0, "1b", "1b")).units == 1


def test_the_published_unit_of_math_is_one_of_a_token_more() -> None:
    assert call_flops(SHAPES["1b"], 203, 275) == pytest.approx(BASES["MATH"], rel=1e-4)


@pytest.mark.parametrize(("model", "units"), [("1b", 0.998), ("3b", 2.988), ("8b", 7.921), ("70b", 69.08)])
def test_single_models_in_units_of_math(model: str, units: float) -> None:
    assert paper_costs().of(Graph((Node("sink", model),))).units == pytest.approx(units, rel=1e-4, abs=5e-4)


CAPS = {"MATH": (17.753, 42.866, 78.978), "MMLU": (16.337, 38.512, 69.967), "HumanEval": (14.151, 31.889, 56.394)}


@pytest.mark.parametrize("task", CAPS)
def test_caps_are_the_cost_of_the_densest_graph(task: str) -> None:
    assert [round(paper_costs(task).dense_cap(agents, "1b", "3b"), 3) for agents in (4, 8, 12)] == list(CAPS[task])


def test_the_densest_graph_fits_under_its_cap_and_one_agent_more_does_not() -> None:
    costs = paper_costs()
    cap = Caps(units=costs.dense_cap(8, "1b", "3b"))
    assert cap.exceeded(costs.of(dense(8, "1b", "3b"))) is None
    assert cap.exceeded(costs.of(dense(9, "1b", "3b"))) == "units"


WIDE_AND_DEEP = [(1, 8, 16.85), (8, 1, 25.79), (3, 4, 25.62), (3, 8, 44.67), (4, 6, 45.92), (1, 24, 42.25), (24, 1, 76.55)]


@pytest.mark.parametrize(("width", "depth", "units"), WIDE_AND_DEEP)
def test_width_times_depth(width: int, depth: int, units: float) -> None:
    found = KnownCosts(MODELS, WORKLOADS["MATH"], base_flops=BASES["MATH"]).of(chains(width, depth))
    assert found.units == pytest.approx(units, abs=0.005)
    assert found.calls == width * depth + 1


EXACT = [
    ("Llama-3.2-1B", 1.0),
    ("Llama-3.2-3B", 2.707),
    ("Llama-3.1-8B", 6.440),
    ("Llama-3.1-70B", 60.81),
    ("Gemma-3-1B", 0.776),
    ("Gemma-1.1-2B", 2.019),
    ("Gemma-1.1-7B", 7.242),
]


@pytest.mark.parametrize(("model", "units"), EXACT)
def test_exact_units(model: str, units: float) -> None:
    models = {name: ModelCost(KNOWN_SHAPES[name], form="exact") for name, _ in EXACT}
    base = KnownCosts({"Llama-3.2-1B": models["Llama-3.2-1B"]}, WORKLOADS["MATH"]).base_flops
    costs = KnownCosts(models, WORKLOADS["MATH"], base_flops=base)
    assert costs.of(Graph((Node("sink", model),))).units == pytest.approx(units, rel=2e-4)


def priced(model: float, sink: float) -> KnownCosts:
    prices = {
        "8b": ModelCost(price=Price(usd_per_million_prompt=model, usd_per_million_completion=model)),
        "3b": ModelCost(price=Price(usd_per_million_prompt=sink, usd_per_million_completion=sink)),
    }
    return KnownCosts(prices, WORKLOADS["MATH"])


def test_dollars() -> None:
    costs = priced(0.18, 0.06)
    assert costs.of(chains(4, 1, "8b", "3b")).usd == pytest.approx(4.381e-4, rel=1e-4)
    assert costs.of(chains(5, 1, "8b", "3b")).usd == pytest.approx(5.404e-4, rel=1e-4)
    # Five and six calls that read nothing.
    alone = costs.of(Graph((Node("sink", "8b"),))).usd
    assert alone is not None
    assert 5 * alone == pytest.approx(4.293e-4, rel=1e-4)
    assert 6 * alone == pytest.approx(5.152e-4, rel=1e-4)
    cap = Caps(usd=5e-4)
    assert cap.exceeded(costs.of(chains(4, 1, "8b", "3b"))) is None
    assert cap.exceeded(costs.of(chains(5, 1, "8b", "3b"))) == "usd"


def test_prompt_and_completion_have_prices_of_their_own() -> None:
    costs = KnownCosts({"m": ModelCost(price=Price(usd_per_million_prompt=1.0, usd_per_million_completion=10.0))}, Workload(100, 20))
    # The sink reads 100 + 3 * 20 tokens, the others 100; all write 20.
    assert costs.of(chains(3, 1, "m", "m")).usd == pytest.approx((460 * 1.0 + 80 * 10.0) / 1e6, rel=1e-12)


def test_only_live_nodes_are_charged() -> None:
    costs = paper_costs()
    nodes = (Node("a", "1b"), Node("dead", "70b"), Node("sink", "3b"))
    assert costs.of(Graph(nodes, (("a", "dead"), ("a", "sink")))) == costs.of(Graph((nodes[0], nodes[2]), (("a", "sink"),)))


def test_a_sink_that_chooses_costs_nothing() -> None:
    costs = KnownCosts(MODELS, WORKLOADS["MATH"], latency={"1b": LatencyModel(1.0)})
    graph = Graph((Node("a", "1b"), Node("b", "1b"), Node("sink", "", NodeRole.VOTE)), (("a", "sink"), ("b", "sink")))
    found = costs.of(graph)
    assert (found.calls, found.tokens, found.units, found.latency_s, found.latency_sum_s) == (2, 2 * 477, 2.0, 1.0, 2.0)


def test_tokens_by_model() -> None:
    costs = KnownCosts(MODELS, Workload(100, 10, {"3b": (90, 30)}))
    graph = Graph((Node("a", "1b"), Node("b", "3b"), Node("c", "1b"), Node("sink", "3b")), (("a", "c"), ("b", "c"), ("b", "sink"), ("c", "sink")))
    assert [(node.prompt_tokens, node.completion_tokens) for node in costs.nodes_of(graph)] == [(100, 10), (90, 30), (140, 10), (130, 30)]


def test_lengths_between_whole_numbers_cost_something_between() -> None:
    models = {"m": ModelCost(KNOWN_SHAPES["Llama-3.2-1B"], form="exact")}
    low, middle, high = (KnownCosts(models, Workload(tokens, 10)).base_flops for tokens in (100, 100.25, 101))
    assert low is not None
    assert high is not None
    assert middle == pytest.approx(0.75 * low + 0.25 * high, rel=1e-12)


def test_seconds() -> None:
    latency = {"1b": LatencyModel(0.5, 0.001, 0.02), "3b": LatencyModel(1.0, 0.002, 0.05)}
    graph = chains(3, 1)
    agent, sink = 0.5 + 0.202 + 5.5, 1.0 + 2 * (0.202 + 3 * 0.275) + 13.75
    free = KnownCosts(MODELS, WORKLOADS["MATH"], latency=latency).of(graph)
    assert free.latency_s == pytest.approx(agent + sink)
    assert free.latency_sum_s == pytest.approx(3 * agent + sink)
    two = KnownCosts(MODELS, WORKLOADS["MATH"], latency=latency, max_parallel=2).of(graph)
    assert two.latency_s == pytest.approx(2 * agent + sink)


def test_what_is_not_known_is_none_and_can_be_explained() -> None:
    price = Price(usd_per_million_prompt=1, usd_per_million_completion=1)
    costs = KnownCosts({"1b": MODELS["1b"], "paid": ModelCost(price=price)}, WORKLOADS["MATH"], latency={"1b": LatencyModel(1.0)})
    found = costs.of(chains(2, 1, "1b", "paid"))
    assert (found.flops, found.units, found.usd, found.latency_s, found.latency_sum_s) == (None,) * 5
    assert found.calls == 3
    assert costs.of(Graph((Node("sink", "1b"),))).units == 1
    assert costs.lacking(("1b", "paid", "new", "", "paid")) == (
        "'paid' has no size (the name of a known model, or parameters, layers and width)",
        "'new' has no size (the name of a known model, or parameters, layers and width)",
    )
    assert costs.lacking(("1b", "paid"), prices=True) == ("'1b' has no price (dollars a million tokens)",)
    assert costs.lacking(("1b", "new"), prices=True, seconds=True) == (
        "'1b' has no price (dollars a million tokens)",
        "'new' has no price (dollars a million tokens) and no logged call to fit its seconds on",
    )
    with pytest.raises(InputError, match="'paid' has no size"):
        costs.dense_cap(3, "1b", "paid")


def test_without_any_size_there_are_no_units() -> None:
    costs = priced(1, 1)
    assert costs.base_flops is None
    assert costs.of(Graph((Node("sink", "8b"),))).units is None


@pytest.mark.parametrize(("field", "value"), [("max_parallel", 0), ("base_flops", 0.0), ("base_flops", float("inf"))])
def test_numbers_out_of_range_are_refused(field: str, value: float) -> None:
    with pytest.raises(InputError, match=field):
        KnownCosts(MODELS, WORKLOADS["MATH"], **{field: value})  # type: ignore[arg-type]  # the field is a parameter of the test


def test_lengths_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="tokens of the task"):
        Workload(-1, 3)
    with pytest.raises(InputError, match="tokens of m"):
        Workload(1, 3, {"m": (1, float("nan"))})
    with pytest.raises(InputError, match="number of agents"):
        dense(-1, "m", "m")


@given(st.lists(st.booleans(), min_size=15, max_size=15), st.lists(st.sampled_from(sorted(SHAPES)), min_size=6, max_size=6), st.integers(0, 14))
@settings(deadline=None, max_examples=80)
def test_one_more_edge_is_never_cheaper_and_the_polynomial_holds(drawn: list[bool], models: list[str], extra: int) -> None:
    ids = [*"abcde", "sink"]
    nodes = tuple(Node(node_id, model) for node_id, model in zip(ids, models, strict=True))
    pairs = [(source, target) for place, target in enumerate(ids) for source in ids[:place]]
    edges = {pair for pair, wanted in zip(pairs, drawn, strict=True) if wanted} | {("e", "sink")}
    costs = KnownCosts(MODELS, WORKLOADS["MATH"], latency={name: LatencyModel(0.1, 0.01, 0.1) for name in MODELS})
    less, more = (costs.of(Graph(nodes, tuple(chosen))) for chosen in (edges, edges | {pairs[extra]}))
    assert less.flops is not None
    assert more.flops is not None
    assert less.latency_s is not None
    assert more.latency_s is not None
    assert less.flops <= more.flops
    assert less.latency_s <= more.latency_s + 1e-9
    graph = Graph(nodes, tuple(edges))
    expected = sum(coefficients(SHAPES[node.model], WORKLOADS["MATH"]).flops(len(graph.read_by(node.node_id))) for node in graph.live_nodes)
    assert less.flops == pytest.approx(expected, rel=1e-12)
