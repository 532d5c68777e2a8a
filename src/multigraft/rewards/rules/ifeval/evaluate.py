"""One constraint against one response, in one of the three forms."""

from multigraft.rewards.rules.check import Check, Form, fails, holds
from multigraft.rewards.rules.ifeval.kinds import resolve
from multigraft.types import Constraint


def evaluate(constraint: Constraint, response: str, form: Form = "partial") -> Check:
    """Check one constraint.

    Args:
        constraint: its kind and arguments.
        response: the answer.
        form: `loose` passes when any of `loosened(response)` does; the other two check the response as it is.

    Returns:
        The verdict; an empty response follows no instruction.

    Raises:
        InputError: the constraint cannot be checked; `check_constraints` tells earlier.

    Source:
        IFEval (arXiv 2311.07911), section 2 (kinds) and equation 1-2 (strict and loose accuracy). The credit of failures is ours.
    """
    kind, arguments = resolve(constraint)
    if not response.strip():
        return fails(0.0, "empty")
    check = kind.check(response, **arguments)
    if check.passed or form != "loose":
        return check
    for variant in loosened(response)[1:]:
        if variant.strip() and kind.check(variant, **arguments).passed:
            return holds(f"{check.message}; holds loosely")
    return check


def loosened(response: str) -> list[str]:
    """Return the eight forms that the loose check accepts: without first line, last line, both; each of the four as it is and without asterisks."""
    lines = response.split("\n")
    kept = [response] + ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    return kept + [text.replace("*", "") for text in kept]
