"""The results of a task: its metrics over all prompts, and over the groups that its fields make."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from multigraft.analysis.comparisons import Comparison, check_preferences, comparison_of
from multigraft.analysis.extra import check_extra
from multigraft.analysis.intervals import DEFAULT, Bootstrap, Estimate, estimate_of
from multigraft.analysis.points import group_of, value_of
from multigraft.analysis.votes import Ballot, ballots_of
from multigraft.errors import UnknownNameError
from multigraft.records.progress import best_so_far, responses_of
from multigraft.records.reader import PromptRecord

ALL = "all"
"""Name of the group of all prompts."""
METRICS = ("mean", "accuracy", "majority", "weighted_vote", "oracle", "win_rate", "length_controlled_win_rate")
_RIGHT = 1.0 - 1e-9
_OF_BALLOT: Mapping[str, Callable[[Ballot], float]] = {
    "majority": lambda ballot: ballot.majority,
    "weighted_vote": lambda ballot: ballot.weighted,
    "oracle": lambda ballot: ballot.oracle,
}
_METRIC = "metric"


@dataclass(frozen=True, slots=True)
class Result:
    """One metric over one group."""

    metric: str
    by: str
    """The field that makes the group; empty for all prompts."""
    group: str
    scorer: str
    estimate: Estimate | None
    """None: no prompt has what it takes, or there are too few."""
    num_missing: int
    """Prompts of the group that lack it; they are left out, not counted as wrong."""
    note: str = ""
    """Why there is no estimate."""


@dataclass(slots=True)
class _Numbers:
    """One prompt, reduced to what the metrics take."""

    groups: dict[str, str]
    best: float | None
    """The scorer's value of the response with the best reward."""
    ballot: Ballot | None
    comparison: Comparison | None


def results_of(prompts: Iterable[PromptRecord], metrics: Sequence[str], scorer: str, *, by: Sequence[str] = (), bootstrap: Bootstrap = DEFAULT) -> list[Result]:
    """Summarise a run as its task says.

    `mean`: of the scorer's values of the responses with the best reward. `accuracy`: share of prompts whose value is 1. `majority`, `weighted_vote`: mean value
    of the answer the responses of a prompt vote for, as `votes.ballots_of` holds the vote. `oracle`: mean of the highest value. `win_rate`: the mean of a
    pairwise scorer over its baseline; `length_controlled_win_rate`: the same at equal length, which takes numpy and scipy.

    Args:
        prompts: of the run; those that have not ended are passed over.
        metrics: names of `METRICS`, in the order wanted.
        scorer: the grader, or the pairwise scorer.
        by: fields of the prompts; each makes groups of its own.
        bootstrap: over prompts.

    Returns:
        Each metric over all prompts, then over each group of each field, in the order of the groups' names.

    Raises:
        UnknownNameError: a metric that is none.
        InputError: a win rate of a scorer whose values are no preferences.
        MultigraftError: a length-controlled win rate without numpy or scipy.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise UnknownNameError(_METRIC, metric, METRICS)
    wins = {"win_rate", "length_controlled_win_rate"} & set(metrics)
    numbers = [_numbers(record, scorer, by, votes=bool(set(_OF_BALLOT) & set(metrics)), wins=bool(wins)) for record in prompts if record.ended is not None]
    check_preferences((each.comparison for each in numbers if each.comparison is not None), scorer)
    results = [_result(Result(metric, "", ALL, scorer, None, 0), numbers, bootstrap) for metric in metrics]
    for name in by:
        for group in sorted({each.groups[name] for each in numbers}):
            members = [each for each in numbers if each.groups[name] == group]
            results += [_result(Result(metric, name, group, scorer, None, 0), members, bootstrap) for metric in metrics]
    return results


def _numbers(record: PromptRecord, scorer: str, by: Sequence[str], *, votes: bool, wins: bool) -> _Numbers:
    total = len(responses_of(record))
    chosen = best_so_far(record, [total]).get(total)
    best = None if chosen is None else value_of(record.calls[chosen], scorer)
    ballot = ballots_of(record, scorer, [total]).get(total) if votes and total else None
    return _Numbers({name: group_of(record, name) for name in by}, best, ballot, comparison_of(record, scorer) if wins else None)


def _result(wanted: Result, members: Sequence[_Numbers], bootstrap: Bootstrap) -> Result:
    """Fill in what is still empty of a result."""
    comparisons = [each.comparison for each in members if each.comparison is not None]
    if wanted.metric == "length_controlled_win_rate":
        return replace(_controlled(wanted, comparisons, bootstrap), num_missing=len(members) - len(comparisons))
    if wanted.metric in _OF_BALLOT:
        values = [_OF_BALLOT[wanted.metric](each.ballot) for each in members if each.ballot is not None]
    elif wanted.metric == "win_rate":
        values = [each.preference for each in comparisons]
    else:
        values = [each.best for each in members if each.best is not None]
        values = [float(value >= _RIGHT) for value in values] if wanted.metric == "accuracy" else values
    note = "" if values else f"no prompt has what it takes of scorer '{wanted.scorer}'"
    return replace(wanted, estimate=estimate_of(values, bootstrap), num_missing=len(members) - len(values), note=note)


def _controlled(wanted: Result, comparisons: Sequence[Comparison], bootstrap: Bootstrap) -> Result:
    if not comparisons:
        return replace(wanted, note=f"no prompt is compared by '{wanted.scorer}'")
    check_extra("length-controlled win rates")
    from multigraft.analysis.win_rate import win_rate_of  # noqa: PLC0415 - numpy and scipy are an optional extra

    found = win_rate_of(comparisons, bootstrap=bootstrap)
    return replace(wanted, estimate=None if found.length_controlled is None else found.length_controlled.win_rate, note=found.reason)
