"""One prompt at its points, by hand."""

from tests.analysis.built_records import Told, record_of

from multigraft.analysis.points import NO_GROUP, points_of
from multigraft.types import FailureKind, Score


def test_points_of_a_prompt() -> None:
    record = record_of(
        Told(0.2, {"judge": 5.0, "grader": 1.0}, tokens=10),
        Told(failed=True, tokens=3),
        Told(0.1, {"grader": 0.0}, tokens=10),
        Told(0.9, {"judge": 2.0, "grader": 0.0}, tokens=10),
    )
    found = points_of(record)
    assert found.num_responses == 3
    assert found.chosen == {1: 0, 2: 0, 3: 3}
    assert found.rewards == {1: 0.2, 2: 0.2, 3: 0.9}
    assert found.values == {"judge": {1: 5.0, 2: 5.0, 3: 2.0}, "grader": {1: 1.0, 2: 1.0, 3: 0.0}}
    assert found.oracles == {"judge": {1: 5.0}, "grader": {1: 1.0, 2: 1.0, 3: 1.0}}
    assert {point: amount.tokens for point, amount in found.spent.items()} == {1: 10, 2: 23, 3: 33}
    assert {point: amount.calls for point, amount in found.spent.items()} == {1: 1, 2: 3, 3: 4}
    assert (found.at(2), found.at(160)) == (2, 3)


def test_chosen_points_and_the_last_one() -> None:
    record = record_of(*(Told(float(reward)) for reward in range(5)))
    assert points_of(record, (2, 50)).chosen == {2: 1, 5: 4}
    assert points_of(record_of()).chosen == {}


def test_a_score_without_a_value_is_missing() -> None:
    record = record_of(Told(0.2, {"judge": Score(None, FailureKind.UNREADABLE)}))
    assert points_of(record).values == {"judge": {}}
    assert points_of(record).oracles == {"judge": {}}


def test_calls_that_failed_after_the_last_response_are_paid_as_well() -> None:
    record = record_of(Told(0.2, tokens=10), Told(failed=True, tokens=3))
    assert points_of(record).spent[1].tokens == 13


def test_groups() -> None:
    record = record_of(Told(0.2), fields={"level": 5, "subject": "algebra", "tags": ["a"]})
    assert [points_of(record, by=by).group for by in (None, "level", "subject", "tags", "year")] == ["", "5", "algebra", '["a"]', NO_GROUP]
