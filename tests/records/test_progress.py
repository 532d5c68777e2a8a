"""The responses of a prompt in the order they were told, and the best of them so far."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.budget.amount import NOTHING
from multigraft.records.progress import best_so_far, doubling, responses_of
from multigraft.records.reader import CallRecord, PromptRecord
from multigraft.types import NO_USAGE, Call, Completion, Failure, FailureKind, Finish, Message, Prompt, Role


def prompt_of(*told: tuple[int, float | None, bool]) -> PromptRecord:
    """A prompt whose calls were told in this order: call id, reward, whether there is a response."""
    record = PromptRecord(0, Prompt("p", (Message("user", "Why?"),)))
    for sequence, (call_id, reward, answered) in enumerate(told, 1):
        sample = Completion(f"answer {call_id}", Finish.STOP, NO_USAGE) if answered else Failure(FailureKind.SERVER, "down")
        record.calls[call_id] = CallRecord(sequence, Call(call_id, "m", (), Role.ANSWER, 1), sample, NOTHING, (), "d", reward, asked=1, told_sequence=sequence)
    record.calls = dict(sorted(record.calls.items()))
    return record


def test_points_double_and_end_with_all() -> None:
    assert [doubling(count) for count in range(6)] == [(), (1,), (1, 2), (1, 2, 3), (1, 2, 4), (1, 2, 4, 5)]
    assert doubling(160) == (1, 2, 4, 8, 16, 32, 64, 128, 160)


def test_best_so_far_follows_the_order_told() -> None:
    record = prompt_of((2, 0.5, True), (0, 0.1, True), (1, 0.9, True), (3, 0.2, True))
    assert [call.call.call_id for call in responses_of(record)] == [2, 0, 1, 3]
    assert best_so_far(record, (1, 2, 4, 8)) == {1: 2, 2: 2, 4: 1}
    assert best_so_far(record, (3,)) == {3: 1}


def test_failed_calls_are_no_responses_and_a_point_before_the_first_reward_is_left_out() -> None:
    record = prompt_of((0, None, False), (1, None, True), (2, -3.0, True), (3, None, True))
    assert [call.call.call_id for call in responses_of(record)] == [1, 2, 3]
    assert best_so_far(record, (1, 2, 3)) == {2: 2, 3: 2}


def test_what_was_never_told_is_no_response_yet() -> None:
    record = prompt_of((0, 1.0, True), (1, 2.0, True))
    record.calls[1].told_sequence = None
    assert best_so_far(record, (1, 2)) == {1: 0}


def test_the_last_point_is_the_answer_where_the_strategy_says_which_it_is() -> None:
    record = prompt_of((0, 0.9, True), (1, 0.1, True), (2, 0.2, True))
    record.concludes, record.answer = True, 2
    assert best_so_far(record, (1, 2, 3)) == {1: 0, 2: 0, 3: 2}
    record.answer = None
    assert best_so_far(record, (1, 2, 3)) == {1: 0, 2: 0}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([None, -1.0, 0.0, 0.5, 2.0]), st.booleans()), max_size=9), st.randoms(use_true_random=False))
def test_the_last_point_is_the_best_of_the_record_and_rewards_never_fall(rows: list[tuple[float | None, bool]], random: Random) -> None:
    told = [(call_id, reward if answered else None, answered) for call_id, (reward, answered) in enumerate(rows)]
    random.shuffle(told)
    record = prompt_of(*told)
    count = len(responses_of(record))
    found = best_so_far(record, range(1, count + 1))
    best = record.best()
    assert found.get(count) == (None if best is None else best.call.call_id)
    rewards = [record.calls[call_id].reward for call_id in found.values()]
    assert rewards == sorted(rewards, key=lambda reward: reward or 0.0)
