"""Curves against the number of responses: the guiding reward, the scorers that did not guide, what was possible, and what it cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from multigraft.analysis.hacking import Hacking, hacking_of
from multigraft.analysis.intervals import DEFAULT, Bootstrap, Estimate, estimate_of, mean_estimate, resampled_means
from multigraft.analysis.points import PromptPoints
from multigraft.errors import InputError, UnknownNameError
from multigraft.records.progress import doubling

REWARD = "reward"
SCORER = "scorer"
_MOST = 0.9
"""A judge of the best responses alone has scored all of them only where the best was always the latest: a biased few, and no oracle."""
Read = Callable[[PromptPoints, int], float | None]
"""Reads a number of a prompt at a point; None where it is missing."""


class Cost(NamedTuple):
    """Means over prompts of what the models' calls cost."""

    flops: float
    tokens: float
    usd: float
    calls: float


@dataclass(frozen=True, slots=True)
class Series:
    """One curve: the means over the same prompts at each of its points."""

    name: str
    estimates: Mapping[int, Estimate]
    """By point, rising. Empty where no prompt has the number at all its points."""
    num_prompts: int
    """Prompts every mean stands on."""
    num_missing: int
    """Prompts left out at all points, since the number is missing at one of them."""


@dataclass(frozen=True, slots=True)
class Group:
    """The last point of the curves over the prompts of one group."""

    name: str
    num_prompts: int
    estimates: Mapping[str, Estimate]
    """By `reward` or scorer; missing where no prompt of the group is in the curve."""


@dataclass(frozen=True, slots=True)
class Curve:
    """What a run tells at a number of responses."""

    points: tuple[int, ...]
    num_prompts: int
    """Finished prompts with a response: those the curves may stand on."""
    num_unfinished: int
    num_without_response: int
    reached: Mapping[int, int]
    """Prompts that have so many responses, by point. The others stand there with all they have."""
    reward: Series
    """Reward of the best response so far."""
    scorers: Mapping[str, Series]
    """By scorer: its value of the response with the best reward so far."""
    oracles: Mapping[str, Series]
    """By scorer: the highest of its values so far; only of those that scored all responses of nearly all prompts they scored."""
    costs: Mapping[int, Cost]
    """A prompt's mean cost until the point."""
    hacking: Mapping[str, Hacking]
    groups: tuple[Group, ...]
    """Empty unless asked for."""


def curve_of(
    prompts: Sequence[PromptPoints],
    *,
    points: Sequence[int] | None = None,
    scorers: Sequence[str] | None = None,
    bootstrap: Bootstrap = DEFAULT,
) -> Curve:
    """Draw the curves of a run.

    Args:
        prompts: all prompts of the run, read at these points.
        points: numbers of responses; None: 1, 2, 4, ... up to the most any prompt has. Points beyond that are left out.
        scorers: names; None: every scorer in the record that says something else than the reward.
        bootstrap: over prompts, paired over points.

    Raises:
        InputError: no prompt is finished.
        UnknownNameError: no response has a score of this name.
    """
    used = [prompt for prompt in prompts if prompt.finished and prompt.num_responses > 0]
    if not used:
        message = f"no finished prompt has a response ({len(prompts)} prompts are recorded); go on with the run: multigraft resume"
        raise InputError(message)
    most = max(prompt.num_responses for prompt in used)
    axis = doubling(most) if points is None else tuple(sorted({point for point in points if 1 <= point <= most} or {most}))
    names = _named(used, scorers)

    def series(name: str, read: Read) -> Series:
        return _series(name, [[read(prompt, point) for point in axis] for prompt in used], axis, bootstrap)

    judges = {name: series(name, _value_of(name)) for name in names}
    last = axis[-1]
    return Curve(
        points=axis,
        num_prompts=len(used),
        num_unfinished=sum(not prompt.finished for prompt in prompts),
        num_without_response=sum(prompt.finished and prompt.num_responses == 0 for prompt in prompts),
        reached={point: sum(prompt.num_responses >= point for prompt in used) for point in axis},
        reward=series(REWARD, _reward),
        scorers=judges,
        oracles={name: found for name, judge in judges.items() if _is_whole(found := series(name, _oracle_of(name)), judge)},
        costs={point: _cost(used, point) for point in axis},
        hacking={name: _hacking(judge, used, bootstrap) for name, judge in judges.items()},
        groups=tuple(
            _group(name, [prompt for prompt in used if prompt.group == name], names, last, bootstrap)
            for name in sorted({prompt.group for prompt in used} - {""})
        ),
    )


def _named(prompts: Sequence[PromptPoints], scorers: Sequence[str] | None) -> list[str]:
    known = list(dict.fromkeys(name for prompt in prompts for name, values in prompt.values.items() if values))
    if scorers is None:
        return [name for name in known if any(value != prompt.rewards[point] for prompt in prompts for point, value in prompt.values.get(name, {}).items())]
    for name in scorers:
        if name not in known and not known:
            message = f"no response has a score of '{name}', or of any other scorer; add one: multigraft score RUN --with {name}"
            raise InputError(message)
        if name not in known:
            raise UnknownNameError(SCORER, name, known)
    return list(dict.fromkeys(scorers))


def _is_whole(oracle: Series, judge: Series) -> bool:
    return bool(oracle.estimates) and oracle.estimates.keys() >= judge.estimates.keys() and oracle.num_prompts >= _MOST * judge.num_prompts


def _reward(prompt: PromptPoints, point: int) -> float | None:
    return prompt.rewards.get(prompt.at(point))


def _value_of(scorer: str) -> Read:
    return lambda prompt, point: prompt.values.get(scorer, {}).get(prompt.at(point))


def _oracle_of(scorer: str) -> Read:
    return lambda prompt, point: prompt.oracles.get(scorer, {}).get(prompt.at(point))


def _covered(rows: Sequence[Sequence[float | None]], axis: Sequence[int]) -> tuple[list[int], list[list[float]]]:
    """Pick the points of a series, and the values of the prompts that have one at all of them.

    A scorer may have been asked at the last point alone. Prompts whose last best response was the best before as well then have a score at earlier points too,
    and they would be a biased few; so a point with scores of less than half as many prompts as the best covered one is no point of the series.
    """
    counts = [sum(value is not None for value in column) for column in zip(*rows, strict=True)]
    places = [place for place, count in enumerate(counts) if count > 0 and 2 * count >= max(counts)]
    complete: list[list[float]] = []
    for row in rows:
        values = [value for place in places if (value := row[place]) is not None]
        if places and len(values) == len(places):
            complete.append(values)
    return [axis[place] for place in places], [list(column) for column in zip(*complete, strict=True)]


def _series(name: str, rows: Sequence[Sequence[float | None]], axis: Sequence[int], bootstrap: Bootstrap) -> Series:
    points, columns = _covered(rows, axis)
    if not columns:
        return Series(name, {}, 0, len(rows))
    count = len(columns[0])
    resampled = resampled_means(columns, bootstrap)
    found = zip(points, columns, resampled, strict=True)
    return Series(name, {point: mean_estimate(column, drawn) for point, column, drawn in found}, count, len(rows) - count)


def _cost(prompts: Sequence[PromptPoints], point: int) -> Cost:
    spent = [prompt.spent[prompt.at(point)] for prompt in prompts]
    count = len(spent)
    parts = (sum(each.flops for each in spent), sum(each.tokens for each in spent), sum(each.usd for each in spent), sum(each.calls for each in spent))
    return Cost(*(part / count for part in parts))


def _hacking(judge: Series, prompts: Sequence[PromptPoints], bootstrap: Bootstrap) -> Hacking:
    points = list(judge.estimates)
    read = _value_of(judge.name)
    scored = [prompt for prompt in prompts if points and all(read(prompt, point) is not None for point in points)]
    judged = [[prompt.values[judge.name][prompt.at(point)] for prompt in scored] for point in points]
    rewards = [[prompt.rewards[prompt.at(point)] for prompt in scored] for point in points]
    return hacking_of(judge.name, points, judged, rewards, bootstrap)


def _group(name: str, members: Sequence[PromptPoints], scorers: Sequence[str], point: int, bootstrap: Bootstrap) -> Group:
    found: dict[str, Estimate] = {}
    for what, read in ((REWARD, _reward), *((scorer, _value_of(scorer)) for scorer in scorers)):
        values = [value for prompt in members if (value := read(prompt, point)) is not None]
        estimate = estimate_of(values, bootstrap)
        if estimate is not None:
            found[what] = estimate
    return Group(name, len(members), found)
