r"""The number an answer ends on: commas, currency, decimals, `####`, `\boxed{}`."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.rewards.rules.final_answer import as_number, boxed, last_number

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
