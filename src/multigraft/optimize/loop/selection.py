"""Who is compared with whom, who is worth validating, and who becomes the incumbent: by utility, or on the front of quality, cost and latency."""

from collections.abc import Sequence
from math import inf
from typing import Protocol

from multigraft.optimize.loop.archive import Archive, Change, Entry, point_of, utility_of
from multigraft.optimize.loop.objectives import ParetoObjective
from multigraft.optimize.loop.paired import LEVEL, Paired, is_worse, paired, spent_level, standard_error
from multigraft.optimize.loop.pareto import front_of
from multigraft.optimize.problem import Evaluation, Objective, Split

EQUAL = 1e-9
"""Utilities closer than this are the same."""


class Aligned:
    """Two evaluations on the questions that both have a score on.

    Args:
        objective: whose values are compared.
        one: any.
        other: of the same split.
    """

    __slots__ = ("one", "other", "shift")

    def __init__(self, objective: Objective, one: Evaluation, other: Evaluation) -> None:
        mine, theirs = _by_question(objective, one), _by_question(objective, other)
        common = [question for question in mine if question in theirs]
        pairs_one, pairs_other = [mine[question] for question in common], [theirs[question] for question in common]
        loss_one, loss_other = ({round(score - value, 12) for score, value in pairs} for pairs in (pairs_one, pairs_other))
        # A loss that is the same on all questions is known; what is uncertain are the scores.
        constant = len(loss_one) == 1 and len(loss_other) == 1
        self.shift = loss_other.pop() - loss_one.pop() if constant else 0.0
        place = 0 if constant else 1
        self.one = [pair[place] for pair in pairs_one]
        self.other = [pair[place] for pair in pairs_other]

    @property
    def difference(self) -> float | None:
        """Mean utility of the first less that of the second; None: no common question."""
        return (sum(self.one) - sum(self.other)) / len(self.one) + self.shift if self.one else None

    def paired(self, level: float) -> Paired | None:
        """Compare them at a two-sided level; None: no common question."""
        return paired(self.one, self.other, level=level, shift=self.shift) if self.one else None

    def first_is_worse(self, level: float) -> bool:
        """Whether the first is worse, at a one-sided level."""
        return bool(self.one) and is_worse(self.one, self.other, level=level, shift=self.shift)

    def standard_error(self) -> float:
        """Return the standard error of the difference."""
        return standard_error(self.one, self.other) if self.one else 0.0


class Selection(Protocol):
    """How an objective chooses."""

    def rival_of(self, archive: Archive, entry: Entry, together: Sequence[Entry], split: Split) -> Entry | None:
        """Return the entry that this one must not be worse than on a split, to be asked more; None: none."""
        ...

    def deserving(self, archive: Archive, trained: Sequence[Entry]) -> list[Entry]:
        """Return those of the newly trained entries that are worth validating."""
        ...

    def settle(self, archive: Archive, validated: Sequence[Entry]) -> bool:
        """Let newly validated entries take their places; whether the best has changed for the better."""
        ...


def selection_of(objective: Objective) -> Selection:
    """Return how an objective chooses."""
    return ByFront() if isinstance(objective, ParetoObjective) else ByUtility()


class ByUtility:
    """One number decides.

    **Rival:** the incumbent; while there is none, the entry of the same batch that is ahead.

    **Worth validating:** who in training is at most one standard error of the paired difference behind the best trained entry (the one-standard-error rule,
    Breiman et al., Classification and Regression Trees, 1984, section 3.4.3). Of two with the same training scores, the dearer one is not.

    **Incumbent:** whose mean utility in validation is higher on the questions that both have a score on; of equal ones, the cheaper. An entry with scores on
    fewer than half of its validation questions cannot become the incumbent.
    """

    def rival_of(self, archive: Archive, entry: Entry, together: Sequence[Entry], split: Split) -> Entry | None:
        """Return the incumbent, or the one ahead in the batch."""
        if archive.incumbent is not None:
            rival = archive.entries[archive.incumbent]
        else:
            rival = max(together, key=lambda other: (utility_or(archive.objective, other.on(split)), -other.number))
        return None if rival.number == entry.number else rival

    def deserving(self, archive: Archive, trained: Sequence[Entry]) -> list[Entry]:
        """Return those within one standard error of the best in training."""
        objective = archive.objective
        known = [entry for entry in archive.entries if entry.trained and utility_of(objective, entry.train) is not None]
        if not known:
            return []
        best = min(known, key=lambda entry: (-round(utility_or(objective, entry.train), 9), *price_of(entry), entry.number))
        return [entry for entry in trained if entry.number == best.number or _is_close(objective, entry, best)]

    def settle(self, archive: Archive, validated: Sequence[Entry]) -> bool:
        """Let each challenge the incumbent, the best first."""
        before = archive.incumbent
        for entry in sorted(validated, key=lambda entry: (-utility_or(archive.objective, entry.validation), *price_of(entry), entry.number)):
            _challenge(archive, entry)
        return archive.incumbent != before


class ByFront:
    """Quality, cost and latency count, none against another.

    **Rival:** the trained entry of highest quality among those that are neither dearer nor slower: who is worse than it can be left out without loss.

    **Worth validating:** who is on the front of the trained entries.

    **Incumbent:** the knee of the front of the validated entries. It counts as better when a new entry joins the front.
    """

    def rival_of(self, archive: Archive, entry: Entry, together: Sequence[Entry], split: Split) -> Entry | None:  # noqa: ARG002 - the contract's
        """Return the best of those that take no more of anything."""
        kind = archive.cost_kind
        takes = point_of(entry, kind)[1:]
        cheaper = [
            other
            for other in archive.entries
            if other.number != entry.number and (other.trained if split == "train" else other.validated) and _takes_no_more(point_of(other, kind)[1:], takes)
        ]
        return max(cheaper, key=lambda other: (utility_or(archive.objective, other.on(split)), -other.number), default=None)

    def deserving(self, archive: Archive, trained: Sequence[Entry]) -> list[Entry]:
        """Return those on the front in training."""
        known = [entry for entry in archive.entries if entry.trained and entry.train.scores]
        kind = archive.cost_kind
        points = [point_of(entry, kind)._replace(quality=entry.train.mean or 0.0) for entry in known]
        numbers = {known[place].number for place in front_of(points)}
        return [entry for entry in trained if entry.number in numbers]

    def settle(self, archive: Archive, validated: Sequence[Entry]) -> bool:
        """Find the knee again."""
        front = {entry.number for entry in archive.front()}
        joined = any(entry.number in front for entry in validated)
        knee, previous = archive.knee(), archive.incumbent
        archive.num_challenges += len(validated)
        if knee is not None and knee.number != previous:
            _crown(archive, knee, _against(archive, knee, previous, LEVEL / max(archive.num_challenges, 1)))
        return joined


def is_worse_than(objective: Objective, entry: Entry, rival: Entry, split: Split, level: float) -> bool:
    """Whether an entry is worse than another on the questions of a split that both have a score on, at a one-sided level in (0, 0.5)."""
    mine, theirs = entry.on(split), rival.on(split)
    return mine is not None and theirs is not None and Aligned(objective, mine, theirs).first_is_worse(level)


def price_of(entry: Entry) -> tuple[float, float, float, int]:
    """Return what orders entries of equal utility, the cheaper first: units, dollars, calls, nodes. What is not known comes last."""
    cost = entry.cost
    return (_rounded(cost.units), _rounded(cost.usd), float(cost.calls), len(entry.graph.nodes))


def utility_or(objective: Objective, evaluation: Evaluation | None) -> float:
    """Return the utility, or minus infinity where there is none."""
    utility = utility_of(objective, evaluation)
    return -inf if utility is None else utility


def _challenge(archive: Archive, entry: Entry) -> None:
    evaluation = entry.validation
    if evaluation is None or not evaluation.scores or 2 * len(evaluation.scores) < len(evaluation.trials):
        return
    incumbent = None if archive.incumbent is None else archive.entries[archive.incumbent]
    if incumbent is None or incumbent.validation is None:
        _crown(archive, entry, None)
        return
    archive.num_challenges += 1
    aligned = Aligned(archive.objective, evaluation, incumbent.validation)
    difference = aligned.difference
    if difference is None:
        return
    if difference > EQUAL or (difference >= -EQUAL and price_of(entry) < price_of(incumbent)):
        _crown(archive, entry, aligned.paired(spent_level(archive.num_challenges)))


def _crown(archive: Archive, entry: Entry, against: Paired | None) -> None:
    archive.changes.append(Change(archive.num_evaluations, entry.number, archive.incumbent, against))
    archive.incumbent = entry.number


def _against(archive: Archive, entry: Entry, previous: int | None, level: float) -> Paired | None:
    other = None if previous is None else archive.entries[previous].validation
    if entry.validation is None or other is None:
        return None
    return Aligned(archive.objective, entry.validation, other).paired(level)


def _is_close(objective: Objective, entry: Entry, best: Entry) -> bool:
    aligned = Aligned(objective, entry.train, best.train)
    difference, error = aligned.difference, aligned.standard_error()
    if difference is None:
        return False
    if error <= EQUAL and abs(difference) <= EQUAL:
        return price_of(entry) < price_of(best)
    return difference >= -error - EQUAL


def _takes_no_more(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    return all((inf if mine is None else mine) <= (inf if theirs is None else theirs) for mine, theirs in zip(one, other, strict=True))


def _rounded(value: float | None) -> float:
    # Sums of the same numbers in another order are the same price.
    return inf if value is None else float(f"{value:.9g}")


def _by_question(objective: Objective, evaluation: Evaluation) -> dict[int, tuple[float, float]]:
    """Return score and value of each scored trial, by question."""
    scored = [(trial.question, trial.score) for trial in evaluation.trials if trial.score is not None]
    if not scored:
        return {}
    return {question: (score, value) for (question, score), value in zip(scored, objective.values(evaluation), strict=True)}
