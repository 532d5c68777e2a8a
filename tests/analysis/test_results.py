"""The results of a task, by hand."""

import pytest
from tests.analysis.built_records import Told, graded, pairwise, record_of

from multigraft.analysis.intervals import Bootstrap, wilson
from multigraft.analysis.results import ALL, METRICS, Result, results_of
from multigraft.errors import InputError, UnknownNameError

FEW = Bootstrap(100)


def told(answer: str | None, reward: float, right: float) -> Told:
    return Told(reward, {"grader": graded(right, answer)})


RECORDS = [
    record_of(told("7", 0.9, 0.0), told("42", 0.5, 1.0), told("42", 0.3, 1.0), number=0, fields={"level": 1}),
    record_of(told("42", 0.9, 1.0), told("7", 0.1, 0.0), number=1, fields={"level": 2}),
    record_of(told("5", 0.9, 0.5), number=2, fields={"level": 2}),
    record_of(Told(0.5), number=3, fields={"level": 2}),
    record_of(told("5", 0.9, 1.0), number=4, ended=None),
]


def values(results: list[Result]) -> dict[str, float | None]:
    return {result.metric: None if result.estimate is None else result.estimate.value for result in results}


def test_every_metric_over_all_prompts() -> None:
    results = results_of(RECORDS, ["mean", "accuracy", "majority", "weighted_vote", "oracle"], "grader", bootstrap=FEW)
    assert values(results) == pytest.approx({"mean": 0.5, "accuracy": 1 / 3, "majority": 2.5 / 3, "weighted_vote": 1.5 / 3, "oracle": 2.5 / 3})
    assert {result.num_missing for result in results} == {1}
    assert results[1].estimate == wilson(1, 3)
    assert {(result.by, result.group) for result in results} == {("", ALL)}


def test_groups() -> None:
    results = results_of(RECORDS, ["accuracy"], "grader", by=["level"], bootstrap=FEW)
    found = [(result.by, result.group, result.estimate.value if result.estimate else None, result.num_missing) for result in results]
    assert found == [("", ALL, pytest.approx(1 / 3), 1), ("level", "1", 0.0, 0), ("level", "2", 0.5, 1)]


def test_win_rates() -> None:
    records = [
        record_of(Told(0.1, {"duel": pairwise(0.0)}), Told(0.9, {"duel": pairwise(float(number % 4 > 0), 90 + number)}), number=number) for number in range(12)
    ]
    results = results_of(records, ["win_rate", "length_controlled_win_rate"], "duel", bootstrap=FEW)
    assert results[0].estimate == wilson(9, 12)
    assert results[1].estimate is not None
    assert 0.5 <= results[1].estimate.value <= 1.0
    with pytest.raises(InputError, match="gave 5 to prompt prompt-0: no preference"):
        results_of([record_of(Told(0.9, {"duel": 5.0}))], ["win_rate"], "duel")


def test_nothing_scored_is_said_and_not_zero() -> None:
    results = results_of([record_of(Told(0.5))], METRICS, "grader", bootstrap=FEW)
    assert all(result.estimate is None and result.num_missing == 1 and "grader" in result.note for result in results)


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown metric 'acuracy'"):
        results_of([], ["acuracy"], "grader")
