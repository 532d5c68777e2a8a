"""The option that an answer names, in every form it is written, and the answers that name none."""

import json
import time
from pathlib import Path

import pytest

from multigraft.rewards.rules.choice import Choice, read_choice
from multigraft.rewards.rules.reference import ExactNumber
from multigraft.rewards.rules.reward import Rules
from multigraft.rewards.rules.rule import Rule
from multigraft.types import FailureKind, Json, Message, Prompt

DATA = Path(__file__).parents[1] / "data"
OPTIONS = ("the sun", "the moon", "a star", "5 apples")


def prompt(reference: str | None, choices: Json = None) -> Prompt:
    return Prompt("p", (Message("user", "Which?"),), reference=reference, fields={} if choices is None else {"choices": choices})


READINGS: list[tuple[str, str | None]] = [
    ("The answer is (C).", "C"),
    ("The answer is C", "C"),
    ("Answer: C", "C"),
    ("**Answer:** C", "C"),
    ("**Answer: (C) a star**", "C"),
    ("The correct answer would be option B.", "B"),
    ("Final answer: $\\boxed{\\text{B}}$", "B"),
    ("so \\boxed{C}", "C"),
    ("so \\boxed{(C)\\ a star}", "C"),
    ('{"reasoning": "A or B, who knows", "answer": "C"}', "C"),
    ('{"answer": "C. a star"}', "C"),
    ('{"answer": "a star"}', "C"),
    ("C", "C"),
    ("(c)", "C"),
    ("C.", "C"),
    ("**C**", "C"),
    ("C) a star", "C"),
    ("C. a star\nBecause it shines.", "C"),
    ("A star", "C"),
    ("I thought about it.\nThe Moon.", "B"),
    ("It shines by night, so option (B) is the correct one.", "B"),
    ("Everything points to (D) here.", "D"),
    ("#### D", "D"),
    ("The answer is (A). No, wait: the answer is (B).", "B"),
    ("The answer is B\n\nQuestion: What is red?\nThe answer is (A).", "B"),
    ("The correct answer is:\n\nB. the moon", "B"),
    ("The closest option is (B).", "B"),
    ("A good question! I think so.", None),
    ("The answer is a matter of taste.", None),
    ("Answer: A man went to the moon.", None),
    ("It may be (A) or (B).", None),
    ("A. the sun is hot\nB. the moon is cold", None),
    ("The answer is (J).", None),
    ("", None),
    ("To", None),
]


@pytest.mark.parametrize(("text", "letter"), READINGS, ids=[text[:30] for text, _ in READINGS])
def test_options_are_read(text: str, letter: str | None) -> None:
    assert read_choice(text, OPTIONS) == letter


def test_without_options_letters_alone_are_read() -> None:
    assert read_choice("The answer is (J).") == "J"
    assert read_choice("a star") is None


def test_equal_options_are_told_apart_by_their_letters_only() -> None:
    assert read_choice("yes", ("yes", "no", "yes")) is None
    assert read_choice("(C) yes", ("yes", "no", "yes")) == "C"


def test_the_first_answer_counts_where_asked() -> None:
    text = "The answer is (A).\n\nFinal Answer: The answer is (B)."
    assert (read_choice(text), read_choice(text, several="first")) == ("B", "A")


@pytest.mark.parametrize(
    ("rule", "reference", "right"),
    [
        (Choice(), "B", "B"),
        (Choice(), "(b)", "B"),
        (Choice(), "1", "B"),
        (Choice(first_index=1), "2", "B"),
        (Choice(), "The moon", "B"),
    ],
)
def test_references_are_letters_indices_or_texts(rule: Choice, reference: str, right: str) -> None:
    asked = prompt(reference, list(OPTIONS))
    assert rule.check(asked, "The answer is (B)") == (True, 1.0, f"option B, right is {right}", "B")
    assert rule.check(asked, "The answer is (A)") == (False, 0.0, f"option A, right is {right}", "A")
    assert rule.check(asked, "No idea") == (False, 0.0, f"no option named, right is {right}", None)


def test_a_reference_that_is_no_option_leaves_the_response_unscored() -> None:
    score = Rules(rules=[Choice()], gate=None).score_text(prompt("7", list(OPTIONS)), "B")
    assert (score.value, score.reason) == (None, FailureKind.UNSCORABLE)
    assert "no letter of ABCD, no index from 0" in score.message
    assert Choice().check(prompt(None), "B") is None


def test_votes_are_told_the_answer() -> None:
    reward = Rules(rules=[Choice()])
    assert reward.score_text(prompt("B", list(OPTIONS)), "It is **(C)**").answer == "C"
    numbers = Rules(rules=[ExactNumber()])
    assert [numbers.score_text(prompt("4"), text).answer for text in ("#### 2.50", "so 2.5", "$1,000", "-0", "none")] == ["2.5", "2.5", "1000", "0", None]
    words = Rules()
    assert words.score_text(prompt("Paris"), r"\boxed{PARIS}").answer == "paris"
    assert words.score_text(prompt("Paris"), "Well, the answer is Rome.").answer == "rome"


def test_bad_settings_are_refused_with_the_value() -> None:
    with pytest.raises(ValueError, match="0 or 1, not 2"):
        Choice(first_index=2)
    with pytest.raises(ValueError, match="not 'all'"):
        Choice(several="all")  # type: ignore[arg-type] # the mistake


@pytest.mark.parametrize(
    "text", ["answer" + " " * 50_000, "answer(" * 20_000, "answer is " + "(" * 50_000, "\n" * 50_000 + "Question", "(A) " * 20_000, '"answer": ' * 9000]
)
def test_time_grows_with_the_text_and_no_faster(text: str) -> None:
    began_s = time.process_time()
    read_choice(text, OPTIONS)
    assert time.process_time() - began_s < 2


def recorded(name: str) -> list[dict[str, Json]]:
    return [json.loads(line) for line in (DATA / name / "answers.jsonl").read_text("utf-8").splitlines()]


RULES: dict[str, Rule] = {"gsm8k": ExactNumber(), "mmlu": Choice(), "mmlu_pro": Choice(several="first")}
DIFFERENCES = {"gsm8k": 5, "mmlu": 0, "mmlu_pro": 18}


@pytest.mark.parametrize("name", RULES)
def test_recorded_answers_are_graded_as_recorded_but_for_the_known_differences(name: str) -> None:
    reward = Rules(rules=[RULES[name]], gate=None)
    rows = recorded(name)
    for row in rows:
        score = reward.score_text(prompt(str(row["reference"]), row.get("choices")), str(row["response"]))
        assert ((score.value == 1.0) is row["correct"]) is ("difference" not in row), (row["prompt_id"], row["model"])
        if row.get("answer") is not None and "difference" not in row:
            assert score.answer == row["answer"]
    assert sum("difference" in row for row in rows) == DIFFERENCES[name]
    assert len(rows) >= 36
