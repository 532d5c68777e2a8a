"""Which rows the record of a prompt becomes, in TRL's conversational format."""

from collections.abc import Callable, Sequence

import pytest

from multigraft.datasets.columns import Row, own_field
from multigraft.datasets.everything import AllResponses
from multigraft.datasets.pick import Filters, Rule
from multigraft.datasets.preference import PreferencePairs
from multigraft.datasets.selection import Counts, Selection
from multigraft.datasets.sft import BestResponses
from multigraft.errors import InputError
from multigraft.records.reader import PromptRecord
from multigraft.types import Constraint, FailureKind, Json, Message, Score

Make = Callable[..., PromptRecord]


def rows_of(selection: Selection, *records: PromptRecord) -> tuple[list[Row], Counts]:
    counts = Counts()
    return [row for record in records for row in selection.rows(record, counts)], counts


def ranked(make: Make, rewards: Sequence[float]) -> PromptRecord:
    return make(*[(f"answer {index}", reward) for index, reward in enumerate(rewards)])


def test_the_best_response_as_a_training_row(make_record: Make) -> None:
    record = make_record(
        ("first", 0.2),
        {"text": "second", "reward": 0.9, "parents": [0]},
        {"failure": FailureKind.SERVER},
        messages=(Message("system", "Be brief."), Message("user", "Question?")),
        name="seven",
        reference="42",
        constraints=(Constraint("length_constraints:number_words", {"relation": "at least", "num_words": 3}),),
        fields={"topic": "maths", "model": "clash", "chosen": "hostile", "field_model": 1, "none": None},
    )

    (row,), counts = rows_of(BestResponses(), record)

    assert row == {
        "prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Question?"}],
        "completion": [{"role": "assistant", "content": "second"}],
        "prompt_id": "p0-0",
        "name": "seven",
        "reference": "42",
        "instruction_id_list": ["length_constraints:number_words"],
        "kwargs": '[{"num_words":3,"relation":"at least"}]',
        "num_responses": 2,
        "num_scored": 2,
        "model": "m2",
        "reward": 0.9,
        "rank": 1,
        "depth": 1,
        "path": "m1 -> m2",
        "call_id": 1,
        "path_call_ids": [0, 1],
        "finish": "stop",
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "topic": "maths",
        "field_model": "clash",
        "field_chosen": "hostile",
        "field_field_model": 1,
        "none": None,
    }
    assert list(row)[: len(BestResponses.columns)] == list(BestResponses.columns)
    assert (dict(counts.dropped), dict(counts.skipped)) == ({"failed": 1}, {})
    assert (dict(counts.winners_by_model), dict(counts.winners_by_depth)) == ({"m2": 1}, {1: 1})


def test_top_k_and_a_threshold(make_record: Make) -> None:
    record = ranked(make_record, [0.1, 0.9, 0.5, 0.7])

    assert [row["call_id"] for row in rows_of(BestResponses(top_k=3), record)[0]] == [1, 3, 2]
    above, counts = rows_of(BestResponses(top_k=None, min_reward=0.5), record)
    assert [(row["call_id"], row["rank"]) for row in above] == [(1, 1), (3, 2), (2, 3)]
    assert dict(counts.dropped) == {"below_threshold": 1}
    none, counts = rows_of(BestResponses(min_reward=0.95), record, make_record({"failure": FailureKind.TIMEOUT}))
    assert none == []
    assert dict(counts.skipped) == {"below_threshold": 1, "no_response": 1}


def test_a_pair_as_a_training_row(make_record: Make) -> None:
    record = make_record(("bad", -2.0), {"text": "good", "reward": 3.0, "parents": [0]}, ("middle", 1.0), fields={"margin": 7, "topic": "x"})

    (row,), counts = rows_of(PreferencePairs(), record)

    assert row["prompt"] == [{"role": "user", "content": "Question?"}]
    assert row["chosen"] == [{"role": "assistant", "content": "good"}]
    assert row["rejected"] == [{"role": "assistant", "content": "bad"}]
    assert {name: row[name] for name in row if name.startswith(("chosen_", "rejected_"))} == {
        "chosen_model": "m2",
        "chosen_reward": 3.0,
        "chosen_rank": 1,
        "chosen_depth": 1,
        "chosen_path": "m1 -> m2",
        "chosen_call_id": 1,
        "rejected_model": "m1",
        "rejected_reward": -2.0,
        "rejected_rank": 3,
        "rejected_depth": 0,
        "rejected_path": "m1",
        "rejected_call_id": 0,
    }
    assert row["reward_margin"] == 5.0
    assert "margin" not in row
    assert (row["field_margin"], row["topic"]) == (7, "x")
    assert list(row)[: len(PreferencePairs.columns)] == list(PreferencePairs.columns)
    assert dict(counts.winners_by_model) == {"m2": 1}


def test_the_rejected_rank(make_record: Make) -> None:
    # Rank r has call id 40 - r: rewards rise with the call id.
    record = ranked(make_record, [index / 40 for index in range(40)])

    def rejected(selection: PreferencePairs) -> object:
        return rows_of(selection, record)[0][0]["rejected_call_id"]

    assert rejected(PreferencePairs()) == 10
    assert rejected(PreferencePairs(rejected_rank=2)) == 38
    assert rejected(PreferencePairs(rejected_rank=40)) == 0
    assert rejected(PreferencePairs(rejected_rank=41)) == 0


def test_a_margin(make_record: Make) -> None:
    record = ranked(make_record, [1.0, 0.95, 0.9, 0.5, 0.0])

    assert [row["rejected_call_id"] for row in rows_of(PreferencePairs(margin=0.1), record)[0]] == [2]
    assert [row["rejected_call_id"] for row in rows_of(PreferencePairs(margin=0.3), record)[0]] == [3]
    assert rows_of(PreferencePairs(margin=1.5), record)[1].skipped == {"no_margin": 1}
    drawn = [rows_of(PreferencePairs(margin=0.1, random=True, seed=seed), record)[0][0]["rejected_call_id"] for seed in range(40)]
    assert set(drawn) == {2, 3, 4}
    again = [rows_of(PreferencePairs(margin=0.1, random=True, seed=seed), record)[0][0]["rejected_call_id"] for seed in range(40)]
    assert drawn == again


def test_prompts_without_a_pair_say_why(make_record: Make) -> None:
    tied = make_record(("a", 0.5), ("b", 0.5), number=1)
    single = make_record(("a", 0.5), ("a ", 0.1), number=2)
    nothing = make_record({"failure": FailureKind.SERVER}, number=3)

    none, counts = rows_of(PreferencePairs(), tied, single, nothing)

    assert none == []
    assert dict(counts.skipped) == {"tie": 1, "single": 1, "no_response": 1}
    assert dict(counts.dropped) == {"duplicate": 1, "failed": 1}
    assert rows_of(PreferencePairs(margin=0.1), tied)[1].skipped == {"tie": 1}
    # Same text with another reward: nothing to prefer, unless both rules are turned off.
    kept = Filters(keep=frozenset({Rule.DUPLICATE}))
    assert rows_of(PreferencePairs(filters=kept), single)[1].skipped == {"tie": 1}
    both = Filters(keep=frozenset({Rule.DUPLICATE, Rule.TIE}))
    assert len(rows_of(PreferencePairs(filters=both), single, tied)[0]) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BestResponses(top_k=0), "field 'top_k': must be at least 1, not 0"),
        (lambda: BestResponses(min_reward=float("nan")), "field 'min_reward': must be a finite number, not nan"),
        (lambda: BestResponses(filters=Filters.keeping(["failed"])), "field 'keep': 'failed' cannot be kept"),
        (lambda: PreferencePairs(rejected_rank=1), "field 'rejected_rank': must be at least 2, not 1"),
        (lambda: PreferencePairs(margin=0.0), "field 'margin': must be a number above 0, not 0"),
        (lambda: PreferencePairs(margin=0.1, rejected_rank=30), "either a rank .30. or a margin .0.1."),
        (lambda: PreferencePairs(random=True), "field 'random': needs a margin"),
        (lambda: PreferencePairs(filters=Filters.keeping(["unscored"])), "'unscored' cannot be kept"),
    ],
)
def test_settings_out_of_range(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_everything_has_failures_and_parts(make_record: Make) -> None:
    record = make_record(
        {"text": "a", "reward": 0.5, "scores": {"rules": 1.0, "judge": None}, "reasoning": "hm", "mean_logprob": -0.5},
        {"failure": FailureKind.RATE_LIMIT, "parents": [0]},
        ("a", 0.5),
        fields={"role": "clash", "rank": 3},
    )

    rows, counts = rows_of(AllResponses(), record)

    assert [row["call_id"] for row in rows] == [0, 1, 2]
    assert all(list(row)[: len(AllResponses.columns)] == list(AllResponses.columns) for row in rows)
    assert rows[0]["completion"] == [{"role": "assistant", "content": "a"}]
    assert [(said["scorer"], said["value"], said["external"]) for said in scores_of(rows[0])] == [("rules", 1.0, None), ("judge", None, None)]
    assert [(row["failed"], row["failure"], row["reward"], row["best"]) for row in rows] == [
        (False, None, 0.5, True),
        (True, "rate_limit", None, False),
        (False, None, 0.5, False),
    ]
    assert (rows[0]["reasoning"], rows[0]["mean_logprob"], rows[0]["flops"], rows[0]["usd"]) == ("hm", -0.5, 2e9, 0.25)
    assert (rows[1]["completion"], rows[1]["finish"], rows[1]["parents"], rows[1]["role"], rows[1]["depth"]) == ([], None, [0], "refine", 1)
    assert (rows[0]["field_role"], rows[0]["rank"]) == ("clash", 3)
    assert (dict(counts.dropped), dict(counts.winners_by_model)) == ({}, {"m1": 1})
    filtered, counts = rows_of(AllResponses(filters=Filters()), record)
    assert [row["call_id"] for row in filtered] == [0]
    assert dict(counts.dropped) == {"failed": 1, "duplicate": 1}


def scores_of(row: Row) -> list[dict[str, Json]]:
    said = row["scores"]
    assert isinstance(said, list)
    return [score for score in said if isinstance(score, dict)]


def test_everything_each_scorer_said(make_record: Make) -> None:
    scores = {
        "math": Score(1.0, answer="42", details={"strict": 1.0, "seconds": 0.5}),
        "critic": Score(None, FailureKind.UNREADABLE, "no verdict"),
        "classifier": Score(-3.5, truncated=True),
    }
    (row,), _ = rows_of(AllResponses(guiding=frozenset({"classifier"})), make_record({"text": "a", "reward": -3.5, "scores": scores}))
    nothing: dict[str, Json] = {"reason": None, "answer": None, "details": [], "truncated": False}
    details = [{"name": "strict", "value": 1.0}, {"name": "seconds", "value": 0.5}]
    assert row["scores"] == [
        nothing | {"scorer": "math", "version": "1", "value": 1.0, "answer": "42", "details": details, "external": True},
        nothing | {"scorer": "critic", "version": "1", "value": None, "reason": "unreadable", "external": True},
        nothing | {"scorer": "classifier", "version": "1", "value": -3.5, "truncated": True, "external": False},
    ]
    keys = AllResponses.columns["scores"].kind.value.removeprefix("list of {").removesuffix("}").split(", ")
    assert [list(said) for said in scores_of(row)] == [keys] * 3


@pytest.mark.parametrize("selection", [BestResponses(), PreferencePairs(), AllResponses()])
def test_message_lists_follow_trl(make_record: Make, selection: Selection) -> None:
    turns = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))

    rows, _ = rows_of(selection, make_record(("x", 1.0), ("y", 0.0), messages=turns))

    for row in rows:
        sides = {"preference": ("chosen", "rejected")}.get(selection.name, ("completion",))
        assert [name for name in row if name in {"prompt", "completion", "chosen", "rejected", "messages"}] == ["prompt", *sides]
        for name in ("prompt", *sides):
            turns_found = row[name]
            assert isinstance(turns_found, list)
            assert all(isinstance(turn, dict) and list(turn) == ["role", "content"] for turn in turns_found)
            assert all(isinstance(turn, dict) and isinstance(turn["content"], str) for turn in turns_found)
        assert row["prompt"] == [{"role": turn.role, "content": turn.content} for turn in turns]
        for name in sides:
            answer = row[name]
            assert isinstance(answer, list)
            assert [turn["role"] for turn in answer if isinstance(turn, dict)] == ["assistant"]


def test_two_fields_never_share_a_column() -> None:
    names = ["x", "field_x", "prompt", "field_prompt", "field_field_prompt", "model", "tools", "field_"]

    columns = [own_field(name, BestResponses.columns) for name in names]

    assert columns == ["x", "field_x", "field_prompt", "field_field_prompt", "field_field_field_prompt", "field_model", "field_tools", "field_"]
    assert len(set(columns)) == len(names)
