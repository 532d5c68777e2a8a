"""Several scorers as one: their mean, their median, or what most of them say."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum, isfinite
from statistics import median
from typing import Literal, TypeAlias

from multigraft.randomness import key_of
from multigraft.rewards.scores import scored, unscored
from multigraft.types import Candidate, FailureKind, Reward, Score

How: TypeAlias = Literal["mean", "median", "majority"]

_SHOWN_CHARACTERS = 60


class Panel:
    """Value = mean or median of the values of several judges, or 1, 0.5 or 0 as more, as many or fewer of them lie above a threshold than below it.

    A judge without a verdict is left out and named in the message; with fewer verdicts than the quorum there is no score, and the reasons are counted. Each
    response costs what all the judges together cost. Details: the value of each judge, by its name.

    Args:
        judges: at least one, of different names; any rewards will do. Whoever made them starts and closes them.
        how: `mean`, `median` or `majority`.
        threshold: of `majority`; a value that equals it votes neither way.
        quorum: verdicts needed, in [1, number of judges]; None: more than half of the judges.
        name: what records know it by.

    Raises:
        ValueError: no judges, two of one name, or a setting out of range.

    Source:
        Verga et al., "Replacing Judges with Juries" (arXiv 2404.18796): a panel of smaller judges, by mean or by majority.
    """

    revision = 1
    """Raised with every change that may change a score."""

    def __init__(self, *, judges: Sequence[Reward], how: How = "mean", threshold: float = 0.5, quorum: int | None = None, name: str = "panel") -> None:
        names = [judge.name for judge in judges]
        if not names:
            message = f"{name} needs judges: at least one table [[...judges]]"
            raise ValueError(message)
        if repeated := [judge for judge, count in Counter(names).items() if count > 1]:
            message = f"judges of {name} need different names, and {len(names)} of them include '{repeated[0]}' more than once: give each a name = \"...\""
            raise ValueError(message)
        if how not in {"mean", "median", "majority"}:
            message = f"how of {name} must be 'mean', 'median' or 'majority', not {how!r}"
            raise ValueError(message)
        if not isfinite(threshold):
            message = f"threshold of {name} must be a finite number, not {threshold}"
            raise ValueError(message)
        if quorum is not None and not 1 <= quorum <= len(names):
            message = f"quorum of {name} must be 1 to {len(names)}, the number of its judges, not {quorum}"
            raise ValueError(message)
        self._judges = tuple(judges)
        self._how, self._threshold, self._name = how, threshold, name
        self._quorum = len(names) // 2 + 1 if quorum is None else quorum

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision and a digest of the judges and how they are put together."""
        members = repr([(judge.name, judge.version) for judge in self._judges])
        return f"{self.revision}-{key_of(members, self._how, repr(self._threshold), self._quorum):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most: what the narrowest judge takes."""
        return min(judge.max_batch for judge in self._judges)

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Have all judges score the batch, at the same time."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_scores(judge, candidates)) for judge in self._judges]
        columns = {judge.name: task.result() for judge, task in zip(self._judges, tasks, strict=True)}
        return [self._together({name: column[place] for name, column in columns.items()}) for place in range(len(candidates))]

    def _together(self, scores: Mapping[str, Score]) -> Score:
        values = {name: score.value for name, score in scores.items() if score.value is not None}
        missing = {name: score for name, score in scores.items() if score.value is None}
        without = "; ".join(f"{name}: {score.reason}, {score.message[:_SHOWN_CHARACTERS]}" for name, score in missing.items())
        said = f"{len(values)} of {len(scores)} judges" + (f"; without {without}" if missing else "")
        if len(values) < self._quorum:
            counted = ", ".join(f"{count} {reason}" for reason, count in Counter(str(score.reason) for score in missing.values()).items())
            # What may pass decides whether to ask again: one judge more may be all that lacks.
            told = max(missing.values(), key=lambda score: score.retryable)
            message = f"{len(values)} of {len(scores)} judges gave a verdict, {self._quorum} are needed ({counted}); {without}"
            return unscored(told.reason or FailureKind.INVALID_SCORE, message, retryable=told.retryable)
        return scored(self._value(list(values.values())), said, truncated=any(scores[name].truncated for name in values), details=values)

    def _value(self, values: Sequence[float]) -> float:
        if self._how == "mean":
            return fsum(values) / len(values)
        if self._how == "median":
            return median(values)
        votes = sum((value > self._threshold) - (value < self._threshold) for value in values)
        return 0.5 if votes == 0 else float(votes > 0)


async def _scores(judge: Reward, candidates: Sequence[Candidate]) -> Sequence[Score]:
    scores = await judge.score(candidates)
    if len(scores) != len(candidates):
        return [unscored(FailureKind.INVALID_SCORE, f"{judge.name} returned {len(scores)} scores for {len(candidates)} responses")] * len(candidates)
    return [score if score.value is None or isfinite(score.value) else unscored(FailureKind.INVALID_SCORE, f"the score is {score.value}") for score in scores]
