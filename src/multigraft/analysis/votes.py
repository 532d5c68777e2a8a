"""Ways to settle on one answer out of many: the best reward, the majority, a vote weighted by rewards, and what an oracle would pick."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from multigraft.analysis.intervals import DEFAULT, Bootstrap, Estimate, bootstrap_mean, estimate_of
from multigraft.analysis.points import value_of
from multigraft.records.progress import best_so_far, doubling, responses_of
from multigraft.records.reader import CallRecord, PromptRecord

WAYS = ("first", "chosen", "majority", "weighted", "oracle")
"""`first`: the first response. `chosen`: the one with the best reward. `oracle`: the best there is, by the grader."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """What the grader says of each way's answer, among the first responses to a prompt. Every number is a grade, mostly 0 or 1."""

    first: float
    chosen: float | None
    """None: none of them has a reward."""
    majority: float
    weighted: float
    oracle: float
    answered: int
    """Responses that have an answer: those that vote."""


@dataclass(slots=True)
class _Group:
    """The responses that give one answer."""

    members: list[CallRecord] = field(default_factory=list)
    weight: float = 0.0


def ballots_of(record: PromptRecord, grader: str, points: Sequence[int] | None = None) -> dict[int, Ballot]:
    """Hold the votes of one prompt.

    Responses vote by the answer the grader read from them (`Score.answer`); one without an answer does not vote. The majority's answer is that of the most
    responses; equal numbers go to the answer that was given first, in the order the responses were told. In the weighted vote a response counts its reward,
    less the lowest reward of the voters where that is negative: w = r - min(0, min r). So rewards that are probabilities are summed as they are, as published,
    and no weight is ever negative; on a scale with negative rewards the lowest counts nothing. A response without a reward counts nothing. Equal weights go to
    the answer of more responses, then to the one given first. Where nobody votes, the two votes are worth 0.

    Args:
        record: of the prompt.
        grader: a scorer that reads answers.
        points: numbers of responses, >= 1; None: 1, 2, 4, ... The last response is always a point.

    Returns:
        By point; empty where the grader has not graded all responses of the prompt, or there are none.

    Source:
        Majority: Wang et al., arXiv 2203.11171. Weighted: Li et al., arXiv 2206.02336; Uesato et al., arXiv 2211.14275.
    """
    responses = responses_of(record)
    grades = {response.call.call_id: grade for response in responses if (grade := value_of(response, grader)) is not None}
    if len(grades) < len(responses):
        return {}
    total = len(responses)
    wanted = doubling(total) if points is None else sorted({min(point, total) for point in (*points, total)} - {0})
    best = best_so_far(record, wanted)
    ballots: dict[int, Ballot] = {}
    for point in wanted:
        seen = responses[:point]
        groups = _groups(seen, grader)
        ballots[point] = Ballot(
            first=grades[seen[0].call.call_id],
            chosen=grades[best[point]] if point in best else None,
            majority=_grade(groups, grades, lambda group: (len(group.members),)),
            weighted=_grade(groups, grades, lambda group: (group.weight, len(group.members))),
            oracle=max(grades[response.call.call_id] for response in seen),
            answered=sum(len(group.members) for group in groups),
        )
    return ballots


def _groups(responses: Sequence[CallRecord], grader: str) -> list[_Group]:
    voters = [(response, answer) for response in responses if (answer := response.scores[grader].score.answer) is not None]
    floor = min([0.0, *(response.reward for response, _ in voters if response.reward is not None)])
    groups: dict[str, _Group] = {}
    for response, answer in voters:
        group = groups.setdefault(answer, _Group())
        group.members.append(response)
        group.weight += 0.0 if response.reward is None else response.reward - floor
    return list(groups.values())


def _grade(groups: Sequence[_Group], grades: Mapping[int, float], rank: Callable[[_Group], tuple[float, ...]]) -> float:
    """Return the grade of the winning answer, at the first response that gave it. `max` keeps the first of equals; groups are in the order of their answers."""
    return grades[max(groups, key=rank).members[0].call.call_id] if groups else 0.0


@dataclass(frozen=True, slots=True)
class VotesAt:
    """All ways at one number of responses, over the same prompts."""

    point: int
    num_prompts: int
    grades: Mapping[str, Estimate]
    """By way: the mean grade; Wilson's interval where every grade is 0 or 1. Empty without a prompt."""
    gains: Mapping[str, Estimate]
    """By way but `chosen`: the mean grade less that of `chosen`, paired by prompt."""


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes of a run."""

    grader: str
    num_prompts: int
    """Prompts they stand on, the same at every point."""
    num_missing: int
    """Prompts left out: not all responses graded, or no reward at one of the points."""
    num_unanswered: int
    """Prompts none of whose responses has an answer; they are among `num_prompts`, and their votes are worth 0."""
    rows: tuple[VotesAt, ...]


def votes_of(grader: str, ballots: Sequence[Mapping[int, Ballot]], points: Sequence[int] | None = None, *, bootstrap: Bootstrap = DEFAULT) -> Votes:
    """Add the votes of many prompts up.

    Args:
        grader: name of the grader.
        ballots: of every finished prompt, what `ballots_of` returned.
        points: numbers of responses; None: 1, 2, 4, ... up to the most any prompt has. A prompt with fewer stands with all it has.
        bootstrap: over prompts.
    """
    most = max((max(each) for each in ballots if each), default=0)
    axis = doubling(most) if points is None else sorted({point for point in points if 1 <= point <= most} or {most} - {0})
    rows: list[list[Ballot]] = []
    for each in ballots:
        row = [each[min(point, max(each))] for point in axis] if each else []
        if row and all(ballot.chosen is not None for ballot in row):
            rows.append(row)
    found = tuple(_row(point, [row[place] for row in rows], bootstrap) for place, point in enumerate(axis)) if rows else ()
    unanswered = sum(row[-1].answered == 0 for row in rows)
    return Votes(grader, len(rows), len(ballots) - len(rows), unanswered, found)


def _row(point: int, ballots: Sequence[Ballot], bootstrap: Bootstrap) -> VotesAt:
    columns: dict[str, list[float]] = {way: [float(getattr(ballot, way)) for ballot in ballots] for way in WAYS}
    grades = {way: estimate for way, column in columns.items() if (estimate := estimate_of(column, bootstrap))}
    gains: dict[str, Estimate] = {}
    for way in WAYS:
        differences = [value - base for value, base in zip(columns[way], columns["chosen"], strict=True)]
        estimate = bootstrap_mean(differences, bootstrap)
        if way != "chosen" and estimate is not None:
            gains[way] = estimate
    return VotesAt(point, len(ballots), grades, gains)
