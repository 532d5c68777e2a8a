"""Which rows a prompt becomes whose strategy itself says which response is the answer, whatever the rewards."""

from collections.abc import Callable

from multigraft.datasets.columns import Row
from multigraft.datasets.everything import AllResponses
from multigraft.datasets.pick import Filters, Rule
from multigraft.datasets.preference import PreferencePairs
from multigraft.datasets.selection import Counts, Selection
from multigraft.datasets.sft import BestResponses
from multigraft.datasets.statistics import Statistics
from multigraft.records.reader import PromptRecord

Make = Callable[..., PromptRecord]


def concluded(make: Make, answer: int | None, *calls: tuple[str, float | None]) -> PromptRecord:
    record = make(*calls)
    record.concludes, record.answer = True, answer
    return record


def rows_of(selection: Selection, record: PromptRecord) -> tuple[list[Row], Counts]:
    counts = Counts()
    return list(selection.rows(record, counts)), counts


def test_training_rows_take_the_answer_and_not_the_highest_reward(make_record: Make) -> None:
    record = concluded(make_record, 2, ("draft", 0.9), ("other", 0.5), ("final", 0.1))
    (row,), counts = rows_of(BestResponses(), record)
    assert (row["completion"], row["rank"], row["call_id"], row["reward"]) == ([{"role": "assistant", "content": "final"}], 1, 2, 0.1)
    assert counts.winners_by_model == {"m3": 1}
    assert [row["call_id"] for row in rows_of(BestResponses(top_k=None), record)[0]] == [2, 0, 1]


def test_an_answer_that_repeats_a_draft_is_no_duplicate_of_it(make_record: Make) -> None:
    record = concluded(make_record, 1, ("the same", 0.9), ("the  same", 0.9))
    (row,), counts = rows_of(BestResponses(), record)
    assert (row["call_id"], counts.dropped) == (1, {Rule.DUPLICATE: 1})


def test_no_answer_is_no_row_whatever_the_drafts_are_worth(make_record: Make) -> None:
    for answer, skipped in ((None, "no_answer"), (1, "no_answer")):  # none at all, and one without a reward
        rows, counts = rows_of(BestResponses(), concluded(make_record, answer, ("draft", 0.9), ("final", None)))
        assert (rows, counts.skipped) == ([], {skipped: 1})
    rows, counts = rows_of(BestResponses(min_reward=0.5), concluded(make_record, 1, ("draft", 0.9), ("final", 0.2)))
    assert (rows, counts.skipped, counts.dropped) == ([], {"below_threshold": 1}, {"below_threshold": 1})
    kept = BestResponses(filters=Filters(keep=frozenset({Rule.UNSCORED})))
    assert [row["call_id"] for row in rows_of(kept, concluded(make_record, 1, ("draft", 0.9), ("final", None)))[0]] == [1]


def test_pairs_are_made_by_reward_alone(make_record: Make) -> None:
    (row,), _ = rows_of(PreferencePairs(), concluded(make_record, 1, ("draft", 0.9), ("final", 0.1)))
    assert (row["chosen_call_id"], row["rejected_call_id"]) == (0, 1)


def test_among_all_responses_the_answer_is_the_best(make_record: Make) -> None:
    record = concluded(make_record, 1, ("draft", 0.9), ("final", 0.1))
    assert [row["best"] for row in rows_of(AllResponses(), record)[0]] == [False, True]
    statistics = Statistics()
    statistics.add(record)
    assert (statistics.best_rewards.mean, statistics.first_rewards.mean) == (0.1, 0.9)
