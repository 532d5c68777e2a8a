"""A pattern of the run file that an answer must match."""

import re
from dataclasses import dataclass, field

from multigraft.rewards.rules.check import Check, verdict
from multigraft.types import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """The pattern occurs in the answer; applies to every prompt.

    Python's matcher has no time limit, and a pattern with a repeat inside a repeat, such as `(a+)+b`, can take for ever on a text that nearly matches. So only
    a part of a long answer is looked at, which keeps patterns whose time grows with the square of the length bearable; patterns that explode must not be used.

    Args:
        pattern: a regular expression of the standard library; `(?s)` lets a dot match line ends.
        ignore_case: whether case matters not.
        wanted: whether it must occur, or must not.
        max_characters: how much of the end of an answer is looked at; >= 1.

    Raises:
        ValueError: not a regular expression.
    """

    pattern: str
    ignore_case: bool = False
    wanted: bool = True
    max_characters: int = 20_000
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.max_characters < 1:
            message = f"max_characters must be at least 1, not {self.max_characters}"
            raise ValueError(message)
        try:
            compiled = re.compile(self.pattern, re.MULTILINE | (re.IGNORECASE if self.ignore_case else 0))
        except re.error as error:
            message = f"pattern {self.pattern!r} is no regular expression: {error}"
            raise ValueError(message) from error
        object.__setattr__(self, "_compiled", compiled)

    def check(self, prompt: Prompt, response: str) -> Check:  # noqa: ARG002  # the contract of a rule
        """Look for the pattern."""
        found = self._compiled.search(response[-self.max_characters :]) is not None
        where = f" in the last {self.max_characters} characters" if len(response) > self.max_characters else ""
        return verdict(f"pattern {self.pattern!r} {'found' if found else 'not found'}{where}", passed=found is self.wanted, credit=0.0)
