"""Real items of IFEval are checkable, and everything that is not is refused when prompts are loaded."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.errors import InputError, UnknownNameError
from multigraft.rewards.rules.ifeval.evaluate import evaluate, loosened
from multigraft.rewards.rules.ifeval.kinds import KINDS, check_constraints, resolve
from multigraft.types import Constraint, Json

ITEMS = [json.loads(line) for line in (Path(__file__).parents[1] / "data/ifeval/items.jsonl").read_text("utf-8").split("\n") if line]
CONSTRAINTS = [Constraint(kind, arguments) for item in ITEMS for kind, arguments in zip(item["instruction_id_list"], item["kwargs"], strict=True)]
ONE_OF_EACH = {constraint.kind: constraint for constraint in CONSTRAINTS}
RESPONSE = "<<Title>>\n\nSECTION 1\n* A *point*, they say: [name].\n\nP.S. Hello there, my friend. How are you today?"


def test_the_items_hold_every_kind_three_times() -> None:
    counts = Counter(constraint.kind for constraint in CONSTRAINTS)
    assert counts.keys() == KINDS.keys()
    assert len(KINDS) == 25
    assert min(counts.values()) >= 3


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: str(item["id"]))
def test_every_real_item_is_checkable(item: dict[str, list[object]]) -> None:
    constraints = [
        Constraint(str(kind), arguments) for kind, arguments in zip(item["instruction_id_list"], item["kwargs"], strict=True) if isinstance(arguments, dict)
    ]
    assert len(constraints) == len(item["kwargs"])
    check_constraints(constraints)
    for constraint in constraints:
        check = evaluate(constraint, RESPONSE)
        assert 0.0 <= check.credit <= 1.0
        assert check.passed is (check.credit == 1.0)
        assert check.message


@given(
    kind=st.sampled_from(sorted(ONE_OF_EACH)),
    response=st.one_of(st.text(max_size=80), st.text('*-<>[]{}",.\n #Pps1', max_size=80)),
)
@settings(max_examples=200, deadline=None)
def test_credit_is_full_exactly_when_passed_and_strict_implies_loose(kind: str, response: str) -> None:
    strict, loose = evaluate(ONE_OF_EACH[kind], response, "strict"), evaluate(ONE_OF_EACH[kind], response, "loose")
    assert strict.passed is (strict.credit == 1.0)
    assert 0.0 <= strict.credit <= 1.0
    assert loose.passed or not strict.passed


@pytest.mark.parametrize("response", ["[" * 20_000, "<<" * 10_000, "*" * 20_000, "\n" * 20_000, "-\n" * 10_000, "p. " * 7_000, "P.\n" * 7_000])
def test_hostile_repetition_takes_linear_time(response: str) -> None:
    started = time.process_time()
    for kind, constraint in ONE_OF_EACH.items():
        if kind not in ("length_constraints:number_sentences", "language:response_language"):
            evaluate(constraint, response)
    assert time.process_time() - started < 1.5


def test_the_eight_loosened_forms() -> None:
    assert loosened("a\n*b*\nc") == ["a\n*b*\nc", "*b*\nc", "a\n*b*", "*b*", "a\nb\nc", "b\nc", "a\nb", "b"]


def test_null_arguments_count_as_not_given_and_whole_floats_as_integers() -> None:
    arguments: dict[str, Json] = {"num_words": 3.0, "relation": "at least", "keywords": None}
    assert resolve(Constraint("length_constraints:number_words", arguments))[1] == {"num_words": 3, "relation": "at least"}


def test_an_unknown_kind_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'punctuation:no_comma'"):
        check_constraints([Constraint("punctuation:no_commas", {})])


BAD: list[tuple[str, dict[str, Json], str]] = [
    ("length_constraints:number_words", {"relation": "at least"}, "argument 'num_words' is missing"),
    ("length_constraints:number_words", {"relation": "at most", "num_words": 3}, "must be 'at least' or 'less than', not 'at most'"),
    ("length_constraints:number_words", {"relation": "at least", "num_words": "3"}, "must be an integer of at least 0, not '3'"),
    ("length_constraints:number_words", {"relation": "at least", "num_words": True}, "not True"),
    ("length_constraints:number_words", {"relation": "at least", "num_words": 2.5}, "not 2.5"),
    ("length_constraints:number_words", {"relation": "at least", "num_words": float("nan")}, "not nan"),
    ("length_constraints:number_words", {"relation": "at least", "num_words": float("inf")}, "not inf"),
    ("length_constraints:number_words", {"relation": "at least", "num_words": -1}, "not -1"),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 0}, "at least 1, not 0"),
    ("keywords:existence", {"keywords": []}, "a list of texts, at least one"),
    ("keywords:existence", {"keywords": "one"}, "a list of texts"),
    ("keywords:existence", {"keywords": ["a", " "]}, "a text that is not empty"),
    ("keywords:letter_frequency", {"letter": "ab", "let_frequency": 1, "let_relation": "at least"}, "one character, not 'ab'"),
    ("language:response_language", {"language": "klingon"}, "not 'klingon'"),
    ("punctuation:no_comma", {"num_words": 3}, "argument 'num_words' is unknown; it takes none"),
    ("startend:end_checker", {"end_phrase": "Bye", "phrase": "x"}, "argument 'phrase' is unknown; it takes end_phrase"),
]


@pytest.mark.parametrize(("kind", "arguments", "message"), BAD)
def test_bad_arguments_are_refused(kind: str, arguments: dict[str, Json], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_constraints([Constraint("startend:quotation", {}), Constraint(kind, arguments)])
    assert message in str(caught.value)
    assert kind in str(caught.value)
    assert caught.value.field == "kwargs"
