"""Win rates over a baseline, raw and length-controlled as in AlpacaEval. Needs numpy and scipy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy
from scipy.optimize import minimize

from multigraft.analysis.comparisons import Comparison
from multigraft.analysis.intervals import DEFAULT, Bootstrap, Estimate, estimated, mean, resampled_means, resamples
from multigraft.analysis.regression import Array, best_penalty, covariance, fit, logistic
from multigraft.errors import InputError

LEAST_PROMPTS = 10
"""With fewer, five folds hold out one prompt each, and no penalty can be told from another."""


@dataclass(frozen=True, slots=True)
class LengthControlled:
    """What the win rate would be if both responses were of the same length."""

    win_rate: Estimate
    """In [0, 1]; the interval by refitting to resampled prompts, the penalty kept."""
    standard_error: float
    """By the delta method, as if there were no penalty."""
    model: float
    """Coefficient of the model term; above 0: better than the baseline at equal length."""
    length: float
    """Coefficient of the length term; above 0: the judge prefers longer responses."""
    difficulty: float | None
    """Coefficient of the instruction's difficulty; None: there was no other run to learn it from."""
    penalty: float
    """Of the sum of absolute coefficients, chosen by cross-validation."""


@dataclass(frozen=True, slots=True)
class WinRate:
    """How often a run beats the baseline."""

    win_rate: Estimate
    """Mean preference, in [0, 1]."""
    standard_error: float
    """Standard deviation of the preferences over the square root of their number."""
    length_controlled: LengthControlled | None
    reason: str
    """Why there is no length-controlled win rate; empty where there is one."""


def win_rate_of(comparisons: Sequence[Comparison], *, difficulties: Mapping[str, float] | None = None, bootstrap: Bootstrap = DEFAULT) -> WinRate:
    """Compute the win rate of a run, and the length-controlled one.

    The probability that the judge prefers the response m over the baseline's b to the prompt x is modelled as

        q = logistic(theta + phi * tanh((len(m) - len(b)) / s) + psi * gamma(x))

    with s the standard deviation of the length differences, and gamma(x) the prompt's difficulty. The length-controlled win rate is the mean over prompts of q
    with the length term left out: logistic(theta + psi * gamma(x)).

    Args:
        comparisons: at least one, at most one a prompt.
        difficulties: gamma by prompt id, learnt from other runs (`difficulties_of`); prompts not in it have 0. None: the term is left out.
        bootstrap: over prompts.

    Raises:
        InputError: there is no comparison.

    Source:
        Dubois et al., arXiv 2404.04475, section 3; the L1 penalty chosen by five folds from ten values as in the published code of AlpacaEval 2.0. That code
        adds two gamed variants of its own baseline to the data, with weight 0.2, and takes gamma from its leaderboard; neither exists for a baseline of one's
        own, so the first is left out and gamma comes from the other runs.
    """
    if not comparisons:
        message = "no prompt is compared with a baseline; there is no win rate"
        raise InputError(message)
    preferences = [each.preference for each in comparisons]
    count = len(preferences)
    (resampled,) = resampled_means([preferences], bootstrap)
    raw = estimated(mean(preferences), resampled, count)
    error = sqrt(sum((value - raw.value) ** 2 for value in preferences) / max(1, count - 1) / count)
    controlled, reason = _controlled([each for each in comparisons if _difference(each) is not None], count, difficulties, bootstrap)
    return WinRate(raw, error, controlled, reason)


def _difference(comparison: Comparison) -> float | None:
    if comparison.length is None or comparison.opponent_length is None:
        return None
    return comparison.length - comparison.opponent_length


def _length_terms(comparisons: Sequence[Comparison]) -> Array:
    """Return tanh of the length differences over their standard deviation; all 0 where they do not differ."""
    differences = numpy.array([_difference(each) or 0.0 for each in comparisons])
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return numpy.tanh(differences / spread) if spread > 0.0 else numpy.zeros(len(differences))


def _controlled(
    comparisons: Sequence[Comparison], count: int, difficulties: Mapping[str, float] | None, bootstrap: Bootstrap
) -> tuple[LengthControlled | None, str]:
    if len(comparisons) < count:
        return None, f"the lengths of {count - len(comparisons)} of {count} responses, or of the baseline's, are not recorded"
    if count < LEAST_PROMPTS:
        return None, f"{count} prompts are too few for a regression; it takes at least {LEAST_PROMPTS}"
    lengths = _length_terms(comparisons)
    # Equal but not zero: then nothing tells a preference for the response from one for its length.
    if not lengths.any() and any(_difference(each) for each in comparisons):
        return None, "every response differs from the baseline's by the same number of characters"
    names = [each.prompt_id for each in comparisons]
    columns = [numpy.ones(count), lengths] + ([] if difficulties is None else [numpy.array([difficulties.get(name, 0.0) for name in names])])
    features = numpy.stack(columns, axis=1)
    targets = numpy.array([each.preference for each in comparisons])
    penalty = best_penalty(features, targets, names)
    coefficients = fit(features, targets, numpy.ones(count), penalty=penalty)
    without_length = features.copy()
    without_length[:, 1] = 0.0
    drawn: list[float] = []
    for indices in resamples(count, bootstrap):
        weights = numpy.bincount(indices, minlength=count).astype(float)
        drawn.append(float(weights @ logistic(without_length @ fit(features, targets, weights, penalty=penalty))) / count)
    predicted = logistic(without_length @ coefficients)
    return LengthControlled(
        win_rate=estimated(float(predicted.mean()), drawn, count),
        standard_error=_standard_error(without_length, predicted, covariance(features, targets, coefficients)),
        model=float(coefficients[0]),
        length=float(coefficients[1]),
        difficulty=None if difficulties is None else float(coefficients[2]),
        penalty=penalty,
    ), ""


def _standard_error(features: Array, predicted: Array, spread: Array) -> float:
    """Return the standard error of the mean prediction: of the coefficients, and of the prompts drawn."""
    slope = (features * (predicted * (1.0 - predicted))[:, None]).mean(axis=0)
    return sqrt(float(slope @ spread @ slope) + float(predicted.var()) / len(predicted))


def difficulties_of(runs: Sequence[Sequence[Comparison]]) -> dict[str, float]:
    """Learn how much each prompt favours a response over the baseline's, whoever wrote it.

    One regression over all runs, each with a model and a length term of its own, and one term a prompt, which a normal prior of variance 1 holds near 0: with
    few runs a prompt's own term would otherwise fit its few preferences exactly. Use it for a run that is not among these, or the same preferences
    are fitted twice.

    Args:
        runs: comparisons with the same baseline. Comparisons without lengths count as of equal length.

    Returns:
        gamma by prompt id.

    Source:
        arXiv 2404.04475, section 3: the joint regression in which every psi is 1; the prior is ours.
    """
    names = list(dict.fromkeys(each.prompt_id for run in runs for each in run))
    places = {name: place for place, name in enumerate(names)}
    total = sum(len(run) for run in runs)
    terms = numpy.zeros((total, 2 * len(runs)))
    prompts = numpy.array([places[each.prompt_id] for run in runs for each in run], dtype=numpy.intp)
    targets = numpy.array([each.preference for run in runs for each in run])
    start = 0
    for number, run in enumerate(runs):
        rows = slice(start, start + len(run))
        terms[rows, 2 * number] = 1.0
        terms[rows, 2 * number + 1] = _length_terms(run)
        start += len(run)

    def loss(point: Array) -> tuple[float, Array]:
        own, shared = point[: terms.shape[1]], point[terms.shape[1] :]
        logits = terms @ own + shared[prompts]
        wrong = logistic(logits) - targets
        value = float((numpy.logaddexp(0.0, logits) - targets * logits).sum()) + 0.5 * float(shared @ shared)
        return value, numpy.concatenate([terms.T @ wrong, numpy.bincount(prompts, weights=wrong, minlength=len(names)) + shared])

    found = minimize(loss, numpy.zeros(terms.shape[1] + len(names)), jac=True, method="L-BFGS-B", bounds=[(-20.0, 20.0)] * (terms.shape[1] + len(names)))
    return {name: float(found.x[terms.shape[1] + place]) for name, place in places.items()}
