"""Whether a response has a final answer, and which: what a vote counts where nothing is known of what is right."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, Literal, TypeAlias

from multigraft.errors import UnknownNameError
from multigraft.rewards.math_form import form as math_form
from multigraft.rewards.math_form import plain as plain_math
from multigraft.rewards.rules.choice import options_of, read_choice
from multigraft.rewards.rules.final_answer import PLACES, final_answer, final_parts, last_number, number_text
from multigraft.rewards.rules.reference import answer_text
from multigraft.rewards.scores import scored
from multigraft.types import Candidate, Prompt, Score

AnswerForm: TypeAlias = Literal["text", "number", "math", "letter"]
_REVISION: Final = 1
"""Raised with every change that may change a score."""


class FinalAnswer:
    r"""Value 1 where a final answer can be read, else 0. It knows nothing of what is right, so it needs no reference; votes count what it reads.

    Args:
        form: what answers look like. `text`: the JSON key "answer", the last `\boxed{}`, the line after `####`, after "answer is", the last line or the whole,
            without regard to case and spaces, up to 200 characters. `number`: the last number. `math`: as the reward `math` reads it, told apart as written,
            without algebra. `letter`: the option of a multiple-choice question.
        choices: letter: field of the prompt's row that lists the texts of the options; where there is none, letters alone are read, A to J.
        max_batch: responses scored without giving way to other tasks; >= 1.
        name: what records know it by.

    Raises:
        UnknownNameError: another form.
        ValueError: a setting out of its range.
    """

    reads_answers: ClassVar[bool] = True

    def __init__(self, *, form: AnswerForm = "text", choices: str = "choices", max_batch: int = 16, name: str = "final_answer") -> None:
        if form not in _READERS:
            what = "form of answers"
            raise UnknownNameError(what, form, _READERS)
        if max_batch < 1:
            message = f"max_batch must be at least 1, not {max_batch}"
            raise ValueError(message)
        self._form, self._choices, self._max_batch, self._name = form, choices, max_batch, name

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision, and what is read."""
        return f"{_REVISION}-{self._form}-{self._choices}" if self._form == "letter" else f"{_REVISION}-{self._form}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch; the value is 0 or 1."""
        return [self._scored(candidate) for candidate in candidates]

    def _scored(self, candidate: Candidate) -> Score:
        found = _READERS[self._form](candidate.prompt, candidate.completion.text, self._choices)
        return scored(0.0, "no final answer found") if found is None else scored(1.0, f"answer {found}", answer=found)


def _text(_prompt: Prompt, response: str, _choices: str) -> str | None:
    return answer_text(final_parts(response))


def _number(_prompt: Prompt, response: str, _choices: str) -> str | None:
    found = last_number(response)
    return None if found is None else number_text(found)


def _math(_prompt: Prompt, response: str, _choices: str) -> str | None:
    found = final_answer(response, PLACES)
    return None if found is None else math_form(found) or plain_math(found) or None


def _letter(prompt: Prompt, response: str, choices: str) -> str | None:
    return read_choice(response, options_of(prompt.fields.get(choices)))


_READERS: Final[Mapping[str, Callable[[Prompt, str, str], str | None]]] = {"text": _text, "number": _number, "math": _math, "letter": _letter}
