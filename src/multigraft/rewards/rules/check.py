"""What one rule says of one response, and the arithmetic of counts against bounds."""

from typing import Literal, NamedTuple, TypeAlias

Relation: TypeAlias = Literal["at least", "less than"]
Form: TypeAlias = Literal["partial", "strict", "loose"]
"""`strict`: 1 where the rule holds, else 0. `loose`: the same, after one of some slight changes to the response. `partial`: the credit."""

_BEST_FAILURE = 0.99


class Check(NamedTuple):
    """The verdict of one rule."""

    passed: bool
    credit: float
    """[0, 1]; 1 exactly when passed, below that how near it came."""
    message: str
    """For people; short."""
    answer: str | None = None
    """What the rule read as the final answer, written so that equal answers are equal texts; None: it reads none, or found none."""


def holds(message: str) -> Check:
    """Return the verdict of a rule that holds."""
    return Check(passed=True, credit=1.0, message=message)


def fails(credit: float, message: str) -> Check:
    """Return the verdict of a rule that does not hold; a failure never has full credit."""
    return Check(passed=False, credit=min(max(credit, 0.0), _BEST_FAILURE), message=message)


def verdict(message: str, *, passed: bool, credit: float, answer: str | None = None) -> Check:
    """Return the verdict, with `credit` where the rule does not hold and the `answer` that was read."""
    return (holds(message) if passed else fails(credit, message))._replace(answer=answer)


def compare(count: int, relation: Relation, bound: int, unit: str) -> Check:
    """Hold a count against a bound.

    Args:
        count: what was counted, >= 0.
        relation: "at least" or "less than" the bound.
        bound: >= 0.
        unit: what was counted, for the message.

    Returns:
        Credit of a failure: `count / bound` when too few, `bound / (count + 1)` when too many; both reach 1 where the rule holds.
    """
    message = f"{count} {unit}, wanted {relation} {bound}"
    if relation == "at least":
        return verdict(message, passed=count >= bound, credit=count / bound if bound else 1.0)
    return verdict(message, passed=count < bound, credit=bound / (count + 1))


def exactly(count: int, wanted: int, unit: str) -> Check:
    """Hold a count against an exact number; credit of a failure: the smaller over the larger of the two."""
    return verdict(f"{count} {unit}, wanted exactly {wanted}", passed=count == wanted, credit=min(count, wanted) / max(count, wanted, 1))
