"""The answer against the known right one."""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from multigraft.rewards.rules.check import Check, Form, verdict
from multigraft.rewards.rules.final_answer import as_number, final_parts, last_number, number_text
from multigraft.types import Prompt

_SPACES = re.compile(r"\s+")
_SPACE_AT_MARK = re.compile(r"\s?([,;:()\[\]{}])\s?")
_LONGEST_ANSWER = 200
_EDGES = " \t.,;:!?*_`\"'()$"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactNumber:
    r"""The last number of the answer equals the reference, which must be a number; does not apply to a prompt without one.

    Args:
        tolerance: how far apart the two may be, absolute; "0" means equal, and 2.50 equals 2.5.
    """

    reads_answers: ClassVar[bool] = True

    tolerance: str = "0"

    def __post_init__(self) -> None:
        number = as_number(self.tolerance)
        if number is None or number < 0:
            message = f"tolerance must be a number of at least 0, not {self.tolerance!r}"
            raise ValueError(message)

    def check(self, prompt: Prompt, response: str) -> Check | None:
        """Compare the two numbers."""
        wanted = None if prompt.reference is None else as_number(prompt.reference)
        if wanted is None:
            return None
        found = last_number(response)
        passed = found is not None and abs(found - wanted) <= Decimal(self.tolerance)
        return verdict(f"answer {found}, reference {wanted}", passed=passed, credit=0.0, answer=None if found is None else number_text(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    r"""The final answer equals the reference: as a number where the reference is one, else as text; does not apply to a prompt without one.

    Texts are compared without regard to case, spaces, quotes and marks at their ends. What counts as the final answer: the JSON key
    "answer", the last `\boxed{}`, the line after `####`, after "answer is", the last line, or the whole.

    Args:
        form: `partial` gives a half where the reference stands in the answer as a phrase of its own, but not as the final answer; the other two give nothing.
    """

    reads_answers: ClassVar[bool] = True

    form: Form = "partial"

    def check(self, prompt: Prompt, response: str) -> Check | None:
        """Compare the final answer with the reference."""
        if prompt.reference is None:
            return None
        if (number := ExactNumber().check(prompt, response)) is not None:
            return number
        wanted = _plain(prompt.reference)
        # A reference of marks alone, such as "?!", is compared as it stands.
        parts = final_parts(response)
        equal = any(_plain(part) == wanted if wanted else part.strip() == prompt.reference.strip() for part in parts)
        contained = self.form == "partial" and wanted != "" and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", _plain(response)) is not None
        message = f"answer {'equals' if equal else 'differs from'} the reference"
        return verdict(message, passed=equal, credit=0.5 if contained else 0.0, answer=answer_text(parts))


def answer_text(parts: list[str]) -> str | None:
    """Return the most explicit part, unless it is so long that it is no answer but a text."""
    answer = _plain(parts[0])
    return answer if answer and len(answer) <= _LONGEST_ANSWER else None


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SPACE_AT_MARK.sub(r"\1", _SPACES.sub(" ", folded)).strip(_EDGES)
