"""What is maximised, and how it is written."""

from dataclasses import replace

import pytest
from tests.optimize.toy_world import fan

from multigraft.errors import BudgetError, InputError, UnknownNameError
from multigraft.graphs.costs import Caps, GraphCost
from multigraft.optimize.loop.objectives import ParetoObjective, Quality, QualityMinusCost, QualityMinusLatency, cost_in, parse_objective, shared_kind
from multigraft.optimize.problem import Evaluation, Trial

COST = GraphCost(calls=3, tokens=900.0, units=6.0, latency_s=2.0)
TRIALS = (Trial(0, 1.0, latency_s=1.0), Trial(3, None, latency_s=9.0), Trial(5, 0.5, latency_s=3.0))
EVALUATION = Evaluation(fan(2), "train", TRIALS, COST)


def test_quality_is_the_mean_of_what_is_scored() -> None:
    assert Quality().utility(EVALUATION) == 0.75
    assert Quality().values(EVALUATION) == (1.0, 0.5)
    assert ParetoObjective().utility(EVALUATION) == 0.75


def test_latency_is_the_expected_one_where_it_is_known() -> None:
    objective = QualityMinusLatency(0.2, 4.0)
    assert objective.values(EVALUATION) == pytest.approx((0.9, 0.4))
    assert objective.utility(EVALUATION) == pytest.approx(0.65)


def test_else_latency_is_what_was_measured() -> None:
    measured = replace(EVALUATION, cost=COST._replace(latency_s=None))
    assert QualityMinusLatency(0.2, 4.0).values(measured) == pytest.approx((0.95, 0.35))


def test_cost_is_weighted_by_its_reference() -> None:
    assert QualityMinusCost(0.3, 18.0).values(EVALUATION) == pytest.approx((0.9, 0.4))
    with pytest.raises(BudgetError, match="usd"):
        QualityMinusCost(0.3, 0.01, "usd").utility(EVALUATION)


def test_nothing_scored_has_no_utility() -> None:
    unknown = replace(EVALUATION, trials=TRIALS[1:2])
    assert [objective.utility(unknown) for objective in (Quality(), QualityMinusLatency(1.0, 1.0), QualityMinusCost(1.0, 1.0))] == [None] * 3


@pytest.mark.parametrize(
    ("text", "caps", "expected"),
    [
        ("quality", Caps(), Quality()),
        ("pareto", Caps(), ParetoObjective()),
        ("latency:0.3:5", Caps(), QualityMinusLatency(0.3, 5.0)),
        ("latency:0.3", Caps(latency_s=8.0), QualityMinusLatency(0.3, 8.0)),
        ("cost:0.2", Caps(usd=0.001, units=18.0), QualityMinusCost(0.2, 18.0)),
        ("cost:0.2", Caps(usd=0.001), QualityMinusCost(0.2, 0.001, "usd")),
        ("cost: 0.2 : flops = 1e12", Caps(), QualityMinusCost(0.2, 1e12, "flops")),
    ],
)
def test_objectives_are_read(text: str, caps: Caps, expected: object) -> None:
    assert parse_objective(text, caps=caps) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qualty", "Did you mean 'quality'"),
        ("quality:1", "takes nothing"),
        ("latency", "latency:0.3"),
        ("latency:fast:5", "'fast' is no number"),
        ("latency:-1:5", "'-1' is no number of at least 0"),
        ("latency:nan:5", "'nan' is no number"),
        ("latency:0.3", "latency:0.3:5"),
        ("latency:0.3:0", "above 0"),
        ("cost:0.2", "set a cap"),
        ("cost:0.2:18", "units=18"),
        ("cost:0.2:unit=18", "Did you mean 'units'"),
        ("cost:0.2:units=x", "'x' is no number"),
    ],
)
def test_mistakes_say_what_to_write(text: str, message: str) -> None:
    with pytest.raises((InputError, UnknownNameError), match=message):
        parse_objective(text)


@pytest.mark.parametrize(("weight", "reference", "message"), [(-0.1, 1.0, "weight must be finite and at least 0, not -0.1"), (0.1, 0.0, "above 0, not 0.0")])
def test_settings_are_checked(weight: float, reference: float, message: str) -> None:
    for make in (QualityMinusLatency, QualityMinusCost):
        with pytest.raises(ValueError, match=message):
            make(weight, reference)


def test_costs_are_compared_in_a_kind_that_is_known_of_all() -> None:
    unsized = COST._replace(units=None, flops=None, usd=0.02, tokens=7.0)
    assert shared_kind([COST]) == "units"
    assert shared_kind([COST._replace(usd=0.01), unsized]) == "usd"
    assert shared_kind([COST._replace(usd=None), unsized]) == "tokens"
    assert shared_kind([COST._replace(usd=0.01)], Caps(usd=1.0)) == "usd"
    assert shared_kind([COST._replace(usd=None)], Caps(usd=1.0)) == "units"
    assert cost_in(unsized, "tokens") == 7.0
