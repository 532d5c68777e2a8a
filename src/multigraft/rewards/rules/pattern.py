"""A pattern of the run file that an answer must match."""

from dataclasses import dataclass, field

import regex

from multigraft.rewards.rules.check import Check, verdict
from multigraft.types import Prompt

LONGEST_SEARCH_S = 1.0
"""A pattern with a repeat inside a repeat, such as `(a|aa)+$`, would take for ever on a text that nearly matches, and models write such texts."""


class PatternTimeoutError(Exception):
    """A search took too long; the response has no verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """The pattern occurs in the answer; applies to every prompt.

    Args:
        pattern: a regular expression of the `regex` library, which takes all that the standard library does; `(?s)` lets a dot match line ends.
        ignore_case: whether case matters not.
        wanted: whether it must occur, or must not.

    Raises:
        ValueError: not a regular expression.
    """

    pattern: str
    ignore_case: bool = False
    wanted: bool = True
    _compiled: "regex.Pattern[str]" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            compiled = regex.compile(self.pattern, regex.MULTILINE | (regex.IGNORECASE if self.ignore_case else 0))
        except regex.error as error:
            message = f"pattern {self.pattern!r} is no regular expression: {error}"
            raise ValueError(message) from error
        object.__setattr__(self, "_compiled", compiled)

    def check(self, prompt: Prompt, response: str) -> Check:  # noqa: ARG002  # the contract of a rule
        """Look for the pattern.

        Raises:
            PatternTimeoutError: the search took longer than `LONGEST_SEARCH_S`.
        """
        try:
            found = self._compiled.search(response, timeout=LONGEST_SEARCH_S) is not None
        except TimeoutError as error:
            message = f"pattern {self.pattern!r} took longer than {LONGEST_SEARCH_S:g} s on this response; write it without a repeat inside a repeat"
            raise PatternTimeoutError(message) from error
        return verdict(f"pattern {self.pattern!r} {'found' if found else 'not found'}", passed=found is self.wanted, credit=0.0)
