"""Logits and probabilities, exact at both ends, and draws by them."""

from collections.abc import Sequence
from math import exp, log, log1p

from multigraft.errors import InputError
from multigraft.randomness import Draws


def logit(probability: float) -> float:
    """Return log(p / (1 - p)).

    Raises:
        InputError: p is not strictly between 0 and 1.
    """
    if not 0 < probability < 1:
        message = f"a probability of {probability} has no logit; give a number between 0 and 1, neither included"
        raise InputError(message)
    return log(probability) - log1p(-probability)


def sigmoid(value: float) -> float:
    """Return 1 / (1 + exp(-x))."""
    if value >= 0:
        return 1 / (1 + exp(-value))
    grown = exp(value)
    return grown / (1 + grown)


def log_sigmoid(value: float) -> float:
    """Return log(sigmoid(x)), exact where the sigmoid is almost 0."""
    return -log1p(exp(-value)) if value >= 0 else value - log1p(exp(value))


def softmax(values: Sequence[float]) -> tuple[float, ...]:
    """Return exp(x) of each, scaled to a sum of 1."""
    highest = max(values)
    grown = [exp(value - highest) for value in values]
    total = sum(grown)
    return tuple(value / total for value in grown)


def categorical(probabilities: Sequence[float], draws: Draws) -> int:
    """Draw an index; no chance is used where there is no choice."""
    if len(probabilities) == 1:
        return 0
    left = draws.uniform()
    for index, probability in enumerate(probabilities[:-1]):
        left -= probability
        if left < 0:
            return index
    return len(probabilities) - 1
