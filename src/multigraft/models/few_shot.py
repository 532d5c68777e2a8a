"""Asking a base model, which knows no turns, by showing it a few exchanges to continue."""

from collections.abc import Sequence
from dataclasses import dataclass

from multigraft.types import Message

_EXCHANGES = (
    (
        "Why does ice float on water?",
        "Water expands when it freezes, so ice takes up more room than the same mass of water. Being less dense, it floats.",
    ),
    (
        "A shop sells pencils in boxes of 12. How many pencils are in 7 boxes?",
        "Each box holds 12 pencils, and there are 7 boxes: 12 x 7 = 84. There are 84 pencils.",
    ),
    (
        'Write two sentences about autumn, and use the word "amber".',
        "The hills turned amber as the days grew short. In the evening the wind carried the leaves down to the river.",
    ),
    (
        "Name three fruits, one on each line, with a dash in front.",
        "- apple\n- pear\n- plum",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FewShot:
    """Plain text in which each answer follows its question, so that a base model goes on with an answer."""

    exchanges: tuple[tuple[str, str], ...] = _EXCHANGES
    """Questions and answers shown before the real question."""
    question_label: str = "Question:"
    answer_label: str = "Answer:"
    heading: str = "Below are questions, each with a helpful and accurate answer."

    def __post_init__(self) -> None:
        if not self.question_label.strip() or not self.answer_label.strip():
            message = f"the labels of a few-shot template may not be empty: {self.question_label!r}, {self.answer_label!r}"
            raise ValueError(message)

    @property
    def stops(self) -> tuple[str, ...]:
        """What ends an answer: the model going on with a question, or with another answer."""
        return (f"\n{self.question_label}", f"\n\n{self.answer_label}")

    def render(self, messages: Sequence[Message]) -> str:
        """Write a conversation as text that ends where the answer is to begin.

        Args:
            messages: system texts stand above the exchanges, earlier turns below them.

        Returns:
            A prompt for a completion, without trailing white space (a trailing space splits tokens the model has seen whole).
        """
        parts = [self.heading, *(message.content.strip() for message in messages if message.role == "system")]
        parts += [self._exchange(question, answer) for question, answer in self.exchanges]
        turns = [message for message in messages if message.role != "system"]
        for turn in turns:
            label = self.answer_label if turn.role == "assistant" else self.question_label
            parts.append(f"{label} {turn.content.strip()}")
        parts.append(self.answer_label)
        return _without_gap_after_questions(parts, self.answer_label)

    def cut(self, text: str) -> str:
        """Cut a continuation where it goes on with another turn, and trim it."""
        label = f"{self.question_label} "
        if text.lstrip().startswith(label):
            return ""
        ends = [position for stop in self.stops if (position := text.find(stop)) >= 0]
        return text[: min(ends)].strip() if ends else text.strip()

    def _exchange(self, question: str, answer: str) -> str:
        return f"{self.question_label} {question.strip()}\n{self.answer_label} {answer.strip()}"


def _without_gap_after_questions(parts: Sequence[str], answer_label: str) -> str:
    text = ""
    for part in parts:
        gap = "" if not text else "\n" if part.startswith(answer_label) else "\n\n"
        text += gap + part
    return text
