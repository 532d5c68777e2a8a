"""What a scorer read as the final answer is told to the strategy, and the same when a run goes on."""

from multigraft.budget.amount import NOTHING
from multigraft.engine.replay import answer_of, outcome_of
from multigraft.rewards.combine import Combination, Part
from multigraft.types import NO_USAGE, Completion, Failure, FailureKind, Finish, Outcome, Score

BOTH = Combination(parts=(Part(name="rules"), Part(name="math")))


def test_the_first_scorer_of_the_reward_that_read_an_answer_counts() -> None:
    assert answer_of({"math": Score(1.0, answer="1/2"), "rules": Score(0.0, answer="0.5")}, BOTH) == "0.5"
    assert answer_of({"math": Score(1.0, answer="1/2"), "rules": Score(0.0)}, BOTH) == "1/2"
    assert answer_of({"rules": Score(None, FailureKind.UNSCORABLE, answer="7")}, BOTH) == "7"  # read, though it could not be graded
    assert answer_of({"unseen": Score(1.0, answer="1/2")}, BOTH) is None
    assert answer_of({}, BOTH) is None


def test_a_failure_has_no_answer() -> None:
    response = Completion("It is 7.", Finish.STOP, NO_USAGE)
    assert outcome_of(response, 0.5, NOTHING, None, "7") == Outcome(0.5, None, 0.0, "7")
    assert outcome_of(Failure(FailureKind.SERVER, "down"), None, NOTHING, None, "7") == Outcome(None, FailureKind.SERVER)
