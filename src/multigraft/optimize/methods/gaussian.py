"""A Gaussian process over graphs: what is to be expected of a graph nobody has run, and how sure that is.

The covariance is a sum of parts, each of which generalises over something else: what one graph shows of a model holds for other shapes, and what it shows of a
shape for other models. Nodes within graphs are alike graphs that end there, but for a difference of their own.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning" (MIT Press 2006), algorithm 2.1 and sections 4.2 and 5.4.1; the parts are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy
from numpy.typing import NDArray

from multigraft.optimize.methods.features import Features

Floats: TypeAlias = NDArray[numpy.float64]

_PRIOR_PRECISION = 100.0
"""Of the mean over all graphs, which is expected to be 0, give or take 0.1."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where something is, or could be, measured."""

    features: Features
    inner: bool
    """Whether it is a node in the midst of a graph, and not a graph's answer."""


class Stack:
    """Points as arrays."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.mix = numpy.array([point.features.mix for point in points])
        self.shape = numpy.array([point.features.shape for point in points])
        self.detail = numpy.array([point.features.detail for point in points])
        self.inner = numpy.array([float(point.inner) for point in points])

    def __len__(self) -> int:
        return len(self.inner)


@dataclass(frozen=True, slots=True)
class Alike:
    """How far pairs of points are from each other, whatever the kernel."""

    mix: Floats
    shape: Floats
    detail: Floats
    linear: Floats
    inner: Floats


def compared(one: Stack, other: Stack) -> Alike:
    """Compare each point with each."""
    centred = [(_centred(one.mix), _centred(other.mix)), (_centred(one.shape), _centred(other.shape))]
    linear: Floats = sum((first @ second.T for first, second in centred), start=numpy.zeros((len(one), len(other)))) / 2
    return Alike(
        _distances(one.mix, other.mix), _distances(one.shape, other.shape), _distances(one.detail, other.detail), linear, numpy.outer(one.inner, other.inner)
    )


@dataclass(frozen=True, slots=True)
class Kernel:
    """Covariance of the qualities of two graphs.

    Args:
        mix_length: distance of mixes at which little is left in common.
        shape_length: of shapes.
        detail_length: of details.
        scale: variance over graphs.
        own: share of it in addition that each graph has to itself, whatever it is like.
        inner: share in addition by which nodes within graphs differ from graphs that end there.
    """

    mix_length: float = 1.0
    shape_length: float = 0.6
    detail_length: float = 1.5
    scale: float = 0.02
    own: float = 0.1
    inner: float = 0.15

    def of(self, alike: Alike) -> Floats:
        """Return the covariances of points compared."""
        mix = _matern(alike.mix, self.mix_length)
        shape = _matern(alike.shape, self.shape_length)
        both = mix * shape
        total = 0.3 * alike.linear + 0.3 * mix + 0.3 * shape + both * (0.25 + 0.15 * _matern(alike.detail, self.detail_length))
        found: Floats = self.scale * (total + alike.inner * self.inner * (0.33 + 0.67 * both))
        return found

    def variances(self, points: Stack) -> Floats:
        """Return the variance at each point."""
        linear = ((_centred(points.mix) ** 2).sum(axis=1) + (_centred(points.shape) ** 2).sum(axis=1)) / 2
        found: Floats = self.scale * (0.3 * linear + 1.0 + points.inner * self.inner)
        return found


class Posterior:
    """What is known after some measurements.

    Args:
        kernel: the covariance.
        points: what was measured.
        alike: the points compared with each other.
        values: what came out.
        noise: covariances of the values, had each point one true value.
    """

    def __init__(self, kernel: Kernel, points: Stack, alike: Alike, values: Floats, noise: Floats) -> None:
        self.kernel, self.points = kernel, points
        self._cholesky = numpy.linalg.cholesky(kernel.of(alike) + noise + numpy.eye(len(points)) * kernel.scale * kernel.own)
        ones = numpy.ones(len(points))
        halves = numpy.linalg.solve(self._cholesky, numpy.stack([ones, values], axis=1))
        weight = float(halves[:, 0] @ halves[:, 0]) + _PRIOR_PRECISION
        self.mean = float(halves[:, 0] @ halves[:, 1]) / weight
        rest = halves[:, 1] - self.mean * halves[:, 0]
        self._weights = numpy.linalg.solve(self._cholesky.T, rest)
        self.log_likelihood = float(-0.5 * rest @ rest - numpy.log(numpy.diag(self._cholesky)).sum())

    def at(self, points: Stack) -> tuple[Floats, Floats]:
        """Return the expected values at some points, and their standard deviations."""
        covariance = self.kernel.of(compared(points, self.points))
        means: Floats = self.mean + covariance @ self._weights
        reduced = numpy.linalg.solve(self._cholesky, covariance.T)
        variances = self.kernel.variances(points) + self.kernel.scale * self.kernel.own - (reduced * reduced).sum(axis=0)
        return means, numpy.sqrt(numpy.maximum(variances, 1e-9))


def _distances(one: Floats, other: Floats) -> Floats:
    squared = (one * one).sum(axis=1)[:, None] + (other * other).sum(axis=1)[None, :] - 2.0 * one @ other.T
    found: Floats = numpy.sqrt(5.0 * numpy.maximum(squared, 0.0))
    return found


def _matern(distance: Floats, length: float) -> Floats:
    scaled = distance / length
    found: Floats = (1.0 + scaled + scaled * scaled / 3.0) * numpy.exp(-scaled)
    return found


def _centred(values: Floats) -> Floats:
    return values - 0.5
