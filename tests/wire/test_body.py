import json
from math import isfinite

from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.types import Json
from multigraft.wire.body import dump, parse, without_surrogates


def test_plain_json_is_not_touched() -> None:
    parsed = parse(b'{"a": [1, 2.5, null, true, "x"]}')
    assert parsed is not None
    assert parsed.value == {"a": [1, 2.5, None, True, "x"]}
    assert not parsed.normalised


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    parsed = parse(b'{"a": "x\\ud835y", "b\\udc00": 1}')
    assert parsed is not None
    assert parsed.value == {"a": "x\ufffdy", "b\ufffd": 1}
    assert parsed.normalised


def test_a_surrogate_pair_is_one_character() -> None:
    assert without_surrogates("\ud83d\ude00") == "😀"
    parsed = parse(b'["\\ud83d\\ude00", "\\ud83d"]')
    assert parsed is not None
    assert parsed.value == ["😀", "\ufffd"]


def test_numbers_that_are_none_become_nothing() -> None:
    parsed = parse(b"[NaN, Infinity, -Infinity, 1e400, -1e400, 1.5]")
    assert parsed is not None
    assert parsed.value == [None, None, None, None, None, 1.5]
    assert parsed.normalised


def test_deep_nesting_is_no_json() -> None:
    assert parse(b"[" * 10_000 + b"]" * 10_000) is None
    assert parse(b'{"a":' * 100_000) is None


def test_of_equal_keys_the_last_counts() -> None:
    parsed = parse(b'{"a": 1, "a": 2}')
    assert parsed is not None
    assert parsed.value == {"a": 2}


def test_invalid_utf8_and_a_byte_order_mark_are_read() -> None:
    parsed = parse(b'\xef\xbb\xbf{"a": "\xff"}')
    assert parsed is not None
    assert parsed.value == {"a": "\ufffd"}
    assert parsed.normalised


def test_what_is_no_json() -> None:
    for data in (b"", b"<html>", b'{"a": ', b"{'a': 1}", b"undefined", b"\x00"):
        assert parse(data) is None


def test_a_number_with_ten_thousand_digits_ends_nothing() -> None:
    parse(b"[" + b"9" * 10_000 + b"]")


def test_a_lone_surrogate_is_sent_as_valid_utf8() -> None:
    data = dump({"messages": [{"content": "a\ud835b"}], "\udfff": ("x",)})
    assert json.loads(data.decode("utf-8")) == {"messages": [{"content": "a\ufffdb"}], "\ufffd": ["x"]}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=True) | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(_JSON)
def test_whatever_python_can_write_is_read_without_surrogates_or_infinities(value: Json) -> None:
    parsed = parse(json.dumps(value).encode())
    assert parsed is not None
    _check(parsed.value)


def _check(value: Json) -> None:
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, float):
        assert isfinite(value)
    elif isinstance(value, list):
        for item in value:
            _check(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            name.encode("utf-8")
            _check(item)
