r"""The number an answer ends on: commas, currency, decimals, `####`, `\boxed{}`."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.rewards.rules.final_answer import PLACES, Place, as_number, boxed, final_answer, last_number, number_text

ENDINGS: list[tuple[str, str | None]] = [
    ("She has 3 + 4 = 7 apples.", "7"),
    ("The total is $1,234,567.89.", "1234567.89"),
    ("It is 12,34", "34"),
    ("[3,14,15]", "15"),
    ("x = -5", "-5"),
    ("x = \u22125", "-5"),
    ("10-3", "3"),
    ("- 42", "42"),
    ("-$20", "-20"),
    ("\u20ac 99,000 in all", "99000"),
    ("half is .5", "0.5"),
    ("2.50 dollars", "2.5"),
    ("about 6e3", "6000"),
    ("50% of them", "50"),
    ("H2O and CO2", None),
    ("no digits", None),
    ("#### 72", "72"),
    ("First 5.\n#### 1,000\nThen 7 more words.", "1000"),
    (r"So \boxed{18} of 20.", "18"),
    (r"\boxed{1} then \boxed{\frac{2}{3}} end 9", "3"),
    (r"\boxed{no number} but 4", "4"),
    (r"\boxed{12,{,}000", "0"),
    (r"It is \$15", "15"),
    ("1" * 5000, "1" * 5000),
    ("\u0664\u0662", "42"),
]


@pytest.mark.parametrize(("text", "number"), ENDINGS, ids=lambda value: str(value)[:20])
def test_last_number(text: str, number: str | None) -> None:
    assert last_number(text) == (None if number is None else Decimal(number))


@pytest.mark.parametrize(
    ("text", "number"),
    [("42", "42"), (" $1,000. ", "1000"), ("50%", "50"), ("-3.5", "-3.5"), ("4 apples", None), ("", None), ("1 2", None), ("inf", None), ("nan", None)],
)
def test_as_number(text: str, number: str | None) -> None:
    assert as_number(text) == (None if number is None else Decimal(number))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\left\{1, \{2\}\right\}} and more", r"\left\{1, \{2\}\right\}"),
        (r"\boxed{\{1, 2}", r"\{1, 2"),
        (r"\boxed {7}", "7"),
        (r"\boxed 7", "7"),
        (r"\fbox{8}", "8"),
        (r"\boxed{x = \boxed{3}}", "3"),
        (r"\boxed{4} but \boxed{\frac{1}{", "4"),
        ('{"answer": "\\\\frac{1}{2}"}', r"\frac{1}{2}"),
        ('{"answer": "\\frac{1}{2}"}', r"\frac{1}{2}"),
        ('{"answer": "\\pi"}', r"\pi"),
        ('{"answer": 12, "unit": "cm"}', "12"),
        ('{"a": {"Final Answer": "x"}', "x"),
        ('{"answer": "1"} Sorry: {"answer": "2"}', "2"),
        ("The final answer is $\\frac{2}{3}$. I hope it is correct.", r"\frac{2}{3}"),
        ("The answer is \\(x^2\\), as $x$ is.", "x^2"),
        ("Answer: $1$, $2$ and $3$.", "1, 2, 3"),
        ("The answer is **12 apples**. That is all.", "12 apples"),
        ("We have $a = 1$ and so $b = 2$ holds", "b = 2"),
        ("She pays $18 and he gets $20", "$20"),
        ("It follows that\nx = 2y + 1", "2y + 1"),
        ("nothing here", None),
        ("", None),
    ],
)
def test_final_answers(text: str, answer: str | None) -> None:
    assert final_answer(text, PLACES) == answer


def test_the_places_decide_and_their_order() -> None:
    text = '{"answer": "1"} \\boxed{2}\nThe answer is 4. $5$ = 6\n#### 3\n'
    places: list[Place] = ["json", "boxed", "marked", "stated", "formula", "last"]
    assert [final_answer(text, [place]) for place in places] == ["1", "2", "3", "4", "5", "3"]
    assert final_answer(text, ["boxed", "json"]) == "2"


@pytest.mark.parametrize(
    ("number", "text"),
    [("2.50", "2.5"), ("-0", "0"), ("1e3", "1000"), ("100", "100"), ("1e-40", "1e-40"), ("1.0", "1"), ("0.0070", "0.007"), ("-3.10", "-3.1")],
)
def test_equal_numbers_are_equal_texts(number: str, text: str) -> None:
    assert number_text(Decimal(number)) == text


def test_an_answer_in_json_that_is_no_number_is_none() -> None:
    assert last_number('{"reasoning": "he has 3", "answer": "unknown"}') is None
    assert last_number('{"reasoning": "he has 3", "answer": "$1,200 in all"}') == 1200


def test_boxed_needs_balanced_braces() -> None:
    assert boxed(r"\boxed{a{b}c} \boxed{open") == "a{b}c"
    assert boxed(r"\boxed{\text{yes}}") == r"\text{yes}"
    assert boxed(r"\boxed{open") is None
    assert boxed("\\boxed{" * 3000) is None


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9),
    st.sampled_from(["so {}", "It is {}.", "#### {}", "a 5, b {}!"]),
)
@settings(max_examples=100, deadline=None)
def test_any_number_is_read_back_with_and_without_commas(number: Decimal, sentence: str) -> None:
    assert last_number(sentence.replace("{}", f"{number:.2f}")) == number
    assert last_number(sentence.replace("{}", f"{number:,.2f}")) == number
