"""The reward that reads a final answer without knowing what is right."""

import pytest

from multigraft.errors import UnknownNameError
from multigraft.rewards.final_answer import AnswerForm, FinalAnswer
from multigraft.rewards.math_answer import MathAnswer
from multigraft.rewards.rules.constraints import Constraints
from multigraft.rewards.rules.reward import Rules
from multigraft.testing.reward_suite import RewardSuite
from multigraft.types import Call, Candidate, Completion, Finish, Json, Message, Prompt, Reward, Role, Usage


class TestFinalAnswer(RewardSuite):
    def reward(self) -> Reward:
        return FinalAnswer()


async def read(form: AnswerForm, response: str, **fields: Json) -> tuple[float | None, str | None]:
    prompt = Prompt("p", (Message("user", "How many?"),), fields=fields)
    (score,) = await FinalAnswer(form=form).score([Candidate(prompt, Call(0, "m", (), Role.ANSWER, 0), Completion(response, Finish.STOP, Usage()))])
    return score.value, score.answer


@pytest.mark.parametrize(
    ("form", "response", "answer"),
    [
        ("text", "So the answer is  Blue  Whale.", "blue whale"),
        ("text", r"Hence \boxed{Blue whale}", "blue whale"),
        ("text", "word " * 60, None),
        ("number", "First 3, then 1,042.50 apples", "1042.5"),
        ("number", "none at all", None),
        ("math", r"Thus \boxed{\frac{1}{2}}", "1/2"),
        ("math", "The answer is 1/2.", "1/2"),
        ("math", "I do not know", None),
        ("letter", "The answer is (C).", "C"),
        ("letter", "It is hard to say", None),
    ],
)
async def test_an_answer_is_read_without_a_reference(form: AnswerForm, response: str, answer: str | None) -> None:
    assert await read(form, response) == (0.0 if answer is None else 1.0, answer)


async def test_a_letter_is_found_by_the_text_of_its_option() -> None:
    assert await read("letter", "I think: Paris", choices=["Rome", "Paris"]) == (1.0, "B")


def test_what_reads_answers_says_so() -> None:
    assert (FinalAnswer().reads_answers, MathAnswer().reads_answers, Rules().reads_answers) == (True, True, True)
    assert not Rules(rules=(Constraints(),)).reads_answers


def test_settings_are_checked_and_versions_tell_them_apart() -> None:
    with pytest.raises(UnknownNameError, match="unknown form of answers 'nmber'"):
        FinalAnswer(form="nmber")  # type: ignore[arg-type]  # as a run file may have it
    with pytest.raises(ValueError, match="max_batch must be at least 1, not 0"):
        FinalAnswer(max_batch=0)
    assert len({FinalAnswer(form=form).version for form in ("text", "number", "math", "letter")} | {FinalAnswer(form="letter", choices="options").version}) == 5
