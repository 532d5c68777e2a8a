"""A window for the length of an answer."""

import re
from dataclasses import dataclass
from typing import Literal

from multigraft.rewards.rules.check import Check, verdict
from multigraft.types import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthWindow:
    """The answer is neither shorter nor longer than wanted; applies to every prompt. Credit of a failure: the smaller over the larger of length and bound.

    Args:
        minimum: >= 0.
        maximum: >= minimum and >= 1; None: no upper bound.
        unit: what is counted; a word is a run of letters, digits and underscores.

    Raises:
        ValueError: bounds that leave nothing between them.
    """

    minimum: int = 0
    maximum: int | None = None
    unit: Literal["characters", "words"] = "words"

    def __post_init__(self) -> None:
        if self.minimum < 0 or (self.maximum is not None and self.maximum < max(self.minimum, 1)):
            message = f"a length window needs 0 <= minimum <= maximum and a maximum of at least 1, not {self.minimum} to {self.maximum}"
            raise ValueError(message)

    def check(self, prompt: Prompt, response: str) -> Check:  # noqa: ARG002  # the contract of a rule
        """Measure the answer."""
        text = response.strip()
        length = len(text) if self.unit == "characters" else len(re.findall(r"\w+", text))
        message = f"{length} {self.unit}, wanted {self.minimum} to {'any' if self.maximum is None else self.maximum}"
        if length < self.minimum:
            return verdict(message, passed=False, credit=length / self.minimum)
        if self.maximum is not None and length > self.maximum:
            return verdict(message, passed=False, credit=self.maximum / length)
        return verdict(message, passed=True, credit=1.0)
