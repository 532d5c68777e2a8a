"""A Gaussian process whose kernel compares graphs by the nodes they have in common, each with what leads to it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import erf, exp, pi, sqrt
from typing import TypeAlias

import numpy
from numpy.typing import NDArray

from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import Graph
from multigraft.optimize.fitting import Fitted
from multigraft.optimize.methods.neighbours import mutated
from multigraft.optimize.methods.random_graphs import GraphDrawer
from multigraft.optimize.problem import Space
from multigraft.randomness import Draws, key_of

Floats: TypeAlias = NDArray[numpy.float64]

_NOISES = (0.03, 0.1, 0.3, 1.0)
"""Variance of the noise, as a share of that of the utilities; the likeliest is taken each time."""


class KernelLearner:
    """Chooses from a pool by expected improvement.

    Args:
        space: which graphs are allowed.
        draws: the randomness.
        drawer: of the random half of the pool; the other half are neighbours of the best so far.
        xi: by how much the best is to be exceeded; >= 0.
        pool: graphs to choose from; >= 1.
        iterations: how far a node looks at what leads to it; >= 0.
    """

    def __init__(self, space: Space, draws: Draws, drawer: GraphDrawer, *, xi: float, pool: int, iterations: int = 2) -> None:
        self._space, self._draws, self._drawer = space, draws, drawer
        self._xi, self._pool, self._iterations = xi, pool, iterations
        self._graphs: list[Graph] = []
        self._kinds: list[Mapping[int, int]] = []
        self._utilities: list[float] = []

    def learn(self, graph: Graph, utility: float) -> None:
        """Take note of a graph evaluated."""
        self._graphs.append(graph)
        self._kinds.append(subtrees(graph, self._iterations))
        self._utilities.append(utility)

    def propose(self) -> Fitted | None:
        """Return the graph of the pool that is expected to improve most; None: all of it is known."""
        seen = {graph_id(graph) for graph in self._graphs}
        pool: dict[str, Fitted] = {}
        best = sorted(range(len(self._graphs)), key=self._utilities.__getitem__, reverse=True)[:3]
        for number in range(self._pool):
            found = self._drawer.draw() if number % 2 or not best else mutated(self._graphs[best[number // 2 % len(best)]], self._space, self._draws)
            if (key := graph_id(found.graph)) not in seen:
                pool.setdefault(key, found)
        if not pool:
            return None
        candidates = list(pool.values())
        gains = self._improvements([found.graph for found in candidates]) if self._graphs else numpy.zeros(len(candidates))
        return candidates[int(numpy.argmax(gains))]

    def _improvements(self, graphs: list[Graph]) -> Floats:
        kernel, cross = likenesses(self._kinds, self._kinds), likenesses([subtrees(graph, self._iterations) for graph in graphs], self._kinds)
        values = numpy.array(self._utilities)
        spread = float(values.std()) or 1.0
        scaled = (values - values.mean()) / spread
        _, noise = max((_log_likelihood(kernel, scaled, noise), noise) for noise in _NOISES)
        inverse = numpy.linalg.inv(kernel + noise * numpy.eye(len(values)))
        means = cross @ inverse @ scaled
        deviations = numpy.sqrt(numpy.maximum(1.0 - numpy.einsum("ij,jk,ik->i", cross, inverse, cross), 1e-9))
        # What is exceeded is the best expected of those evaluated: the best utility is lucky.
        best = float((kernel @ inverse @ scaled).max())
        return numpy.array([expected_improvement(mean - best - self._xi / spread, deviation) for mean, deviation in zip(means, deviations, strict=True)])


def subtrees(graph: Graph, iterations: int) -> Counter[int]:
    """Count the kinds of nodes of the live part: by model and role, then again by the kinds of what each reads, as often as said.

    Source: Shervashidze et al., "Weisfeiler-Lehman Graph Kernels" (JMLR 12, 2011), algorithm 1; on the nodes read alone, so that a kind is what a node's output
    depends on.
    """
    labels = {node.node_id: key_of(node.model, node.role.value, int(node.node_id == graph.sink)) for node in graph.live_nodes}
    counts = Counter(labels.values())
    for _ in range(iterations):
        labels = {name: key_of(label, *sorted(labels[source] for source in graph.read_by(name))) for name, label in labels.items()}
        counts.update(labels.values())
    return counts


def likenesses(some: Sequence[Mapping[int, int]], others: Sequence[Mapping[int, int]]) -> Floats:
    """Return the cosine of each of some counts and each of others, in [0, 1]; a row for each of the first."""
    columns = {kind: place for place, kind in enumerate(sorted(set().union(*others)))}
    found: Floats = _unit_rows(some, columns) @ _unit_rows(others, columns).T
    return found


def _unit_rows(counts: Sequence[Mapping[int, int]], columns: Mapping[int, int]) -> Floats:
    rows = numpy.zeros((len(counts), len(columns)))
    for place, found in enumerate(counts):
        length = sqrt(sum(count * count for count in found.values()))
        for kind, count in found.items():
            if kind in columns:
                rows[place, columns[kind]] = count / length
    return rows


def expected_improvement(mean: float, deviation: float) -> float:
    """Return the mean of what a normal variable exceeds 0 by.

    Args:
        mean: of the variable.
        deviation: its standard deviation; > 0.
    """
    z = mean / deviation
    return deviation * (z * 0.5 * (1.0 + erf(z / sqrt(2.0))) + exp(-0.5 * z * z) / sqrt(2.0 * pi))


def _log_likelihood(kernel: Floats, values: Floats, noise: float) -> float:
    covariance = kernel + noise * numpy.eye(len(values))
    scale = float(values @ numpy.linalg.solve(covariance, values)) / len(values)
    _, log_determinant = numpy.linalg.slogdet(covariance)
    return -0.5 * (len(values) * float(numpy.log(scale + 1e-12)) + float(log_determinant))
