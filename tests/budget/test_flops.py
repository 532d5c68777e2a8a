import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.budget.flops import Architecture, ModelShape, call_flops, decode_flops, prefill_flops, shape_of_architecture
from multigraft.budget.shapes import KNOWN_SHAPES

TOY = ModelShape(100, 2, 10)
# The published units take round parameter counts with the layers and widths of the Llama models.
ROUND = {
    "1B": ModelShape(10**9, 16, 2048),
    "3B": ModelShape(3 * 10**9, 28, 3072),
    "8B": ModelShape(8 * 10**9, 32, 4096),
    "70B": ModelShape(70 * 10**9, 80, 8192),
}
TOKENS = {"MATH": (202, 275), "MMLU": (213, 215), "HumanEval": (180, 115)}
BASE = {"MATH": 9.710e11, "MMLU": 8.680e11, "HumanEval": 5.957e11}


def in_graph(shape: ModelShape, in_degree: int, asked: int, written: int) -> int:
    """Cost of a node that reads the question and one response from each predecessor."""
    return call_flops(shape, asked + in_degree * written, written)


def test_the_toy_model_by_hand() -> None:
    # Reading: 2000 for the matrices, 40 * 110 for attention. Writing: 600, and 40 * 3 * 24.
    assert prefill_flops(TOY, 10) == 6400
    assert decode_flops(TOY, 10, 3) == 3480
    assert call_flops(TOY, 10, 3) == 9880


def test_the_toy_model_is_quadratic_in_the_in_degree() -> None:
    costs = [in_graph(TOY, degree, 4, 3) for degree in range(4)]
    assert costs == [3640 + 2400 * degree + 360 * degree**2 for degree in range(4)]
    assert costs[0] + costs[0] + costs[2] == 17160


@pytest.mark.parametrize(("task", "flops"), [("MATH", 9.689426e11), ("MMLU", 8.680332e11), ("HumanEval", 5.957226e11)])
def test_units_of_the_1b_model(task: str, flops: float) -> None:
    assert in_graph(ROUND["1B"], 0, *TOKENS[task]) == pytest.approx(flops, rel=1e-6)


@pytest.mark.parametrize(("model", "units"), [("1B", 0.998), ("3B", 2.988), ("8B", 7.921), ("70B", 69.08)])
def test_units_of_single_models_on_math(model: str, units: float) -> None:
    assert in_graph(ROUND[model], 0, *TOKENS["MATH"]) / BASE["MATH"] == pytest.approx(units, abs=0.005)


@pytest.mark.parametrize(
    ("task", "nodes", "units"),
    [("MATH", 4, 17.753), ("MATH", 8, 42.866), ("MATH", 12, 78.978), ("MMLU", 4, 16.337), ("MMLU", 12, 69.967), ("HumanEval", 8, 31.889)],
)
def test_caps_of_the_densest_graphs(task: str, nodes: int, units: float) -> None:
    total = sum(in_graph(ROUND["1B"], degree, *TOKENS[task]) for degree in range(nodes)) + in_graph(ROUND["3B"], nodes, *TOKENS[task])
    assert total / BASE[task] == pytest.approx(units, abs=0.001)


@settings(deadline=None, max_examples=50)
@given(prompt=st.integers(0, 10**6), completion=st.integers(0, 10**6))
def test_prefill_and_decode_add_up_to_the_closed_form(prompt: int, completion: int) -> None:
    shape, tokens = ROUND["70B"], prompt + completion
    assert call_flops(shape, prompt, completion) == 2 * shape.parameters * tokens + 2 * shape.layers * shape.width * tokens * (tokens + 1)


@pytest.mark.parametrize(
    ("name", "units"),
    [("Llama-3.2-3B", 2.707), ("Llama-3.1-8B", 6.440), ("Llama-3.1-70B", 60.81), ("Gemma-3-1B", 0.776), ("Gemma-1.1-2B", 2.019), ("Gemma-1.1-7B", 7.242)],
)
def test_exact_units_on_math(name: str, units: float) -> None:
    smallest = call_flops(KNOWN_SHAPES["Llama-3.2-1B"], 202, 275, "exact")
    assert call_flops(KNOWN_SHAPES[name], 202, 275, "exact") / smallest == pytest.approx(units, abs=0.006 if units > 10 else 0.0006)


SMALL = Architecture(heads=3, kv_heads=1, head_size=4, feed_forward=7, vocabulary=11, window=3, windowed_layers=1)


def test_the_exact_form_by_hand() -> None:
    # A layer: Q and O 2*5*12, K and V 2*5*4, feed-forward 3*5*7 = 120 + 40 + 105 = 265; two layers 530.
    shape = shape_of_architecture(2, 5, SMALL)
    assert shape.parameters == 530
    # Keys of positions 1..4: 1+2+3+4 = 10 with all in sight, 1+2+3+3 = 9 through the window; 4*12 FLOPs each; one head 2*5*11.
    assert prefill_flops(shape, 4, "exact") == 2 * 530 * 4 + 48 * (10 + 9) + 110
    # Positions 5 and 6: 5+6 = 11 and 3+3 = 6; two heads.
    assert decode_flops(shape, 4, 2, "exact") == 2 * 530 * 2 + 48 * (11 + 6) + 2 * 110


def test_attention_of_one_token_at_a_time_adds_up_to_the_whole() -> None:
    shape = shape_of_architecture(2, 5, SMALL)
    assert decode_flops(shape, 2, 9, "exact") == sum(decode_flops(shape, 2 + done, 1, "exact") for done in range(9))


def test_a_plain_feed_forward_has_two_matrices() -> None:
    plain = Architecture(heads=3, kv_heads=1, head_size=4, feed_forward=7, vocabulary=11, gated=False)
    assert plain.parameters(2, 5) == 2 * (120 + 40 + 70)


def test_nothing_costs_nothing() -> None:
    shape = shape_of_architecture(2, 5, SMALL)
    assert [call_flops(shape, 0, 0, form) for form in ("paper", "exact")] == [0, 0]


def test_the_exact_form_needs_an_architecture() -> None:
    with pytest.raises(ValueError, match="use the form 'paper'"):
        call_flops(TOY, 1, 1, "exact")


@pytest.mark.parametrize(("field", "numbers"), [("parameters", (0, 1, 1)), ("layers", (1, 0, 1)), ("width", (1, 1, 0))])
def test_a_shape_of_nothing_is_refused(field: str, numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=f"{field} is 0"):
        ModelShape(*numbers)


@pytest.mark.parametrize(("field", "value"), [("heads", 0), ("kv_heads", -1), ("vocabulary", -1), ("window", -5)])
def test_an_architecture_with_impossible_counts_is_refused(field: str, value: int) -> None:
    counts = {"heads": 1, "kv_heads": 1, "head_size": 1, "feed_forward": 1, "vocabulary": 1, "window": 0, field: value}
    with pytest.raises(ValueError, match=f"{field} is {value}"):
        Architecture(
            heads=counts["heads"],
            kv_heads=counts["kv_heads"],
            head_size=counts["head_size"],
            feed_forward=counts["feed_forward"],
            vocabulary=counts["vocabulary"],
            window=counts["window"],
        )
