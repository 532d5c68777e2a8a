"""Which responses count, and what the paths to them are."""

from collections.abc import Callable

import pytest

from multigraft.datasets.pick import Filters, Rule, is_empty, is_refusal, rank
from multigraft.errors import InputError, UnknownNameError
from multigraft.records.lineage import Lineage
from multigraft.records.reader import PromptRecord
from multigraft.types import FailureKind, Finish, Score

Make = Callable[..., PromptRecord]


@pytest.fixture
def mixed(make_record: Make) -> PromptRecord:
    return make_record(
        ("good", 0.5),
        {"failure": FailureKind.REFUSED},
        {"text": "\u200b \x00\n", "reward": 0.9},
        {"text": "cut off", "reward": 0.8, "finish": Finish.LENGTH},
        ("I\u2019m sorry, but I can't help with that.", 0.7),
        {"text": "no score", "reason": FailureKind.UNREADABLE},
        {"text": "half seen", "reward": 0.6, "scores": {"judge": Score(0.6, truncated=True)}},
        (" good\n", 0.4),
        ("best", 0.95),
        ("good too", 0.5),
        ("infinite", float("inf")),
    )


def ids(record: PromptRecord, *keep: str) -> list[int]:
    return [call.call.call_id for call in rank(record, Filters.keeping(keep)).calls]


def test_each_rule_is_counted_once(mixed: PromptRecord) -> None:
    picked = rank(mixed, Filters())

    assert [call.call.call_id for call in picked.calls] == [8, 0, 9]
    assert dict(picked.dropped) == {
        Rule.FAILED: 1,
        Rule.EMPTY: 1,
        Rule.TRUNCATED: 1,
        Rule.REFUSAL: 1,
        Rule.UNSCORED: 2,
        Rule.PARTLY_SCORED: 1,
        Rule.DUPLICATE: 1,
    }


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("empty", [8, 2, 0, 9]),
        ("truncated", [8, 3, 0, 9]),
        ("refusal", [8, 4, 0, 9]),
        ("unscored", [8, 0, 9, 5, 10]),
        ("partly_scored", [8, 6, 0, 9]),
        ("duplicate", [8, 0, 9, 7]),
    ],
)
def test_each_rule_can_be_turned_off(mixed: PromptRecord, kept: str, expected: list[int]) -> None:
    assert ids(mixed, kept) == expected


def test_a_duplicate_keeps_the_better_and_then_the_earlier(make_record: Make) -> None:
    record = make_record(("same  text", 0.1), ("same text", 0.9), ("other", 0.2), ("other ", 0.2), ("Same text", 0.0))

    assert ids(record) == [1, 2, 4]


def test_names_of_rules_are_checked() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown filter 'refusals'\. Did you mean 'refusal'"):
        Filters.keeping(["refusals"])
    with pytest.raises(InputError, match="'failed' cannot be kept here"):
        Filters.keeping(["failed"]).require(Rule.FAILED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm sorry, but I can't do that.", True),
        ("**I cannot assist with that request.**", True),
        ("\n  As an AI language model, I have no favourite colour.", True),
        ("\u201cI\u2019m unable to say.\u201d", True),
        ("Sorry, I can't.", True),
        ("I cannot\n help you.", True),
        ("I'm sorry to hear that your cat is ill.", False),
        ("Paris. As an AI language model, I am sure.", False),
        ("I can help you with that.", False),
        ("", False),
    ],
)
def test_refusals_are_known_by_their_beginning(text: str, *, expected: bool) -> None:
    assert is_refusal(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("", True), (" \n\t\u3000", True), ("\u200b\ufeff\u202e\x00", True), (".", False), ("👍", False), ("\u0301", False)]
)
def test_empty_means_nothing_to_see(text: str, *, expected: bool) -> None:
    assert is_empty(text) is expected


def test_paths_of_a_chain_and_of_an_aggregation(make_record: Make) -> None:
    record = make_record(
        {"text": "a", "model": "m1"},
        {"text": "b", "model": "m2"},
        {"text": "c", "model": "m3", "parents": [0]},
        {"text": "d", "model": "m1", "parents": [0, 1]},
        {"text": "e", "model": "m2", "parents": [2, 3, 1]},
        {"text": "f", "model": "m3", "parents": [99]},
    )
    lineage = Lineage(record)

    assert [lineage.depth(call_id) for call_id in record.calls] == [0, 0, 1, 1, 2, 0]
    assert [lineage.model_path(call_id) for call_id in record.calls] == [
        "m1",
        "m2",
        "m1 -> m3",
        "m1 + m2 -> m1",
        "m1 + m2 -> m3 + m1 -> m2",
        "m3",
    ]
    assert lineage.call_ids(4) == [0, 1, 2, 3, 4]
    assert [found.call.model for found in lineage.path(2)] == ["m1", "m3"]


def test_paths_of_many_layers_are_not_walked_twice(make_record: Make) -> None:
    # Ten layers of six, each shown all of the layer before: 6**10 ways from the root.
    calls = [{"text": "x", "parents": [] if layer == 0 else [6 * (layer - 1) + index for index in range(6)]} for layer in range(10) for _ in range(6)]
    lineage = Lineage(make_record(*calls))

    assert lineage.depth(59) == 9
    assert lineage.call_ids(59) == [*range(54), 59]
