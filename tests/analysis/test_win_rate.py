"""Length-controlled win rates: the invariants of their source, and the coefficients that data were made with."""

import numpy
import pytest

from multigraft.analysis.comparisons import Comparison
from multigraft.analysis.intervals import Bootstrap
from multigraft.analysis.regression import logistic
from multigraft.analysis.win_rate import LengthControlled, difficulties_of, win_rate_of
from multigraft.errors import InputError

FEW = Bootstrap(100)


def simulated(
    count: int, model: float, length: float, *, seed: int = 0, shares: bool = False, shift: float = 300.0, difficulties: dict[str, float] | None = None
) -> list[Comparison]:
    """Preferences drawn from the model itself; responses are `shift` characters longer on average."""
    generator = numpy.random.default_rng(seed)
    differences = generator.normal(shift, 400.0, count)
    names = [f"prompt-{index}" for index in range(count)]
    extra = numpy.array([(difficulties or {}).get(name, 0.0) for name in names])
    chances = logistic(model + length * numpy.tanh(differences / differences.std(ddof=1)) + extra)
    preferences = chances if shares else (generator.random(count) < chances).astype(float)
    return [Comparison(name, float(value), 5000.0 + float(difference), 5000.0) for name, value, difference in zip(names, preferences, differences, strict=True)]


def controlled(comparisons: list[Comparison], **options: object) -> LengthControlled:
    found = win_rate_of(comparisons, bootstrap=FEW, **options)  # type: ignore[arg-type] # the only option is `difficulties`
    assert found.length_controlled is not None
    return found.length_controlled


def swapped(comparisons: list[Comparison]) -> list[Comparison]:
    return [Comparison(each.prompt_id, 1.0 - each.preference, each.opponent_length, each.length) for each in comparisons]


def test_a_pure_preference_for_length_is_worth_half() -> None:
    comparisons = simulated(2000, 0.0, 2.0, seed=1)
    found = win_rate_of(comparisons, bootstrap=FEW)
    assert found.win_rate.value > 0.65
    assert found.length_controlled is not None
    assert found.length_controlled.win_rate.value == pytest.approx(0.5, abs=0.03)
    assert found.length_controlled.length > 1.0
    assert found.length_controlled.win_rate.low is not None
    assert found.length_controlled.win_rate.low < 0.5 < (found.length_controlled.win_rate.high or 0.0)


def test_known_coefficients_come_back_from_shares() -> None:
    found = controlled(simulated(200, 0.4, 1.5, seed=2, shares=True))
    assert (found.model, found.length) == pytest.approx((0.4, 1.5), abs=1e-4)
    assert found.win_rate.value == pytest.approx(1 / (1 + numpy.exp(-0.4)), abs=1e-5)
    assert found.difficulty is None


def test_without_a_preference_for_length_nothing_changes() -> None:
    found = win_rate_of(simulated(2000, 0.8, 0.0, seed=3), bootstrap=FEW)
    assert found.length_controlled is not None
    assert found.length_controlled.win_rate.value == pytest.approx(found.win_rate.value, abs=0.02)
    assert found.length_controlled.length == pytest.approx(0.0, abs=0.2)


def test_identity_the_baseline_itself_is_worth_half() -> None:
    found = win_rate_of([Comparison(f"prompt-{index}", 0.5, 100.0, 100.0) for index in range(20)], bootstrap=FEW)
    assert found.win_rate.value == 0.5
    assert found.length_controlled is not None
    assert found.length_controlled.win_rate.value == 0.5
    assert found.length_controlled.standard_error == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_symmetry_swapping_the_two_gives_the_rest(seed: int) -> None:
    comparisons = simulated(80, 0.5, 1.0, seed=seed)
    one, other = controlled(comparisons), controlled(swapped(comparisons))
    assert one.win_rate.value + other.win_rate.value == pytest.approx(1.0, abs=1e-7)
    assert (one.model, one.length) == pytest.approx((-other.model, other.length), abs=1e-6)
    assert one.penalty == other.penalty


def test_the_order_of_the_prompts_says_nothing() -> None:
    comparisons = simulated(60, 0.5, 1.0, seed=5)
    assert controlled(comparisons[::-1]).win_rate.value == pytest.approx(controlled(comparisons).win_rate.value, abs=1e-9)


def test_the_difficulty_of_prompts_comes_from_other_runs() -> None:
    generator = numpy.random.default_rng(9)
    truth = {f"prompt-{index}": float(value) for index, value in enumerate(generator.normal(0.0, 2.0, 150))}
    others = [simulated(150, model, 1.0, seed=seed, difficulties=truth) for seed, model in enumerate((0.0, 0.5, -0.5, 1.0))]
    found = difficulties_of(others)
    names = list(truth)
    assert numpy.corrcoef([found[name] for name in names], [truth[name] for name in names])[0, 1] > 0.75
    comparisons = simulated(150, 0.3, 1.0, seed=20, difficulties=truth)
    with_difficulty = controlled(comparisons, difficulties=found)
    assert with_difficulty.difficulty is not None
    assert with_difficulty.difficulty > 0.5
    expected = float(numpy.mean([logistic(numpy.array(0.3 + value)) for value in truth.values()]))
    assert with_difficulty.win_rate.value == pytest.approx(expected, abs=0.08)


def test_standard_errors() -> None:
    comparisons = simulated(400, 0.3, 1.0, seed=4)
    found = win_rate_of(comparisons, bootstrap=Bootstrap(300))
    share = found.win_rate.value
    assert found.standard_error == pytest.approx(numpy.sqrt(share * (1 - share) / 399))
    assert found.length_controlled is not None
    interval = found.length_controlled.win_rate
    assert interval.low is not None
    assert interval.high is not None
    assert (interval.high - interval.low) / (2 * 1.96) == pytest.approx(found.length_controlled.standard_error, rel=0.2)


def test_the_interval_holds_the_truth_nine_times_in_ten_in_spite_of_the_penalty() -> None:
    held = 0
    for seed in range(25):
        interval = controlled(simulated(120, 0.8, 1.0, seed=seed + 100)).win_rate
        held += (interval.low or 0.0) <= 1 / (1 + numpy.exp(-0.8)) <= (interval.high or 0.0)
    assert held >= 20


@pytest.mark.parametrize(
    ("comparisons", "reason"),
    [
        ([Comparison(f"p{index}", 1.0) for index in range(12)], "the lengths of 12 of 12 responses"),
        ([Comparison(f"p{index}", 1.0, 20.0, 10.0) for index in range(4)], "4 prompts are too few"),
        ([Comparison(f"p{index}", float(index % 2), 20.0, 10.0) for index in range(12)], "by the same number of characters"),
    ],
)
def test_why_there_is_no_win_rate_at_equal_length(comparisons: list[Comparison], reason: str) -> None:
    found = win_rate_of(comparisons, bootstrap=FEW)
    assert found.length_controlled is None
    assert reason in found.reason


def test_no_comparison_is_a_mistake() -> None:
    with pytest.raises(InputError, match="no prompt is compared"):
        win_rate_of([])
