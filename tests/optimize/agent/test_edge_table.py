import pytest

from multigraft.graphs.graph import Edge
from multigraft.optimize.agent.edge_table import checked_table, number_of
from multigraft.optimize.agent.notes import Notes, shown
from multigraft.types import Json

A, B, C = ("a1", "sink"), ("a2", "sink"), ("a1", "a2")
TRUE: Json = True
BEFORE = {A: 0.5, B: 0.5, C: 0.1}


def _entry(edge: Edge, p: Json) -> Json:
    return {"src": edge[0], "dst": edge[1], "p": p}


@pytest.mark.parametrize(
    ("given", "after", "kinds"),
    [
        (None, {}, []),
        ("high", {}, ["p kept"]),
        ([], {}, []),
        ([_entry(A, 0.7)], {A: 0.7}, []),
        ([["a1", "sink", 0.7]], {A: 0.7}, []),
        ([_entry(A, 0.81)], {A: 0.8}, ["p limited"]),
        ([_entry(A, 0.1)], {A: 0.2}, ["p limited"]),
        ([_entry(B, 0.7)], {}, ["increase reverted"]),
        ([_entry(B, 0.3)], {B: 0.3}, []),
        ([_entry(C, -5)], {C: 0.01}, ["p clipped"]),
        ([_entry(A, 5)], {A: 0.8}, ["p clipped", "p limited"]),
        ([_entry(("a1", "ghost"), 0.5), _entry(("sink", "a1"), 0.5)], {}, ["edge unknown"]),
        ([_entry(A, 0.6), _entry(A, 0.4)], {A: 0.6}, ["p kept"]),
        ([_entry(A, [True]), _entry(A, TRUE), _entry(B, "0.4"), _entry(C, None)], {}, ["p kept"]),
        ([_entry(A, 10**400)], {}, ["p kept"]),
        ([None, 3, {}, {"src": ["a1"], "dst": "sink", "p": 0.4}], {}, ["edge unknown"]),
    ],
)
def test_each_probability_changes_only_as_far_as_it_may(given: Json, after: dict[Edge, float], kinds: list[str]) -> None:
    notes = Notes()
    table = checked_table(given, BEFORE, sampled={A}, notes=notes)
    assert table == pytest.approx(BEFORE | after)
    assert [note.partition(":")[0] for note in notes.listed()] == kinds


def test_notes_count_each_kind_and_show_only_its_first() -> None:
    notes = Notes()
    for _ in range(3):
        notes.add("edge twice", "a1>a2")
    notes.add("cycle")
    assert notes.listed() == ("edge twice: a1>a2 (and 2 more)", "cycle: ")


def test_hostile_text_is_shown_as_printable_ascii() -> None:
    assert shown("a\x1b[31m\u202e\ud800\n") == "a\\x1b[31m\\u202e\\ud800\\n"
    assert len(shown({"x": "é" * 1000})) <= 60


@pytest.mark.parametrize(("value", "number"), [(1, 1.0), (0.5, 0.5), (True, None), ("1", None), (None, None), (10**400, None), ([1], None)])
def test_only_finite_numbers_are_numbers(value: Json, number: float | None) -> None:
    assert number_of(value) == number
