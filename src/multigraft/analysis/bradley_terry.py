"""Ratings of several runs from their battles, as in Arena-Hard: Bradley-Terry by maximum likelihood. Needs numpy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy

from multigraft.analysis.comparisons import Comparison
from multigraft.analysis.intervals import DEFAULT, Bootstrap, Estimate, estimated, resamples
from multigraft.analysis.regression import Array, logistic
from multigraft.errors import InputError

STRONG_WEIGHT = 3.0
"""Battles that a verdict of "much better" counts for."""
ELO_BASE, ELO_SCALE = 1000.0, 400.0 / log(10.0)
"""The baseline has 1000, and 400 more mean odds of ten to one."""
_RIDGE = 1e-6
"""Holds the ratings of those who win or lose every battle, which have no maximum, at a large number; it moves other win rates by less than 1e-6."""


@dataclass(frozen=True, slots=True)
class Battle:
    """Two players on one prompt."""

    prompt_id: str
    first: str
    second: str
    outcome: float
    """Of the first player, in [0, 1]; a tie is half a win for each."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Rank:
    """One player's standing."""

    name: str
    rating: Estimate
    """On the Elo scale, the baseline at 1000."""
    win_rate: Estimate
    """Probability of beating the baseline, by the ratings."""
    num_battles: int


def battles_of(name: str, comparisons: Sequence[Comparison], baseline: str, *, graded: bool, strong_weight: float = STRONG_WEIGHT) -> list[Battle]:
    """Turn comparisons with a baseline into battles, one for each order in which the two were shown.

    Args:
        name: of the player.
        comparisons: of its responses. One without orders (nobody is asked about equal texts) counts as its preference in as many orders as the others have.
        baseline: name of the other.
        graded: verdicts say by how much (`comparisons.is_graded`): then "better" is a whole win, and "much better" one that weighs `strong_weight`.
            Otherwise the preference is the outcome.
        strong_weight: >= 0; 3 as published.

    Source:
        Li et al., Arena-Hard, arXiv 2406.11939, section 5, and its published code.
    """
    usual = max((len(each.orders) for each in comparisons), default=0) or 1
    battles: list[Battle] = []
    for each in comparisons:
        for said in each.orders or (each.preference,) * usual:
            outcome = said if not graded or said == 0.5 else float(said > 0.5)
            battles.append(Battle(each.prompt_id, name, baseline, outcome, strong_weight if graded and said in {0.0, 1.0} else 1.0))
    return battles


def ratings_of(battles: Sequence[Battle], baseline: str) -> dict[str, float]:
    """Fit the ratings r for which the battles are most likely, with P(i beats j) = logistic(r_i - r_j).

    Args:
        battles: in any order; which of two players is named first says nothing.
        baseline: the player whose rating is 0.

    Returns:
        Natural log-odds of beating the baseline, by player; the baseline among them.

    Raises:
        InputError: some player never met the baseline, nor anybody who did.
    """
    names, features, targets, weights = _table(battles, baseline)
    found = _fit(features, targets, weights)
    return {baseline: 0.0, **dict(zip(names, found.tolist(), strict=True))}


def win_rates(ratings: Mapping[str, float], opponent: str) -> dict[str, float]:
    """Return each player's probability of beating one of them; adding a number to all ratings changes nothing."""
    return {name: 1.0 / (1.0 + exp(min(700.0, ratings[opponent] - rating))) for name, rating in ratings.items()}


def ranking_of(battles: Sequence[Battle], baseline: str, *, bootstrap: Bootstrap = DEFAULT) -> list[Rank]:
    """Rank all players, the best first.

    The bootstrap draws prompts, with all their battles, so that two verdicts on one prompt do not count as two independent ones; the published code draws
    battles.

    Args:
        battles: at least one.
        baseline: the player all are measured by.
        bootstrap: over prompts.

    Raises:
        InputError: as `ratings_of`.
    """
    names, features, targets, weights = _table(battles, baseline)
    point = _fit(features, targets, weights)
    prompts = list(dict.fromkeys(battle.prompt_id for battle in battles))
    places = {prompt_id: place for place, prompt_id in enumerate(prompts)}
    rows = numpy.array([places[battle.prompt_id] for battle in battles], dtype=numpy.intp)
    fought = features != 0.0
    drawn: list[list[float]] = [[] for _ in names]
    for indices in resamples(len(prompts), bootstrap):
        again = weights * numpy.bincount(indices, minlength=len(prompts))[rows]
        found = _fit(features, targets, again)
        present = (again[:, None] * fought).sum(axis=0) > 0.0
        # A player none of whose prompts was drawn has no rating in this resample.
        for place, kept in enumerate(drawn):
            kept += [float(found[place])] if present[place] else []
    ranks = [
        Rank(
            name,
            estimated(ELO_BASE + ELO_SCALE * float(point[place]), [ELO_BASE + ELO_SCALE * value for value in drawn[place]], len(prompts)),
            estimated(_chance(float(point[place])), [_chance(value) for value in drawn[place]], len(prompts)),
            int(fought[:, place].sum()),
        )
        for place, name in enumerate(names)
    ]
    met = sum(baseline in {battle.first, battle.second} for battle in battles)
    ranks.append(Rank(baseline, Estimate(ELO_BASE, ELO_BASE, ELO_BASE, len(prompts)), Estimate(0.5, 0.5, 0.5, len(prompts)), met))
    return sorted(ranks, key=lambda rank: (-rank.rating.value, rank.name))


def _chance(rating: float) -> float:
    return float(logistic(numpy.array(rating)))


def _table(battles: Sequence[Battle], baseline: str) -> tuple[list[str], Array, Array, Array]:
    """Spread battles over columns: 1 for the first player, -1 for the second, none for the baseline, whose rating is 0."""
    names = sorted({name for battle in battles for name in (battle.first, battle.second)} - {baseline})
    apart = _unreached(battles, baseline, names)
    if apart:
        message = f"{', '.join(apart)} never met {baseline}, nor anybody who did; their ratings cannot be compared"
        raise InputError(message)
    columns = {name: column for column, name in enumerate(names)}
    features = numpy.zeros((len(battles), len(names)))
    for row, battle in enumerate(battles):
        for name, sign in ((battle.first, 1.0), (battle.second, -1.0)):
            if name != baseline:
                features[row, columns[name]] += sign
    targets = numpy.array([battle.outcome for battle in battles])
    return names, features, targets, numpy.array([battle.weight for battle in battles])


def _unreached(battles: Sequence[Battle], baseline: str, names: Sequence[str]) -> list[str]:
    reached, waiting = {baseline}, [baseline]
    opponents: dict[str, set[str]] = {}
    for battle in battles:
        opponents.setdefault(battle.first, set()).add(battle.second)
        opponents.setdefault(battle.second, set()).add(battle.first)
    while waiting:
        new = opponents.get(waiting.pop(), set()) - reached
        reached |= new
        waiting.extend(new)
    return [name for name in names if name not in reached]


def _fit(features: Array, targets: Array, weights: Array) -> Array:
    """Newton's method on the likelihood with the small ridge; steps are kept short of where the likelihood is flat."""
    ratings = numpy.zeros(features.shape[1])
    for _ in range(200):
        predicted = logistic(features @ ratings)
        gradient = features.T @ (weights * (predicted - targets)) + _RIDGE * ratings
        curvature = (features.T * (weights * predicted * (1.0 - predicted))) @ features + _RIDGE * numpy.eye(len(ratings))
        step = numpy.clip(numpy.linalg.solve(curvature, gradient), -2.0, 2.0)
        ratings = ratings - step
        if not len(step) or float(numpy.abs(step).max()) < 1e-10:
            break
    return ratings
