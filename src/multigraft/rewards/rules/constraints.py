"""The constraints of a prompt, all together."""

from dataclasses import dataclass
from typing import Literal

from multigraft.rewards.rules.check import Check, Form, verdict
from multigraft.rewards.rules.ifeval.evaluate import evaluate
from multigraft.types import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """How well a response keeps the constraints of its prompt; does not apply to a prompt without any.

    Args:
        form: what one constraint counts: its partial credit, or 0 and 1 by the strict or loose form.
        gather: `mean` over the constraints (IFEval's instruction level), or `all`: 1 only when every one holds (its prompt level), else 0.
    """

    form: Form = "partial"
    gather: Literal["mean", "all"] = "mean"

    def check(self, prompt: Prompt, response: str) -> Check | None:
        """Check every constraint of the prompt."""
        if not prompt.constraints:
            return None
        checks = [evaluate(constraint, response, self.form) for constraint in prompt.constraints]
        failed = [f"{constraint.kind} ({check.message})" for constraint, check in zip(prompt.constraints, checks, strict=True) if not check.passed]
        message = f"{len(checks) - len(failed)} of {len(checks)} constraints hold" + (f"; failed: {'; '.join(failed)}" if failed else "")
        if self.gather == "all":
            return verdict(message, passed=not failed, credit=0.0)
        values = [check.credit if self.form == "partial" else float(check.passed) for check in checks]
        return verdict(message, passed=not failed, credit=sum(values) / len(values))
