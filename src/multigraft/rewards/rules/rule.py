"""The contract of a rule: frozen settings and one pure function. A rule that has nothing to say of a prompt returns None."""

from typing import Protocol

from multigraft.rewards.rules.check import Check
from multigraft.types import Prompt


class Rule(Protocol):
    """One way to check a response. Its `repr` shows every setting, as versions of rewards are made of it."""

    def check(self, prompt: Prompt, response: str) -> Check | None:
        """Check a response to a prompt.

        Args:
            prompt: what was asked, with its constraints and reference.
            response: the answer, without reasoning.

        Returns:
            The verdict; its credit is what counts. None when the rule does not apply to this prompt.
        """
        ...
