"""Rules put together: constraints, references, patterns, windows, the gate, and what a prompt without any of them gets."""

import time

import pytest

from multigraft.rewards.rules.constraints import Constraints
from multigraft.rewards.rules.minimum_content import MinimumContent
from multigraft.rewards.rules.pattern import Pattern
from multigraft.rewards.rules.reference import ExactNumber, Reference
from multigraft.rewards.rules.reward import Rules
from multigraft.rewards.rules.window import LengthWindow
from multigraft.types import Constraint, FailureKind, Message, Prompt

END = Constraint("startend:end_checker", {"end_phrase": "Hope you agree with me."})
NO_COMMA = Constraint("punctuation:no_comma", {})
TEN_WORDS = Constraint("length_constraints:number_words", {"relation": "at least", "num_words": 10})


def prompt(*constraints: Constraint, reference: str | None = None, text: str = "Why is the sky blue? Do not use commas.") -> Prompt:
    return Prompt("p", (Message("user", text),), reference=reference, constraints=constraints)


def test_value_is_the_mean_of_the_credits() -> None:
    score = Rules().score_text(prompt(NO_COMMA, TEN_WORDS, END), "Light is scattered, and so on.")
    assert score.value == pytest.approx((1 / 2 + 6 / 10 + 0) / 3)
    assert score.reason is None
    assert "0 of 3 constraints hold" in score.message
    assert "length_constraints:number_words (6 words, wanted at least 10)" in score.message


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        (Constraints(form="strict"), 0.5),
        (Constraints(form="strict", gather="all"), 0.0),
        (Constraints(form="loose"), 1.0),
        (Constraints(form="loose", gather="all"), 1.0),
        (Constraints(), 0.75),
    ],
)
def test_forms(rules: Constraints, value: float) -> None:
    response = "Certainly, here:\nLight is scattered by the air above us all.\nHope you agree with me."
    score = Rules(rules=[rules]).score_text(prompt(NO_COMMA, END), response)
    assert score.value == pytest.approx(value)


def test_a_bare_required_ending_gets_nothing() -> None:
    rules = Rules()
    asked = prompt(END, NO_COMMA)
    assert rules.score_text(asked, "Hope you agree with me.").value == 0.0
    assert Rules(gate=None).score_text(asked, "Hope you agree with me.").value == 1.0
    assert rules.score_text(asked, "Air scatters light. Hope you agree with me.").value == 1.0
    partly = rules.score_text(asked, "Scatter scatter. Hope you agree with me.")
    assert partly.value == pytest.approx(1 / 3)
    assert "1 words of content, wanted 3" in partly.message


GATED: list[tuple[Prompt, str, int]] = [
    (prompt(NO_COMMA), "why is THE sky  blue? do not use commas.", 0),
    (prompt(Constraint("keywords:existence", {"keywords": ["war", "peace"]})), "War and peace! War and peace!", 1),
    (prompt(Constraint("keywords:frequency", {"keyword": "a", "frequency": 9, "relation": "at least"})), "a a a banana a", 1),
    (prompt(Constraint("combination:repeat_prompt", {"prompt_to_repeat": "Write a poem."})), "Write a poem. Roses bloom", 2),
    (prompt(Constraint("detectable_format:multiple_sections", {"section_spliter": "SECTION", "num_sections": 2})), "SECTION 1 SECTION 2", 2),
    (prompt(Constraint("detectable_content:postscript", {"postscript_marker": "P.S."})), "P.S. P.S.", 0),
    (prompt(NO_COMMA), "空は青い", 4),
    (prompt(NO_COMMA, text=" "), "...", 0),
]


@pytest.mark.parametrize(("asked", "response", "words"), GATED)
def test_what_counts_as_content(asked: Prompt, response: str, words: int) -> None:
    assert MinimumContent(num_words=9).check(asked, response).message == f"{words} words of content, wanted 9"


def test_a_short_reference_answer_passes_the_gate() -> None:
    assert Rules().score_text(prompt(reference="42"), "42").value == 1.0


def test_reference_and_constraints_count_the_same() -> None:
    assert Rules().score_text(prompt(NO_COMMA, reference="42"), "It is 42").value == 1.0
    assert Rules().score_text(prompt(NO_COMMA, reference="42"), "It is 41").value == 0.5
    assert Rules().score_text(prompt(NO_COMMA, reference="42"), "Well, it is 42").value == 0.75


def test_a_prompt_without_anything_to_check_is_unscorable() -> None:
    score = Rules().score_text(prompt(), "Anything")
    assert (score.value, score.reason) == (None, FailureKind.UNSCORABLE)
    assert "add them to its row" in score.message
    assert Rules(rules=[LengthWindow(maximum=3)], gate=None).score_text(prompt(), "Anything").value == 1.0


def test_a_constraint_that_cannot_be_checked_is_unscorable_not_a_crash() -> None:
    score = Rules().score_text(prompt(Constraint("no:such", {})), "Anything at all")
    assert (score.value, score.reason) == (None, FailureKind.UNSCORABLE)


REFERENCES: list[tuple[str, str, float]] = [
    ("Paris", "The capital of France is Paris.", 0.5),
    ("Paris", "Let me think.\n**Paris**", 1.0),
    ("Paris", "The answer is: paris.", 1.0),
    ("Paris", "Parisian", 0.0),
    ("B", "The answer is (B)", 1.0),
    ("B", "#### b\nbecause", 1.0),
    ("[3, 14, 15]", "[3,14,15]", 1.0),
    ("[3, 14, 15]", "Numbers: [ 3, 14 ,15 ]", 0.5),
    ("[3, 14, 15]", "[3, 15, 14]", 0.0),
    ("x^2", r"So \boxed{x^2} it is", 1.0),
    ("?!", "?!", 1.0),
    ("?!", "anything", 0.0),
    ("1,234.50", "It costs $1,234.5 today", 1.0),
]


@pytest.mark.parametrize(("reference", "response", "credit"), REFERENCES)
def test_references(reference: str, response: str, credit: float) -> None:
    check = Reference().check(prompt(reference=reference), response)
    assert check is not None
    assert check.credit == credit
    strict = Reference(form="strict").check(prompt(reference=reference), response)
    assert strict is not None
    assert strict.credit == (1.0 if credit == 1.0 else 0.0)


def test_exact_number_needs_a_number_to_compare_with() -> None:
    assert ExactNumber().check(prompt(reference="Paris"), "42") is None
    assert ExactNumber().check(prompt(), "42") is None
    assert ExactNumber(tolerance="0.01").check(prompt(reference="3.14"), "about 3.1416") == (True, 1.0, "answer 3.1416, reference 3.14", "3.1416")
    assert ExactNumber().check(prompt(reference="3.14"), "no number") == (False, 0.0, "answer None, reference 3.14", None)


def test_patterns() -> None:
    assert Pattern(pattern=r"^ok$", ignore_case=True).check(prompt(), "well\nOK\n").passed
    assert not Pattern(pattern=r"^ok$").check(prompt(), "well\nOK\n").passed
    assert not Pattern(pattern="sorry", wanted=False).check(prompt(), "I am sorry").passed


def test_a_pattern_that_explodes_leaves_the_response_unscored() -> None:
    began = time.process_time()
    score = Rules(rules=[Pattern(pattern="(a|aa)+$")], gate=None).score_text(prompt(), "a" * 60 + "b")
    assert (score.value, score.reason) == (None, FailureKind.UNSCORABLE)
    assert "took longer than 1 s" in score.message
    assert time.process_time() - began < 5


def test_length_windows() -> None:
    window = LengthWindow(minimum=2, maximum=4)
    assert [window.check(prompt(), text).credit for text in ("one", "one two", "a b c d", "a b c d e")] == [0.5, 1.0, 1.0, 0.8]
    assert LengthWindow(minimum=10, unit="characters").check(prompt(), " abcde ").credit == 0.5
    assert LengthWindow(maximum=3).check(prompt(), "").credit == 1.0


def test_bad_settings_are_refused_with_the_value() -> None:
    with pytest.raises(ValueError, match="no regular expression"):
        Pattern(pattern="(")
    with pytest.raises(ValueError, match="not 5 to 4"):
        LengthWindow(minimum=5, maximum=4)
    with pytest.raises(ValueError, match="not 'x'"):
        ExactNumber(tolerance="x")
    with pytest.raises(ValueError, match="at least 0, not -1"):
        MinimumContent(num_words=-1)
    with pytest.raises(ValueError, match="at least one rule"):
        Rules(rules=[])


def test_version_tells_settings_apart() -> None:
    versions = {Rules().version, Rules(gate=None).version, Rules(rules=[Constraints(form="strict")]).version, Rules(rules=[Pattern(pattern="a")]).version}
    assert len(versions) == 4
    assert Rules().version == Rules(name="other").version
