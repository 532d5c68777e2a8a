"""What may be maximised: quality, quality less what an answer takes, or the whole front of quality, cost and latency. Caps hold whatever is maximised."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Final, Literal, TypeAlias

from multigraft.errors import BudgetError, InputError, UnknownNameError
from multigraft.graphs.costs import NO_CAPS, Caps, GraphCost
from multigraft.optimize.problem import Evaluation, Objective

CostKind: TypeAlias = Literal["units", "usd", "flops"]

SharedKind: TypeAlias = Literal["units", "usd", "flops", "tokens"]

COST_KINDS: Final[tuple[CostKind, ...]] = ("units", "usd", "flops")
_SHARED_KINDS: Final[tuple[SharedKind, ...]] = ("units", "usd", "flops", "tokens")
_NAMES: Final = ("quality", "latency", "cost", "pareto")


@dataclass(frozen=True, slots=True)
class Quality:
    """The mean score."""

    def utility(self, evaluation: Evaluation) -> float | None:
        """Return the mean score; None while there is none."""
        return evaluation.mean

    def values(self, evaluation: Evaluation) -> tuple[float, ...]:
        """Return the scores."""
        return evaluation.scores


@dataclass(frozen=True, slots=True)
class QualityMinusLatency:
    """Mean score less weighted seconds: u = score - weight * T / reference.

    T is the expected critical path of the graph where it is known (`Evaluation.cost`): one number for all questions, so that the noise of a busy server does
    not enter. Where it is not known, T is what each question measured along the critical path of its nodes' own times.

    Args:
        weight: what `reference_s` seconds are worth in score; >= 0.
        reference_s: > 0.
    """

    weight: float
    reference_s: float

    def __post_init__(self) -> None:
        _check(self.weight, self.reference_s, "reference_s")

    def utility(self, evaluation: Evaluation) -> float | None:
        """Return the mean of the values; None while there is none."""
        return _mean(self.values(evaluation))

    def values(self, evaluation: Evaluation) -> tuple[float, ...]:
        """Return score less weighted seconds, a question each."""
        expected_s = evaluation.cost.latency_s
        factor = self.weight / self.reference_s
        return tuple(trial.score - factor * (trial.latency_s if expected_s is None else expected_s) for trial in evaluation.trials if trial.score is not None)


@dataclass(frozen=True, slots=True)
class QualityMinusCost:
    """Mean score less weighted expected cost: u = score - weight * cost / reference.

    Args:
        weight: what `reference` is worth in score; >= 0.
        reference: in the kind's unit; > 0.
        kind: of cost.
    """

    weight: float
    reference: float
    kind: CostKind = "units"

    def __post_init__(self) -> None:
        _check(self.weight, self.reference, "reference")

    def utility(self, evaluation: Evaluation) -> float | None:
        """Return the mean of the values; None while there is none."""
        return _mean(self.values(evaluation))

    def values(self, evaluation: Evaluation) -> tuple[float, ...]:
        """Return score less weighted cost, a question each.

        Raises:
            BudgetError: the cost in this kind is not known.
        """
        cost: float | None = getattr(evaluation.cost, self.kind)
        if cost is None:
            message = f"the objective takes {self.kind} into account, which are not known of every model; give their sizes or prices, or take another kind"
            raise BudgetError(message)
        loss = self.weight * cost / self.reference
        return tuple(score - loss for score in evaluation.scores)


@dataclass(frozen=True, slots=True)
class ParetoObjective:
    """Quality, where a cheaper or faster graph is worth keeping although it is worse: the archive's front is the result, and its knee the best."""

    def utility(self, evaluation: Evaluation) -> float | None:
        """Return the mean score; None while there is none."""
        return evaluation.mean

    def values(self, evaluation: Evaluation) -> tuple[float, ...]:
        """Return the scores."""
        return evaluation.scores


def parse_objective(text: str, *, caps: Caps = NO_CAPS) -> Objective:
    """Read an objective: `quality`, `latency:0.3`, `latency:0.3:5`, `cost:0.2`, `cost:0.2:units=18` or `pareto`.

    Args:
        text: name, weight and reference; the reference of a latency is in seconds.
        caps: the reference, where the text has none: the cap of the same kind (units before dollars before FLOPs).

    Raises:
        UnknownNameError: no such objective, or kind of cost.
        InputError: a part that cannot be read, or no reference.
    """
    name, *parts = (piece.strip() for piece in text.split(":"))
    if name not in _NAMES:
        what = "objective"
        raise UnknownNameError(what, name, _NAMES)
    if name in {"quality", "pareto"}:
        if parts:
            message = f"objective '{text}': '{name}' takes nothing; write {name}"
            raise InputError(message)
        return Quality() if name == "quality" else ParetoObjective()
    if len(parts) not in {1, 2}:
        example = "latency:0.3 or latency:0.3:5" if name == "latency" else "cost:0.2 or cost:0.2:units=18"
        message = f"objective '{text}': write {example}"
        raise InputError(message)
    weight = _number(text, parts[0])
    if name == "latency":
        reference_s = _number(text, parts[1]) if len(parts) == 2 else caps.latency_s
        if reference_s is None:
            message = f"objective '{text}': how many seconds is the weight for? Write {text}:5 for 5 s, or set a cap of latency"
            raise InputError(message)
        return QualityMinusLatency(weight, _above_zero(text, reference_s))
    kind, reference = _cost_reference(text, parts[1] if len(parts) == 2 else None, caps)
    return QualityMinusCost(weight, _above_zero(text, reference), kind)


def shared_kind(costs: Iterable[GraphCost], caps: Caps = NO_CAPS) -> SharedKind:
    """Choose in which kind costs are compared: the first that is known of all, so that no units of one graph are held against tokens of another.

    Args:
        costs: of the graphs.
        caps: a kind that they limit comes before those that they do not.

    Returns:
        One of units, dollars, FLOPs and tokens; the last are known of every graph.
    """
    compared = tuple(costs)
    kinds = sorted(_SHARED_KINDS, key=lambda kind: getattr(caps, kind, None) is None)
    return next((kind for kind in kinds if all(getattr(cost, kind) is not None for cost in compared)), "tokens")


def cost_in(cost: GraphCost, kind: SharedKind) -> float:
    """Return a cost in a kind that is known of it."""
    value: float = getattr(cost, kind)
    return value


def _cost_reference(text: str, part: str | None, caps: Caps) -> tuple[CostKind, float]:
    if part is None:
        for kind in COST_KINDS:
            cap: float | None = getattr(caps, kind)
            if cap is not None:
                return kind, cap
        message = f"objective '{text}': what cost is the weight for? Write {text}:units=18, or set a cap"
        raise InputError(message)
    named, equals, number = (piece.strip() for piece in part.partition("="))
    if not equals:
        message = f"objective '{text}': '{part}' is no reference; write it like units=18"
        raise InputError(message)
    for kind in COST_KINDS:
        if kind == named:
            return kind, _number(text, number)
    what = "kind of cost"
    raise UnknownNameError(what, named, COST_KINDS)


def _number(text: str, part: str) -> float:
    try:
        value = float(part)
    except ValueError:
        value = float("nan")
    if not isfinite(value) or value < 0:
        message = f"objective '{text}': '{part}' is no number of at least 0"
        raise InputError(message)
    return value


def _above_zero(text: str, reference: float) -> float:
    if reference <= 0:
        message = f"objective '{text}': the reference must be above 0, not {reference:g}"
        raise InputError(message)
    return reference


def _check(weight: float, reference: float, name: str) -> None:
    if not 0 <= weight < float("inf"):
        message = f"weight must be finite and at least 0, not {weight}"
        raise ValueError(message)
    if not 0 < reference < float("inf"):
        message = f"{name} must be finite and above 0, not {reference}"
        raise ValueError(message)


def _mean(values: tuple[float, ...]) -> float | None:
    return sum(values) / len(values) if values else None
