"""Logistic regression without an intercept, for targets in [0, 1], with an optional L1 penalty. Needs numpy."""

from collections.abc import Sequence
from math import inf
from typing import Final

import numpy
from numpy.typing import NDArray

from multigraft.randomness import key_of

Array = NDArray[numpy.float64]
STRENGTHS: Final[tuple[float, ...]] = tuple(10.0 ** (exponent * 8.0 / 9.0 - 4.0) for exponent in range(10))
"""Inverse penalties tried: ten from 1e-4 to 1e4, evenly in their logarithms."""
NUM_FOLDS = 5
_MOST_STEPS = 200
_TOLERANCE = 1e-9
_RIDGE = 1e-10
"""Keeps the curvature invertible where a feature is 0 everywhere."""


def logistic(logits: Array) -> Array:
    """Return 1 / (1 + exp(-x)), for any x without an overflow."""
    return 0.5 * (1.0 + numpy.tanh(0.5 * logits))


def log_loss(features: Array, targets: Array, weights: Array, coefficients: Array) -> float:
    """Return the weighted sum of the cross entropies between targets and predictions."""
    logits = features @ coefficients
    return float(weights @ (numpy.logaddexp(0.0, logits) - targets * logits))


def fit(features: Array, targets: Array, weights: Array, *, penalty: float = 0.0) -> Array:
    """Minimise the weighted cross entropy plus `penalty` times the sum of absolute coefficients: a proximal Newton method with step halving.

    Args:
        features: one row an observation; few columns.
        targets: in [0, 1].
        weights: >= 0.
        penalty: >= 0; the inverse of what is often called C.

    Returns:
        The coefficients. Where the data are separable and there is no penalty they are large, not infinite.
    """
    coefficients = numpy.zeros(features.shape[1])
    value = log_loss(features, targets, weights, coefficients)
    for _ in range(_MOST_STEPS):
        predicted = logistic(features @ coefficients)
        gradient = features.T @ (weights * (predicted - targets))
        curvature = (features.T * (weights * predicted * (1.0 - predicted))) @ features + _RIDGE * numpy.eye(len(coefficients))
        step = _minimum(curvature, gradient, coefficients, penalty) - coefficients
        size = 1.0
        while size > 1e-6:
            trial = coefficients + size * step
            reached = log_loss(features, targets, weights, trial) + penalty * float(numpy.abs(trial).sum())
            if reached <= value:
                break
            size /= 2.0
        else:
            return coefficients
        coefficients, value = trial, reached
        if float(numpy.abs(size * step).max()) < _TOLERANCE:
            break
    return coefficients


def _minimum(curvature: Array, gradient: Array, start: Array, penalty: float) -> Array:
    """Minimise the quadratic model with the penalty, coordinate by coordinate; at once without a penalty."""
    if penalty == 0.0:
        return start - numpy.linalg.solve(curvature, gradient)
    slope = gradient - curvature @ start
    point = start.tolist()
    matrix, slopes = curvature.tolist(), slope.tolist()
    for sweep in range(1000):
        moved = 0.0
        for index, row in enumerate(matrix):
            rest = slopes[index] + sum(value * other for value, other in zip(row, point, strict=True)) - row[index] * point[index]
            wanted = -(rest - penalty) / row[index] if rest > penalty else -(rest + penalty) / row[index] if rest < -penalty else 0.0
            moved = max(moved, abs(wanted - point[index]))
            point[index] = wanted
        if moved < 0.1 * _TOLERANCE:
            break
        # Where features are nearly collinear the sweeps creep; once the signs are right, one linear equation ends them.
        exact = _at_signs(curvature, slope, numpy.sign(numpy.array(point)), penalty) if sweep % 5 == 4 else None
        if exact is not None:
            return exact
    return numpy.array(point)


def _at_signs(curvature: Array, slope: Array, guess: Array, penalty: float) -> Array | None:
    """Minimise the quadratic model as if the minimum had these signs; None where it has not."""
    active = guess != 0.0
    point = numpy.zeros(len(guess))
    if active.any():
        point[active] = numpy.linalg.solve(curvature[numpy.ix_(active, active)], -slope[active] - penalty * guess[active])
    right = (numpy.sign(point[active]) == guess[active]).all() and (numpy.abs((curvature @ point + slope)[~active]) <= penalty).all()
    return point if right else None


def best_penalty(features: Array, targets: Array, names: Sequence[str]) -> float:
    """Choose the penalty by cross-validation: the lowest mean cross entropy on held-out prompts; of equals the largest penalty.

    Args:
        features: one row an observation.
        targets: in [0, 1].
        names: of the prompts, one a row, all different. Folds go by a hash of them, so the order of the rows says nothing.

    Returns:
        One over one of `STRENGTHS`.
    """
    count = len(names)
    ranks = {name: rank for rank, name in enumerate(sorted(names, key=lambda name: (key_of("fold", name), name)))}
    folds = numpy.array([ranks[name] % min(NUM_FOLDS, count) for name in names])
    best, lowest = 1.0 / STRENGTHS[0], inf
    for strength in STRENGTHS:
        losses = []
        for fold in range(min(NUM_FOLDS, count)):
            held_out = folds == fold
            coefficients = fit(features, targets, (~held_out).astype(float), penalty=1.0 / strength)
            losses.append(log_loss(features, targets, held_out.astype(float), coefficients) / int(held_out.sum()))
        loss = sum(losses) / len(losses)
        if loss < lowest - 1e-12:
            best, lowest = 1.0 / strength, loss
    return best


def covariance(features: Array, targets: Array, coefficients: Array) -> Array:
    """Return the sandwich covariance of coefficients: it holds for targets that are shares as well.

    Source:
        White, "Maximum likelihood estimation of misspecified models", Econometrica 1982.
    """
    predicted = logistic(features @ coefficients)
    curvature = (features.T * (predicted * (1.0 - predicted))) @ features
    scores = features * (targets - predicted)[:, None]
    inverse = numpy.linalg.pinv(curvature)
    found: Array = inverse @ (scores.T @ scores) @ inverse
    return found
