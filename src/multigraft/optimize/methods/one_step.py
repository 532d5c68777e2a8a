"""How good a node's answer is, given how good those it reads are: learnt from every node evaluated, and followed from the sources to the sink of any graph.

All is linear with Gaussian beliefs (Bishop, "Pattern Recognition and Machine Learning", Springer 2006, section 3.3). What is not known well, such as the
strength of a model that nobody has asked yet, is carried along as a spread: each quality is worked out for the mean of beliefs and for some draws from them.
"""

from collections.abc import Mapping, Sequence
from math import log2
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy

from multigraft.graphs.costs import GraphCost
from multigraft.graphs.graph import Graph, Node, NodeRole
from multigraft.optimize.methods.gaussian import Floats
from multigraft.optimize.problem import Space
from multigraft.randomness import Draws

_STRENGTH: Final = (0.4, 0.2)
"""Mean and standard deviation of the quality of the cheapest model alone."""
_SLOPE: Final = (0.03, 0.03)
"""Of how much better a model is for each doubling of what it costs: dearer ones mostly are."""
_OWN_SD: Final = 0.1
"""Standard deviation of a model's strength beyond that."""

_EFFECTS: Final[Mapping[str, tuple[float, float]]] = {
    "towards the best read": (0.3, 0.3),
    "towards itself": (0.3, 0.25),
    "reading": (0.0, 0.04),
    "number": (0.02, 0.03),
    "number squared": (0.0, 0.015),
    "level": (0.0, 0.03),
    "level squared": (0.0, 0.015),
    "fuser": (0.0, 0.04),
    "sink": (0.0, 0.04),
}
"""Mean and standard deviation of what is added to the mean quality of the answers read: a share of the way to the best of them, a share of the way to what the
model says by itself, a little for more opinions; nothing else is known beforehand. The number of answers read, and the levels below, count in doublings."""
_READER_SD: Final = 0.04
"""Of how much better or worse a model reads than its strength lets expect."""
_MISFIT: Final = 0.03**2
"""Variance of what a step does beyond all that."""
_PAIRS: Final = 6
"""Draws from the beliefs, each with its mirror image."""


class Step(NamedTuple):
    """A node, and what it read."""

    node: Node
    read: tuple[float, ...]
    """Quality of each answer read; none: a model alone."""
    level: int
    inner: bool
    """Whether it is not the end of its graph."""
    value: float
    """Measured quality of its answer."""
    noise: float
    """Variance of the value."""


class OneStep:
    """The learnt model.

    Args:
        space: the models there are.
        steps: what was measured.
    """

    def __init__(self, space: Space, steps: Sequence[Step]) -> None:
        names = tuple(dict.fromkeys((*space.models, *(sink.model for sink in space.sinks if sink.model))))
        self._place = {name: place for place, name in enumerate(names)}
        strengths = _strengths(space, names, [step for step in steps if not step.read])
        self._strengths = _drawn(*strengths, "strengths")
        self._weights = _drawn(*self._learnt([step for step in steps if step.read]), "weights")

    def of(self, graph: Graph) -> dict[str, Floats]:
        """Return the quality expected of each live node's answer: by the mean of the beliefs first, then by each draw."""
        levels = graph.depth_of()
        found: dict[str, Floats] = {}
        for node in graph.live_nodes:
            read = [found[source] for source in graph.read_by(node.node_id)]
            found[node.node_id] = self.step(node, read, levels[node.node_id], inner=node.node_id != graph.sink)
        return found

    def step(self, node: Node, read: Sequence[Floats], level: int, *, inner: bool) -> Floats:
        """Return the quality expected of a node's answer, given those of what it read, in the same form."""
        alone = self._strengths[:, self._place[node.model]] if node.model else None
        if not read:
            return numpy.zeros(len(self._strengths)) if alone is None else alone
        effects = _effects(node, read, level, alone, inner=inner)
        value = _mean(read)
        for place, effect in enumerate(effects):
            value = value + effect * self._weights[:, place]
        if node.model:
            value = value + self._weights[:, len(effects) + self._place[node.model]]
        return value.clip(0.0, 1.0)

    def _learnt(self, steps: Sequence[Step]) -> tuple[Floats, Floats]:
        num_models = len(self._place)
        mean = numpy.array([value for value, _ in _EFFECTS.values()] + [0.0] * num_models)
        precision = numpy.diag([deviation**-2.0 for _, deviation in _EFFECTS.values()] + [_READER_SD**-2.0] * num_models)
        if not steps:
            return mean, numpy.linalg.inv(precision)
        rows = numpy.array([self._row(step) for step in steps])
        sharpness = numpy.array([1.0 / (step.noise + _MISFIT) for step in steps])
        covariance = numpy.linalg.inv(precision + (rows.T * sharpness) @ rows)
        gained = numpy.array([step.value - sum(step.read) / len(step.read) for step in steps])
        return covariance @ (precision @ mean + rows.T @ (sharpness * gained)), covariance

    def _row(self, step: Step) -> list[float]:
        alone = self._strengths[:1, self._place[step.node.model]] if step.node.model else None
        effects = _effects(step.node, [numpy.array([value]) for value in step.read], step.level, alone, inner=step.inner)
        return [*(float(numpy.ravel(effect)[0]) for effect in effects), *(float(name == step.node.model) for name in self._place)]


def _effects(node: Node, read: Sequence[Floats], level: int, alone: Floats | None, *, inner: bool) -> list[Floats | float]:
    """Return what the weights of `_EFFECTS` are of."""
    number, height = log2(len(read)), log2(max(level, 1))
    mean = _mean(read)
    best = read[0]
    for other in read[1:]:
        best = numpy.maximum(best, other)
    # A node that calls no model has nothing to say of its own.
    own = 0.0 if alone is None else alone - mean
    return [best - mean, own, 1.0, number, number * number, height, height * height, float(node.role is NodeRole.FUSER), float(not inner)]


def _mean(read: Sequence[Floats]) -> Floats:
    found: Floats = sum(read[1:], start=read[0]) / len(read)
    return found


def _strengths(space: Space, names: Sequence[str], alone: Sequence[Step]) -> tuple[Floats, Floats]:
    """Return the quality of each model by itself: means and covariances."""
    sizes = [_size(space.costs.of(Graph((Node("a1", name),), (), "a1"))) for name in names]
    doublings = numpy.log2(numpy.array(sizes) / min(sizes))
    covariance: Floats = _STRENGTH[1] ** 2 + _SLOPE[1] ** 2 * numpy.outer(doublings, doublings) + _OWN_SD**2 * numpy.eye(len(names))
    mean: Floats = _STRENGTH[0] + _SLOPE[0] * doublings
    if not alone:
        return mean, covariance
    places = [names.index(step.node.model) for step in alone]
    own = covariance[numpy.ix_(places, places)] + numpy.diag([step.noise for step in alone])
    gain = numpy.linalg.solve(own, covariance[places]).T
    return mean + gain @ (numpy.array([step.value for step in alone]) - mean[places]), covariance - gain @ covariance[places]


def _drawn(mean: Floats, covariance: Floats, name: str) -> Floats:
    """Return the mean, and draws around it, a row each; always the same draws, so that one search's choices do not jump."""
    draws = Draws("one step", name)
    normal = NormalDist()
    values = numpy.array([[normal.inv_cdf(draws.uniform() or 0.5) for _ in mean] for _ in range(_PAIRS)])
    shifts = values @ numpy.linalg.cholesky(covariance + 1e-10 * numpy.eye(len(mean))).T
    found: Floats = numpy.concatenate([mean[None, :], mean + shifts, mean - shifts])
    return found


def _size(cost: GraphCost) -> float:
    return cost.flops or cost.units or cost.usd or cost.tokens or 1.0
