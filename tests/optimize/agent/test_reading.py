import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.optimize.agent.reading import MAX_DEPTH, read_object


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"edges": [1]}', [1]),
        ('```json\n{"edges": [1]}\n```', [1]),
        ('Here you are: {"edges": [1]}. Anything else?', [1]),
        ('<think>maybe {"edges": [0]}</think>{"edges": [1]}', [1]),
        ('the template began the thought {"edges": [0]}</think> {"edges": [1]}', [1]),
        ('{"edges": [0]} no, better: {"edges": [1]}', [1]),
        ('{"edges": [1]} and {"probs": []}', [1]),
        ('{"edges": [1], "why": "a } and a { and \\" too"}', [1]),
        ('braces { in prose, "quotes too: {"edges": [1]}', [1]),
        ('{{"edges": [1]}}', [1]),
        ('{"reply": {"edges": [1]}}', [1]),
        ('{"edges": [0]} {"edges": [1], }', [0]),
        ('{"edges": [0]} {"edges": [1', [0]),
        ('{"edges": [1]} } } {', [1]),
        ('{"\\u0065dges": [1]}', [1]),
        ('{"edges": "\\ud800"}', "\ud800"),
    ],
)
def test_the_last_object_with_the_key_is_found(text: str, found: object) -> None:
    read = read_object(text, "edges")
    assert read.found is not None
    assert read.found["edges"] == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON object"),
        ("I cannot help with that.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('{"probs": []}', "no object with the key 'edges'"),
        ('{"edges": NaN}', "NaN is no number"),
        ('{"edges": -Infinity}', "-Infinity is no number"),
        ('{"edges": 1e999}', "beyond a 64-bit float"),
        ('{"edges": [], "edges": []}', "given twice"),
        ("{'edges': []}", "Expecting property name"),
        ('{"edges": ' + "1" * 5000 + "}", "digits"),
        ('{"edges": ' + "[" * 20 + "]" * 20 + "}", f"deeper than {MAX_DEPTH}"),
        ('<think>{"edges": []}', "no JSON object"),
        ('__import__("os").system("x")', "no JSON object"),
    ],
)
def test_what_is_no_reply_is_refused_with_the_reason(text: str, problem: str) -> None:
    read = read_object(text, "edges")
    assert read.found is None
    assert problem in read.problem


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.text(alphabet="abc \n.,:()", max_size=20), st.text(alphabet="abc \n.,:()", max_size=20))
@settings(deadline=None, max_examples=150)
def test_whatever_the_object_holds_it_comes_out_as_it_was(value: object, before: str, after: str) -> None:
    read = read_object(before + json.dumps({"edges": value}) + after, "edges")
    assert read.found == {"edges": value}


@given(st.text(max_size=200))
@settings(deadline=None, max_examples=200)
def test_no_text_is_too_odd(text: str) -> None:
    read = read_object(text + '{"edges' + text + "}", "edges")
    assert read.found is not None or read.problem
