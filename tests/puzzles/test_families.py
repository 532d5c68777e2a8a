"""What holds for every family: right answers score 1, spoilt ones less, and items are the same everywhere."""

import json
from hashlib import blake2b

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.errors import InputError, UnknownNameError
from multigraft.puzzles.facts import FactsError
from multigraft.puzzles.generate import Puzzle, generate, puzzles_of
from multigraft.puzzles.item import Family, Verdict
from multigraft.puzzles.table import FAMILIES, family_of

CHECKED = [family for family in FAMILIES.values() if family.check is not None]
UNIQUE = [family for family in CHECKED if family.name != "sentence"]

GOLDEN = {
    "extract": "be125e0e",
    "numwords": "4bd7e897",
    "fixjson": "9731447d",
    "sort": "bcfda514",
    "reverse": "ac87ca50",
    "sentence": "af6d7f67",
    "pylambda": "78b30e4f",
    "count": "d29ba27e",
    "expr": "46e103f4",
    "story": "2d3a0cf5",
    "date": "72752823",
    "acronym": "7198e576",
}


def first(family: Family, count: int, difficulty: int | None = None, seed: int = 0) -> list[Puzzle]:
    stream = puzzles_of(family, difficulty or family.usual, seed)
    return [next(stream) for _ in range(count)]


def judged(family: Family, puzzle: Puzzle, response: str) -> Verdict:
    assert family.check is not None
    return family.check(puzzle.item.facts, response)


def named(family: Family) -> str:
    return family.name


def test_the_families_are_those_of_the_table() -> None:
    assert sorted(FAMILIES) == [
        "acronym", "count", "date", "expr", "extract", "fixjson", "numwords", "pylambda", "reverse", "sentence", "sort", "story",
    ]  # fmt: skip


@pytest.mark.parametrize("family", CHECKED, ids=named)
def test_the_solution_scores_one_at_every_difficulty(family: Family) -> None:
    for difficulty in {family.least, family.usual, min(family.usual + 3, family.most), family.most}:
        for puzzle in first(family, 6, difficulty):
            verdict = judged(family, puzzle, puzzle.item.solution)
            assert verdict.credit == 1.0, (puzzle.item, verdict)
            assert judged(family, puzzle, f"\n{puzzle.item.solution}\n").credit == 1.0
            assert judged(family, puzzle, puzzle.example.solution).credit < 1.0 or puzzle.example.solution == puzzle.item.solution


@pytest.mark.parametrize("family", UNIQUE, ids=named)
def test_equal_answers_vote_as_one(family: Family) -> None:
    for puzzle in first(family, 5):
        plain = judged(family, puzzle, puzzle.item.solution).answer
        assert plain is not None
        assert judged(family, puzzle, f"{puzzle.item.solution}  \n").answer == plain


@pytest.mark.parametrize("family", CHECKED, ids=named)
@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_a_spoilt_solution_scores_less(family: Family, data: st.DataObject) -> None:
    puzzle = first(family, 1, seed=data.draw(st.integers(0, 200)))[0]
    solution = puzzle.item.solution
    place = data.draw(st.integers(0, len(solution) - 1))
    spoilt = solution[:place] + "7,x" + solution[place + 1 :]
    verdict = judged(family, puzzle, spoilt)
    # JSON may be spoilt in its white space, and a sentence is spoilt by its comma.
    assert verdict.credit < 1.0 or verdict.answer == judged(family, puzzle, solution).answer
    assert judged(family, puzzle, "").credit == 0.0
    assert judged(family, puzzle, "I do not know").credit < 0.8


@pytest.mark.parametrize("family", CHECKED, ids=named)
@given(response=st.text(max_size=300))
@settings(deadline=None, max_examples=30)
def test_any_text_gets_a_credit_between_0_and_1(family: Family, response: str) -> None:
    puzzle = first(family, 1)[0]
    verdict = judged(family, puzzle, response)
    assert 0.0 <= verdict.credit <= 1.0
    assert verdict.message


@pytest.mark.parametrize("family", CHECKED, ids=named)
@pytest.mark.parametrize("hostile", ["[" * 100_000, "{" * 100_000, "9" * 100_000, "A " * 50_000 + "a", "```\n" * 30_000, "a, " * 40_000, "\x00\ud800\u202e"])
def test_hostile_texts_are_judged_in_time(family: Family, hostile: str) -> None:
    assert judged(family, first(family, 1)[0], hostile).credit < 1.0


@pytest.mark.parametrize("family", FAMILIES.values(), ids=named)
def test_items_of_a_seed_are_distinct_and_begin_alike(family: Family) -> None:
    many, few, others = first(family, 40), first(family, 10), first(family, 40, seed=1)
    assert len({puzzle.item.question for puzzle in many} | {many[0].example.question}) == 41
    assert many[:10] == few
    assert many[0].example == others[0].example
    assert [puzzle.item for puzzle in many] != [puzzle.item for puzzle in others]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=named)
def test_facts_and_tests_are_json(family: Family) -> None:
    for puzzle in first(family, 3, family.most):
        assert json.loads(json.dumps(dict(puzzle.item.facts))) == puzzle.item.facts
        assert json.loads(json.dumps(dict(puzzle.item.tests))) == puzzle.item.tests
        assert (family.check is None) is bool(puzzle.item.tests)


def test_items_are_the_same_on_every_machine() -> None:
    """Fixed by value: a change of these digests breaks runs that are resumed, and comparisons with figures that were published."""
    digests = {}
    for name, family in FAMILIES.items():
        items = [[puzzle.item.question, puzzle.item.solution] for puzzle in first(family, 5)]
        digests[name] = blake2b(json.dumps(items).encode(), digest_size=4).hexdigest()
    assert digests == GOLDEN


@pytest.mark.parametrize("family", CHECKED, ids=named)
def test_facts_that_were_changed_are_named(family: Family) -> None:
    assert family.check is not None
    with pytest.raises(FactsError, match=r"take items as the task made them|is no date"):
        family.check({}, "42")


def test_families_take_turns_and_bring_their_own_difficulty() -> None:
    puzzles = generate(["extract4", "sort"], 5, seed=3, difficulty=6)
    assert [puzzle.name for puzzle in puzzles] == ["extract4/seed3/0", "sort6/seed3/0", "extract4/seed3/1", "sort6/seed3/1", "extract4/seed3/2"]
    assert [puzzle.family for puzzle in generate(["all"], 13, seed=0)] == [*FAMILIES, "extract"]
    assert len({puzzle.name for puzzle in generate(["sort", "sort", "all"], 30, seed=0)}) == 30


def test_what_there_is_not_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown family of puzzles 'extrct'\. Did you mean 'extract'\?"):
        family_of("extrct")
    with pytest.raises(InputError, match=r"puzzles 'sort' come in difficulties 2 to 100 \(words\), not 101"):
        generate(["sort101"], 1, seed=0)
    with pytest.raises(InputError, match=r"hardly more than [78] different puzzles 'numwords' of difficulty 1"):
        generate(["numwords1"], 50, seed=0)
