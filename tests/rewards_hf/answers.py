"""Candidates to be scored."""

from collections.abc import Sequence

import pytest

from multigraft.types import Call, Candidate, Completion, Finish, Message, Prompt, Role, Score, Usage

TEXTS = (
    "The capital of France is Paris.",
    "42",
    "Step 1: We add 2 and 3.\n\nStep 2: We get 5.\n\nThe answer is 5.",
    "word " * 90,
    "I do not know, and here is why: the sky is blue because air scatters blue light most, as Rayleigh said.",
    "Yes",
    "no " * 31,
    "a\nb\nc",
)
SYSTEM = Message("system", "Reply in few words.")
USER = Message("user", "What is the answer?")


def answer(text: str, *messages: Message, ordinal: int = 0) -> Candidate:
    prompt = Prompt(f"prompt-{ordinal}", messages or (USER,))
    return Candidate(prompt, Call(ordinal, "model", (), Role.ANSWER, ordinal), Completion(text, Finish.STOP, Usage()))


def answers(texts: Sequence[str] = TEXTS) -> list[Candidate]:
    """One a text, with prompts of several kinds: alone, after a system turn, and after an earlier exchange."""
    turns = ((USER,), (SYSTEM, USER), (Message("user", "Hello"), Message("assistant", "Hello to you"), USER))
    return [answer(text, *turns[number % 3], ordinal=number) for number, text in enumerate(texts)]


def same(expected: Sequence[float]) -> object:
    """What scores must be: 1e-4 relative; of scores about 1 in size, one that happens to lie near 0 has rounding errors of the others' size."""
    return pytest.approx(list(expected), rel=1e-4, abs=1e-5)


def values(scores: Sequence[Score]) -> list[float]:
    found = [score.value for score in scores]
    assert None not in found, [score.message for score in scores]
    return [value for value in found if value is not None]
