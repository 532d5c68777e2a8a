"""Rules put together into a reward: the mean of those that apply, times a gate."""

from collections.abc import Sequence

from multigraft.errors import InputError
from multigraft.randomness import key_of
from multigraft.rewards.rules.constraints import Constraints
from multigraft.rewards.rules.minimum_content import MinimumContent
from multigraft.rewards.rules.pattern import PatternTimeoutError
from multigraft.rewards.rules.reference import Reference
from multigraft.rewards.rules.rule import Rule
from multigraft.rewards.scores import scored, unscored
from multigraft.types import Candidate, FailureKind, Prompt, Score

_REVISION = 3
"""Raised with every change of a rule that may change a score."""


class Rules:
    """Scores without any model. It computes on the spot: a few milliseconds a response, half a second more when a language is first detected.

    Args:
        rules: the value is the mean of the credits of those that apply to the prompt; at least one.
        gate: multiplies the value; None: no gate.
        name: what records know it by.
        max_batch: responses scored without giving way to other tasks; >= 1.

    Raises:
        ValueError: no rule, or a setting out of its range.
    """

    def __init__(
        self,
        *,
        rules: Sequence[Rule] = (Constraints(), Reference()),
        gate: Rule | None = MinimumContent(),  # noqa: B008  # frozen
        name: str = "rules",
        max_batch: int = 4,
    ) -> None:
        if not rules or max_batch < 1:
            message = f"rules needs at least one rule and a max_batch of at least 1, not {list(rules)} and {max_batch}"
            raise ValueError(message)
        self._rules = tuple(rules)
        self._gate = gate
        self._name = name
        self._max_batch = max_batch

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision of the rules and a digest of their settings."""
        return f"{_REVISION}-{key_of(repr(self._rules), repr(self._gate)):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    @property
    def reads_answers(self) -> bool:
        """Whether any rule reads final answers, of prompts that it applies to."""
        return any(getattr(rule, "reads_answers", False) for rule in self._rules)

    def applies_to(self, prompt: Prompt) -> bool:
        """Whether any rule has something to check of a prompt; otherwise no response to it gets a score."""
        try:
            return any(rule.check(prompt, "") is not None for rule in self._rules)
        except (InputError, PatternTimeoutError):
            return True  # it applies, and says what is wrong with its constraint when it scores

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch; the value is in [0, 1]."""
        return [self.score_text(candidate.prompt, candidate.completion.text) for candidate in candidates]

    def score_text(self, prompt: Prompt, response: str) -> Score:
        """Score one response.

        Args:
            prompt: what was asked.
            response: the answer, without reasoning.

        Returns:
            A value in [0, 1], with the answer that the first of the rules read that reads one; unscorable when no rule applies, or when a constraint is not one
            that can be checked.
        """
        try:
            checks = [check for rule in self._rules if (check := rule.check(prompt, response)) is not None]
        except (InputError, PatternTimeoutError) as error:
            return unscored(FailureKind.UNSCORABLE, str(error))
        if not checks:
            return unscored(
                FailureKind.UNSCORABLE, "the prompt has neither constraints nor a reference: add them to its row, or name a rule that needs neither"
            )
        value = sum(check.credit for check in checks) / len(checks)
        messages = [check.message for check in checks]
        gate = None if self._gate is None else self._gate.check(prompt, response)
        if gate is not None and not gate.passed:
            value *= gate.credit
            messages.append(gate.message)
        return scored(value, "; ".join(messages), answer=next((check.answer for check in checks if check.answer is not None), None))
