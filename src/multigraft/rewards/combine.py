"""Several scores of one response made into the one value that guides a run. Pure, and the same when replayed in the order of the record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from multigraft.knowledge import Knowledge
from multigraft.rewards.scores import scored, unscored
from multigraft.types import FailureKind, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One reward within a combination.

    Args:
        name: of the reward.
        weight: finite and not 0; negative for something to be kept low.
        normalise: `none`: the raw value. `run`: how many standard deviations it lies above the mean of all values this reward gave in the run so far.
            `model`: the same among the responses of the model that wrote it, for rewards that favour a model as such (`confidence`).
        optional: whether a response without this score still gets a value.

    Raises:
        ValueError: a weight of 0 or not finite.
    """

    name: str
    weight: float = 1.0
    normalise: Literal["none", "run", "model"] = "none"
    optional: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < abs(self.weight) < float("inf"):
            message = f"weight of reward '{self.name}' must be finite and not 0, not {self.weight}"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """How the parts become one value, each normalised first.

    `sum`: the sum of weight x normalised value; not divided by the weights. With `run` or `model` a part adds 0 for a response at the mean of what was seen and
    its weight for one a standard deviation above; while fewer than two different values were seen it adds 0. A missing optional part adds weight x mean seen,
    which is 0 where it is normalised.
    `min`: the least normalised value: a response is as good as its worst side. Weights other than 1 have no meaning and are refused.
    `lower_bound`: weighted mean less `deviations` x weighted standard deviation (of the population) over the parts: what an ensemble of scorers agrees on.
    In the latter two, missing optional parts are left out.

    Args:
        parts: at least one; names distinct.
        how: see above.
        deviations: k of `lower_bound`, >= 0.
        allow_truncated: whether a score counts whose scorer saw only a part of the response; otherwise it is missing.

    Raises:
        ValueError: no parts, a name twice, or settings that do not go together.

    Source:
        `lower_bound`: Coste et al., "Reward Model Ensembles Help Mitigate Overoptimization" (arXiv 2310.02743), section 3, with the deviation in place of the
        variance, so that it does not depend on the unit of the rewards.
    """

    parts: tuple[Part, ...]
    how: Literal["sum", "min", "lower_bound"] = "sum"
    deviations: float = 1.0
    allow_truncated: bool = False

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        if not names or len(set(names)) != len(names):
            message = f"a combination needs at least one reward, each named once, not {names}"
            raise ValueError(message)
        if self.how == "min" and any(part.weight != 1.0 for part in self.parts):
            message = "'min' takes no weights: leave them out, or combine by 'sum'"
            raise ValueError(message)
        if self.how == "lower_bound" and (not 0.0 <= self.deviations < float("inf") or any(part.weight < 0 for part in self.parts)):
            message = f"'lower_bound' takes weights above 0 and deviations of at least 0, not {self.deviations}"
            raise ValueError(message)

    def learn(self, raw: Mapping[str, Score], model: str, knowledge: Knowledge) -> None:
        """Take the raw values of one response into what the run knows; called once for each response, in the order of the record, before `value`.

        Args:
            raw: score by name of the reward.
            model: that wrote the response.
            knowledge: of the run; changed.
        """
        for part in self.parts:
            score = raw.get(part.name)
            if score is not None and score.value is not None:
                knowledge.add(_of_run(part), score.value)
                knowledge.add(_of_model(part, model), score.value)

    def value(self, raw: Mapping[str, Score], model: str, knowledge: Knowledge) -> Score:
        """Combine the scores of one response.

        Args:
            raw: score by name of the reward.
            model: that wrote the response.
            knowledge: of the run, this response included.

        Returns:
            A finite value; or none, with the reason of the first part that is missing and not optional. It may be scored again when any missing part may, and
            counts as truncated when any part does.
        """
        scores = {part.name: self._sound(raw.get(part.name), part) for part in self.parts}
        retryable = any(score.value is None and score.retryable for score in scores.values())
        missing = [part for part in self.parts if scores[part.name].value is None]
        required = [part for part in missing if not part.optional]
        if required or len(missing) == len(self.parts):
            first = scores[(required or missing)[0].name]
            message = f"{(required or missing)[0].name}: {first.message}"
            return unscored(first.reason or FailureKind.UNSCORABLE, message, retryable=retryable)
        values = {part: _normalised(part, value, model, knowledge) for part in self.parts if (value := scores[part.name].value) is not None}
        if self.how == "sum":
            values |= {part: _average(part, knowledge) for part in missing}
        message = ", ".join(f"{part.name} {value:.4g}" for part, value in values.items()) if len(self.parts) > 1 else scores[self.parts[0].name].message
        return scored(self._combined(values), message, truncated=any(score.truncated for score in scores.values()))

    def _sound(self, score: Score | None, part: Part) -> Score:
        if score is None:
            return unscored(FailureKind.UNSCORABLE, f"reward '{part.name}' gave no score")
        if score.value is None:
            return score
        if score.truncated and not self.allow_truncated:
            return unscored(FailureKind.PARTLY_SCORED, "only a part of the response was seen")
        # Scores may come from a plug-in that forgot to look; a value that is not finite must not reach any comparison.
        return scored(score.value, score.message, truncated=score.truncated)

    def _combined(self, values: Mapping[Part, float]) -> float:
        if self.how == "sum":
            return sum(part.weight * value for part, value in values.items())
        if self.how == "min":
            return min(values.values())
        total = sum(part.weight for part in values)
        mean = sum(part.weight * value for part, value in values.items()) / total
        # Multiplied and not raised to a power, which fails where a product is infinite; that is no score then.
        variance = sum(part.weight * (value - mean) * (value - mean) for part, value in values.items()) / total
        return mean - self.deviations * sqrt(variance)


def alone(name: str, *, normalise: Literal["none", "run", "model"] = "none") -> Combination:
    """Return the combination of a single reward: its raw value unless it is to be normalised."""
    return Combination(parts=(Part(name=name, normalise=normalise),))


def names(combination: Combination) -> Sequence[str]:
    """Return the names of the rewards a combination needs, in its order."""
    return [part.name for part in combination.parts]


def _of_run(part: Part) -> str:
    return f"part:{part.name}"


def _of_model(part: Part, model: str) -> str:
    return f"part:{part.name}:{model}"


def _normalised(part: Part, value: float, model: str, knowledge: Knowledge) -> float:
    if part.normalise == "run":
        return knowledge.of(_of_run(part)).standardised(value)
    if part.normalise == "model":
        return knowledge.of(_of_model(part, model)).standardised(value)
    return value


def _average(part: Part, knowledge: Knowledge) -> float:
    return knowledge.of(_of_run(part)).mean if part.normalise == "none" else 0.0
