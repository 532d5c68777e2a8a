"""A rubric: one grade for each of several criteria, written out."""

from collections.abc import Mapping
from math import fsum, isfinite

from multigraft.rewards.judges.base import Judge
from multigraft.rewards.judges.grades import check_scale
from multigraft.rewards.judges.rubric_reply import Reading, criterion_key, read_rubric
from multigraft.rewards.judges.wording import check_template, default_template
from multigraft.rewards.scores import scored, unscored
from multigraft.types import Ask, Completion, FailureKind, Sampling, Score

TEMPLATE = default_template("rubric")


class RubricJudge(Judge):
    """Value = sum over criteria of weight x (grade - low) / (high - low), divided by the sum of the weights; in [0, 1].

    The judge writes a line `criterion: number` for each criterion, or one JSON object and nothing else. One criterion without a readable grade leaves the whole
    response without a score. One call a response. Details: the grade by each criterion.

    Args:
        ask: how the model is reached.
        criteria: what each criterion means, by its name; at least one.
        weights: how much each counts, by name, >= 0; those not named count 1.
        scale: the lowest and the highest grade; a grade outside is no grade.
        template: as for every judge, with the place `{criteria}`; `{low}` and `{high}` are the ends of the scale, `{form}` the lines to be filled in.
        temperature: of the judge.
        max_tokens: of its reply; a grade cut off by it is no grade.
        name: what records know it by.
        identity: of the judge model, part of the version.
        max_batch: responses judged at once; >= 1.

    Raises:
        ValueError: no criteria, names that cannot be told apart, a weight that is none, or a scale whose ends are not in order.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        criteria: Mapping[str, str],
        weights: Mapping[str, float] | None = None,
        scale: tuple[int, int] = (1, 5),
        template: str = TEMPLATE,
        temperature: float = 0.0,
        max_tokens: int = 256,
        name: str = "rubric",
        identity: str = "",
        max_batch: int = 16,
    ) -> None:
        sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
        super().__init__(ask, template=template, sampling=sampling, name=name, identity=identity, max_batch=max_batch)
        check_template(template, {"criteria"}, name)
        self._low, self._high = check_scale(scale, name)
        self._criteria = _checked_criteria(criteria, name)
        self._weights = _checked_weights({} if weights is None else weights, self._criteria, name)

    def _settings(self) -> str:
        return repr((self._low, self._high, list(self._criteria.items()), list(self._weights.items())))

    def _places(self) -> dict[str, str]:
        return {
            "low": str(self._low),
            "high": str(self._high),
            "criteria": "\n".join(f"- {criterion}: {meaning}" for criterion, meaning in self._criteria.items()),
            "form": "\n".join(f"{criterion}: <number>" for criterion in self._criteria),
        }

    def _read(self, reply: Completion) -> Score:
        reading: Reading = read_rubric(reply, tuple(self._criteria), (self._low, self._high))
        if reading.problems:
            first = next(iter(reading.problems.items()))
            message = f"{len(reading.grades)} of {len(self._criteria)} criteria have a readable grade; {first[0]}: {first[1]}"
            return unscored(FailureKind.UNREADABLE, message)
        width = self._high - self._low
        value = fsum(weight * (reading.grades[criterion] - self._low) / width for criterion, weight in self._weights.items()) / fsum(self._weights.values())
        said = ", ".join(f"{criterion} {grade:g}" for criterion, grade in reading.grades.items())
        return scored(value, f"{said} of {self._low} to {self._high}", details=reading.grades)


def _checked_criteria(criteria: object, name: str) -> dict[str, str]:
    if not isinstance(criteria, Mapping) or not criteria:
        message = f'{name} needs criteria, such as criteria = {{ correct = "Is what it says true?" }}, not {criteria!r}'
        raise ValueError(message)
    checked: dict[str, str] = {}
    for criterion, meaning in criteria.items():
        if not criterion_key(criterion) or any(sign in criterion for sign in ":=|\r\n"):
            message = f"a criterion of {name} needs a name of letters or digits without ':', '=', '|' and line ends, not {criterion!r}"
            raise ValueError(message)
        if not isinstance(meaning, str):
            message = f"criterion {criterion} of {name} needs a text that says what it means, not {meaning!r}"
            raise ValueError(message)  # noqa: TRY004 - a mistake of a run file, whatever its type, is a bad value
        checked[criterion] = meaning
    if len(set(map(criterion_key, checked))) < len(checked):
        message = f"criteria of {name} must differ in more than case and signs: {', '.join(checked)}"
        raise ValueError(message)
    return checked


def _checked_weights(weights: object, criteria: Mapping[str, str], name: str) -> dict[str, float]:
    if not isinstance(weights, Mapping):
        message = f"weights of {name} must be a table of criteria, such as weights = {{ {next(iter(criteria))} = 2 }}, not {weights!r}"
        raise ValueError(message)  # noqa: TRY004 - a mistake of a run file, whatever its type, is a bad value
    checked = dict.fromkeys(criteria, 1.0)
    for criterion, weight in weights.items():
        if criterion not in criteria:
            message = f"weights of {name} name {criterion!r}, which is none of the criteria {', '.join(criteria)}"
            raise ValueError(message)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not isfinite(weight) or weight < 0:
            message = f"the weight of {criterion} in {name} must be a number of at least 0, not {weight!r}"
            raise ValueError(message)
        checked[criterion] = float(weight)
    if fsum(checked.values()) <= 0.0:
        message = f"the weights of {name} are all 0: give at least one criterion a weight above 0"
        raise ValueError(message)
    return checked
