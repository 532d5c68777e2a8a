import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.sandbox.inside import lean_json, plain

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8), st.complex_numbers(allow_nan=False))
HASHABLE = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.sets(HASHABLE, max_size=4),
        st.dictionaries(HASHABLE, inner, max_size=4),
    ),
    max_leaves=12,
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=12,
)


def shape(value: object) -> object:
    """The value with the type of everything in it, in an order that does not depend on how a set was built."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [shape(item) for item in value]
    if isinstance(value, set):
        return "set", sorted(repr(shape(item)) for item in value)
    if isinstance(value, dict):
        return "dict", [(shape(key), shape(item)) for key, item in value.items()]
    return type(value).__name__, repr(value)


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_plain_values_come_back_with_their_types(value: object) -> None:
    assert shape(plain.read(plain.write(value))) == shape(value)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_our_json_is_json(value: Any) -> None:
    assert json.loads(lean_json.dumps(value)) == value
    assert shape(lean_json.loads(json.dumps(value))) == shape(value)


def test_values_that_are_not_finite() -> None:
    assert math.isnan(plain.read(plain.write(float("nan"))))  # type: ignore[arg-type]  # a float
    assert plain.read(plain.write([float("inf"), float("-inf")])) == [float("inf"), float("-inf")]
    assert plain.read(plain.write(complex(float("inf"), -1.0))) == complex(float("inf"), -1.0)


class Number(int):
    pass


class Text(str):
    __slots__ = ()


class Mapping(dict[str, int]):
    pass


@pytest.mark.parametrize(
    "value", [Number(1), Text("a"), Mapping(), object(), b"a", range(3), frozenset(), [1, [Number(2)]], {"a": (Text("b"),)}, {Number(1): 1}, len]
)
def test_what_is_no_plain_value_is_refused(value: object) -> None:
    with pytest.raises(plain.RefusedError, match="no plain built-in"):
        plain.write(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "1 2",
        "NaN",
        "Infinity",
        '{"a": 1, "b": 2}',
        "{}",
        '{"tuple": 1}',
        '{"tuple": {"list": []}}',
        '{"set": [[]]}',
        '{"set": [{"dict": []}]}',
        '{"dict": [[1]]}',
        '{"dict": [[[], 1]]}',
        '{"dict": [1]}',
        '{"dict": {"a": 1}}',
        '{"complex": [1, 2]}',
        '{"complex": [1.0]}',
        '{"complex": [1.0, "x"]}',
        '{"float": "1"}',
        '{"float": []}',
        '{"object": []}',
        "[" * 100_000,
        "[" * 900 + "]" * 100_000,
        "9" * 100_000,
        '"\\ud800',
    ],
)
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(plain.RefusedError):
        plain.read(text)


@pytest.mark.parametrize("value", [{1: 2}, (1,), {1}, float("nan"), float("inf"), b"x", Number(3), Text("x")])
def test_our_json_writes_nothing_else(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        lean_json.dumps(value)
