"""Credits worked out by hand."""

import ast

import pytest

from multigraft.puzzles.calendar_days import Day, date_of, days_of
from multigraft.puzzles.credit import digit_credit, nearness, sequence_credit
from multigraft.puzzles.generate import puzzles_of
from multigraft.puzzles.numerals import in_words
from multigraft.puzzles.reading import fenced_or_whole, last_integer, last_list, listed_words
from multigraft.puzzles.table import FAMILIES
from multigraft.puzzles.words import NAMES, NOUNS, THINGS
from multigraft.types import Json


def credit(family: str, facts: dict[str, Json], response: str) -> float:
    check = FAMILIES[family].check
    assert check is not None
    return check(facts, response).credit


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        ("a b c", "a b c", 1.0),
        ("a c b", "a b c", 2 / 3),
        ("a b", "a b c", 2 / 3),
        ("a b c d", "a b c", 3 / 4),
        ("c b a", "a b c", 1 / 3),
        ("x y z", "a b c", 0.0),
        ("", "a b c", 0.0),
    ],
)
def test_right_entries_in_the_right_order(found: str, wanted: str, expected: float) -> None:
    assert sequence_credit(found.split(), wanted.split()) == expected


def test_digits_count_from_the_units() -> None:
    assert digit_credit(42_307, 42_307) == 1.0
    assert digit_credit(42_317, 42_307) == 4 / 5
    assert digit_credit(2_307, 42_307) == 4 / 5
    assert digit_credit(-12, 12) == 0.5
    assert digit_credit(7, 1_000) == 0.0
    assert (nearness(3, 4), nearness(4, 3), nearness(0, 4), nearness(4, 4)) == (0.75, 0.75, 0.0, 1.0)


@pytest.mark.parametrize(
    ("family", "facts", "steps"),
    [
        ("extract", {"numbers": [3, 14, 59]}, ["no idea", "[60]", "[3]", "[14, 3, 59]", "[3, 14, 59]"]),
        ("sort", {"words": ["ant", "bee", "cat"]}, ["dog", "cat", "cat, ant, bee", "ant, bee, cat"]),
        ("numwords", {"number": 42307}, ["many", "11111", "42", "42300", "42317", "42307"]),
        ("date", {"date": "2024-02-29"}, ["soon", "2023-03-01", "2024-03-01", "2024-02-28", "2024-02-29"]),
        ("acronym", {"letters": "WMTV"}, ["none", "AB", "WM", "WMTX", "WMTV"]),
        ("count", {"number": 4}, ["none", "1", "3", "4"]),
        ("fixjson", {"json": {"a": 1, "b": "x"}}, ["{", '{"a": 1, "b": x}', '{"a": 2}', '{"a": 1}', '{"a": 1, "b": "x"}']),
    ],
)
def test_credit_grows_with_what_is_right(family: str, facts: dict[str, Json], steps: list[str]) -> None:
    values = [credit(family, facts, step) for step in steps]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0.0, 1.0)
    assert values[1] < values[-2] < 1.0


def test_other_values_than_the_right_ones_are_not_taken_for_them() -> None:
    assert credit("extract", {"numbers": [3, 14]}, '["3", 14]') == 0.5
    assert credit("extract", {"numbers": [1, 14]}, "[true, 14]") == 0.5
    assert credit("extract", {"numbers": [3, 14]}, "[3.0, 14]") == 0.5
    assert credit("fixjson", {"json": {"a": True}}, '{"a": 1}') == 0.5
    assert credit("fixjson", {"json": {"a": 1}}, '{"a": 1, "a": 1}') < 1.0
    assert credit("sort", {"words": ["ant", "bee"]}, "ant, bee, ant, bee") == 0.5


def test_talk_around_an_answer_is_passed_over() -> None:
    assert credit("extract", {"numbers": [3, 14]}, "Sure! The list is [3, 14].") == 1.0
    assert credit("sort", {"words": ["ant", "bee"]}, "Sorted list:\n1. Ant\n2. **bee**") == 1.0
    assert credit("numwords", {"number": 42307}, "It is **42,307**.") == 1.0
    assert credit("fixjson", {"json": {"a": 1}}, 'Here:\n```json\n{"a": 1}\n```\nDone.') == 1.0
    assert credit("acronym", {"letters": "WMT"}, "I think it is W.M.T.") == 1.0
    assert credit("date", {"date": "2024-02-09"}, "That is 2024-2-9.") == 1.0


def test_the_parts_of_a_sentence() -> None:
    facts: dict[str, Json] = {"given": ["rose", "spoon"], "last": "fork", "least": 6, "most": 9}
    assert credit("sentence", facts, "we saw rose and spoon by the fork.") == 1.0
    assert credit("sentence", facts, "we saw rose, and spoon by the fork") == pytest.approx((4 + 0.5) / 5)
    assert credit("sentence", facts, "we saw rose and some by the fork") == pytest.approx((4 + 0.5) / 5)
    assert credit("sentence", facts, "We saw rose and spoon by the fork") == pytest.approx((4 + 7 / 8) / 5)
    assert credit("sentence", facts, "rose spoon fork") == pytest.approx((4 + 0.5) / 5)


def test_numbers_in_words() -> None:
    assert in_words(0) == "zero"
    assert in_words(40_017) == "forty thousand seventeen"
    assert in_words(99_999) == "ninety-nine thousand nine hundred ninety-nine"
    assert in_words(1_000_200_003) == "one billion two hundred thousand three"
    assert len({in_words(number) for number in range(10_000)}) == 10_000


def test_the_calendar_is_the_gregorian_one() -> None:
    from datetime import date, timedelta

    for text in ("1950-01-01", "1999-12-31", "2000-02-29", "2024-02-29", "2100-03-01"):
        start = date.fromisoformat(text)
        days = days_of(Day(start.year, start.month, start.day))
        for step in range(-1500, 40_000, 97):
            assert str(date_of(days + step)) == (start + timedelta(days=step)).isoformat()


def test_sums_and_their_values() -> None:
    """Python's own grammar computes what the puzzle says."""
    for difficulty in (2, 3, 4, 9):
        stream = puzzles_of(FAMILIES["expr"], difficulty, 0)
        for _ in range(20):
            item = next(stream).item
            text = item.question.splitlines()[-1]
            assert len([part for part in text.split() if part.isdigit()]) == difficulty
            assert value_of(ast.parse(text, mode="eval").body) == int(item.solution)


def value_of(node: ast.expr) -> int:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int)
        return node.value
    assert isinstance(node, ast.BinOp)
    left, right = value_of(node.left), value_of(node.right)
    return {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}[type(node.op)]


def test_what_is_read_out_of_texts() -> None:
    assert last_integer("from 3 to 1,234.") == 1234
    assert last_integer("minus: \u22125") == -5
    assert last_integer("pages 10-12") == 12
    assert last_integer("12.0") == 12
    assert last_integer("12.5") is None
    assert last_integer("1" * 41) is None
    assert last_integer("x1") is None
    assert last_list("[1, 2] or [3]") == [3]
    assert last_list("[1, 2] and [see above]") == [1, 2]
    assert last_list("[NaN]") is None
    assert fenced_or_whole("```\na\n```\n```json\nb\n```") == "b"
    assert listed_words("ant: none", ["ant"]) == ["ant"]


def test_words_are_distinct() -> None:
    assert len(set(NOUNS)) == len(NOUNS) >= 200
    assert all(word.isascii() and word.islower() and word.isalpha() for word in (*NOUNS, *THINGS))
    assert len(set(NAMES)) == len(NAMES) == 20
