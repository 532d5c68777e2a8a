"""Learning a distribution over graphs from how well its draws did.

Source: Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement learning" (Machine Learning 8, 1992); leave-one-out
baseline: Kool, van Hoof and Welling, "Buy 4 REINFORCE Samples, Get a Baseline for Free!" (2019); Adam: Kingma and Ba (arXiv 1412.6980), algorithm 1, upwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Self

from multigraft.errors import InputError
from multigraft.graphs.distribution import Distribution, Vector
from multigraft.graphs.draw import Draw


def advantages(utilities: Sequence[float]) -> Vector:
    """Return each utility less the mean of the others; of a single one, which has no others, 0.

    A draw's baseline does not depend on that draw, so that it takes variance away and adds no bias. Were draws rejected, it would also take away the bias that
    comes of leaving the chance of being accepted out of the gradient.
    """
    num_others = len(utilities) - 1
    total = sum(utilities)
    return tuple(utility - (total - utility) / num_others for utility in utilities) if num_others else (0.0,) * len(utilities)


def policy_gradient(distribution: Distribution, draws: Sequence[Draw], utilities: Sequence[float], *, baseline: bool = True, live_only: bool = True) -> Vector:
    """Estimate, without bias, the gradient of the expected utility in the logits.

    Args:
        distribution: that the draws come from.
        draws: independent; at least one.
        utilities: one each, finite.
        baseline: subtract the mean utility of the other draws; with a single draw the estimate is then 0.
        live_only: see `Distribution.gradient`.

    Raises:
        InputError: no draw, or not as many utilities.
    """
    if not draws or len(draws) != len(utilities):
        message = f"{len(draws)} draws and {len(utilities)} utilities; give as many of one as of the other, at least one"
        raise InputError(message)
    weights = advantages(utilities) if baseline else tuple(utilities)
    total = [0.0] * distribution.layout.size
    for draw, weight in zip(draws, weights, strict=True):
        for place, value in enumerate(distribution.gradient(draw, live_only=live_only)):
            total[place] += weight * value
    return tuple(value / len(draws) for value in total)


@dataclass(frozen=True, kw_only=True, slots=True)
class Adam:
    """Steps of a size of their own for every logit.

    Args:
        rate: size of a step, > 0.
        first_decay: of the mean of gradients, in [0, 1).
        second_decay: of the mean of their squares, in [0, 1).
        num_steps: made so far.
        first: mean of gradients, biased to 0; empty before the first step.
        second: mean of their squares, likewise.

    Raises:
        InputError: a number outside its range.
    """

    rate: float = 0.1
    first_decay: float = 0.9
    second_decay: float = 0.999
    num_steps: int = 0
    first: Vector = ()
    second: Vector = ()

    def __post_init__(self) -> None:
        if not (self.rate > 0 and 0 <= self.first_decay < 1 and 0 <= self.second_decay < 1):
            message = f"a rate of {self.rate} with decays of {self.first_decay} and {self.second_decay}; give a rate above 0 and decays from 0 to below 1"
            raise InputError(message)

    def ascended(self, distribution: Distribution, gradient: Sequence[float]) -> tuple[Self, Distribution]:
        """Go one step uphill.

        Returns:
            The state of the next step, and the distribution moved.
        """
        zeros = (0.0,) * len(gradient)
        first = _mixed(self.first or zeros, gradient, self.first_decay)
        second = _mixed(self.second or zeros, [slope * slope for slope in gradient], self.second_decay)
        num_steps = self.num_steps + 1
        first_scale, second_scale = 1 - self.first_decay**num_steps, 1 - self.second_decay**num_steps
        steps = [mean / first_scale / (sqrt(square / second_scale) + 1e-8) for mean, square in zip(first, second, strict=True)]
        return replace(self, num_steps=num_steps, first=first, second=second), distribution.moved(steps, self.rate)


def _mixed(old: Sequence[float], new: Sequence[float], decay: float) -> Vector:
    return tuple(decay * before + (1 - decay) * now for before, now in zip(old, new, strict=True))
