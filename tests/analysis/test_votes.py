"""Votes over the responses to one prompt, by hand, and added up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.built_records import Told, graded, record_of

from multigraft.analysis.intervals import Bootstrap, wilson
from multigraft.analysis.votes import Ballot, ballots_of, votes_of


def told(answer: str | None, reward: float | None, right: float = 0.0) -> Told:
    return Told(reward, {"grader": graded(right, answer)})


def test_all_ways_of_settling_by_hand() -> None:
    record = record_of(told("7", 0.9), told("42", 0.5, 1.0), told("42", 0.3, 1.0), told(None, 0.1))
    assert ballots_of(record, "grader") == {
        1: Ballot(first=0.0, chosen=0.0, majority=0.0, weighted=0.0, oracle=0.0, answered=1),
        2: Ballot(first=0.0, chosen=0.0, majority=0.0, weighted=0.0, oracle=1.0, answered=2),  # one vote each: the answer given first
        4: Ballot(first=0.0, chosen=0.0, majority=1.0, weighted=0.0, oracle=1.0, answered=3),  # weights 0.9 and 0.8
    }


def test_negative_rewards_count_from_the_lowest_voter() -> None:
    # Less the lowest, -4: 7 weighs 3, 42 weighs 0 + 3.5. The response without an answer, lower still, is no voter.
    record = record_of(told("7", -1.0), told("42", -4.0, 1.0), told("42", -0.5, 1.0), told(None, -90.0))
    assert ballots_of(record, "grader")[4].weighted == 1.0
    assert ballots_of(record_of(told("7", -1.0), told("42", -1.0, 1.0), told("42", -1.0, 1.0)), "grader")[3].weighted == 1.0  # all weights 0: the more votes


def test_a_response_without_a_reward_votes_without_weight() -> None:
    record = record_of(told("7", None), told("7", None), told("42", 0.1, 1.0))
    assert ballots_of(record, "grader")[3] == Ballot(first=0.0, chosen=1.0, majority=0.0, weighted=1.0, oracle=1.0, answered=3)
    assert ballots_of(record, "grader")[2].chosen is None


def test_nobody_votes() -> None:
    assert ballots_of(record_of(told(None, 0.5), told(None, 0.6)), "grader")[2] == Ballot(0.0, 0.0, 0.0, 0.0, 0.0, 0)


def test_a_prompt_that_is_not_wholly_graded_has_no_ballot() -> None:
    assert ballots_of(record_of(told("7", 0.5), Told(0.4)), "grader") == {}
    assert ballots_of(record_of(), "grader") == {}


def test_votes_of_many_prompts() -> None:
    right_by_vote = record_of(told("7", 0.9), told("42", 0.5, 1.0), told("42", 0.3, 1.0))
    right_by_reward = record_of(told("42", 0.9, 1.0), told("7", 0.1), told("7", 0.1))
    ungraded, silent = record_of(Told(0.1)), record_of(told(None, 0.5))
    found = votes_of("grader", [ballots_of(record, "grader") for record in (right_by_vote, right_by_reward, ungraded, silent)], bootstrap=Bootstrap(100))
    assert (found.num_prompts, found.num_missing, found.num_unanswered) == (3, 1, 1)
    assert [row.point for row in found.rows] == [1, 2, 3]
    last = found.rows[-1]
    assert {way: estimate.value for way, estimate in last.grades.items()} == pytest.approx(
        {"first": 1 / 3, "chosen": 1 / 3, "majority": 1 / 3, "weighted": 1 / 3, "oracle": 2 / 3}
    )
    assert last.grades["oracle"] == wilson(2, 3)
    assert last.gains["oracle"].value == pytest.approx(1 / 3)
    assert (last.gains["majority"].value, last.gains["majority"].low, last.gains["majority"].high) == (0.0, -1.0, 1.0)
    assert "chosen" not in last.gains


def test_no_votes_at_all() -> None:
    assert votes_of("grader", [{}, {}]).rows == ()
    assert votes_of("grader", []).num_prompts == 0


answers = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.floats(-2, 2)), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(answers)
def test_what_holds_for_any_votes(rows: list[tuple[str | None, float]]) -> None:
    record = record_of(*(told(answer, reward, float(answer == "a")) for answer, reward in rows))
    ballots = ballots_of(record, "grader")
    for ballot in ballots.values():
        assert ballot.oracle >= max(ballot.first, ballot.majority, ballot.weighted, ballot.chosen or 0.0)
    one_answer = {answer for answer, _ in rows if answer is not None}
    if len(one_answer) == 1:
        last = ballots[len(rows)]
        assert last.majority == last.weighted == float(one_answer == {"a"})
    equal = ballots_of(record_of(*(told(answer, 1.0, float(answer == "a")) for answer, _ in rows)), "grader")
    assert all(ballot.majority == ballot.weighted for ballot in equal.values())
