"""What a search believes of graphs: quality as learnt step by step, corrected by graphs that are alike, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy

from multigraft.graphs.cones import cone
from multigraft.graphs.graph import Graph
from multigraft.optimize.methods.evidence import Evidence, adjusted_means, noise_of
from multigraft.optimize.methods.features import Featuriser
from multigraft.optimize.methods.gaussian import Alike, Floats, Kernel, Point, Posterior, Stack, compared
from multigraft.optimize.methods.one_step import OneStep, Step
from multigraft.optimize.problem import Evaluation, Objective, Space, Trial

_PLAIN = 0.4
"""Quality expected of any graph where nothing is learnt step by step."""
_MEASURED = 0.1**2
"""Variance that a measurement is expected to have, before there is any."""
_KERNELS: Final = (
    *({"scale": scale} for scale in (0.004, 0.008, 0.016, 0.032, 0.064)),
    *({"mix_length": length} for length in (0.5, 1.0, 2.0)),
    *({"shape_length": length} for length in (0.3, 0.6, 1.2, 2.4)),
    *({"detail_length": length} for length in (0.75, 1.5, 3.0)),
    *({"own": share} for share in (0.02, 0.1, 0.3)),
    *({"inner": share} for share in (0.05, 0.15, 0.45)),
)
"""Changes to the kernel that are tried in turn; one that makes the measurements likelier is kept."""


@dataclass(slots=True)
class Candidate:
    """A graph that could be evaluated, or was."""

    graph: Graph
    notes: tuple[str, ...]
    point: Point
    offset: float
    """Of the utility from the quality."""
    expected: float
    """Quality learnt step by step."""
    spread: float
    """Variance of that."""
    learnt: int
    """When that was last worked out."""


class Belief:
    """Learns from evaluations, and judges candidates.

    Args:
        space: which graphs are searched.
        objective: what is maximised: quality, less something that is known of each graph.
        parts: whether nodes within graphs are learnt from.
    """

    def __init__(self, space: Space, objective: Objective, *, parts: bool) -> None:
        self._space, self._objective, self._parts = space, objective, parts
        self._featuriser = Featuriser(space)
        self._evidence = Evidence(self._featuriser, parts=parts)
        self._kernel = Kernel()
        self._one_step: OneStep | None = None
        self._posterior: Posterior | None = None
        self._num_learnt = 0

    @property
    def blank(self) -> bool:
        """Whether nothing was learnt yet."""
        return self._posterior is None

    def candidate(self, graph: Graph, notes: tuple[str, ...] = ()) -> Candidate:
        """Prepare a graph for being judged."""
        return Candidate(graph, notes, Point(self._featuriser.of(graph), inner=False), self._offset(graph), _PLAIN, 0.0, 0)

    def learn(self, evaluation: Evaluation) -> None:
        """Take note of an evaluation, and work out anew what it tells together with all before."""
        self._evidence.add(evaluation)
        seen = self._evidence.seen
        if not seen:
            return
        points = [point for point, _ in seen]
        values = numpy.array(adjusted_means([scores for _, scores in seen]))
        noise = noise_of([scores for _, scores in seen])
        self._num_learnt += 1
        rest = values - self._stepwise(points, values, numpy.diag(noise))
        stack = Stack(points)
        alike = compared(stack, stack)
        self._posterior = self._likeliest(stack, alike, rest, noise)

    def judged(self, candidates: Sequence[Candidate]) -> tuple[Floats, Floats]:
        """Return the utility expected of each, and its standard deviation.

        Raises:
            ValueError: nothing was learnt yet.
        """
        if self._posterior is None:
            message = "nothing was learnt yet"
            raise ValueError(message)
        means, deviations = self._posterior.at(Stack([item.point for item in candidates]))
        for item in candidates:
            self._follow(item)
        means = means + numpy.array([item.expected + item.offset for item in candidates])
        return means, numpy.sqrt(deviations**2 + numpy.array([item.spread for item in candidates]))

    def information(self, candidate: Candidate, targets: Stack) -> float:
        """Return by how much the variances at some points fall together once a graph and its parts are measured, before anything is."""
        graph = candidate.graph
        points = {candidate.point: None}
        if self._parts:
            inside = [node.node_id for node in graph.live_nodes if node.node_id != graph.sink]
            points |= {Point(self._featuriser.of(cone(graph, name)), inner=bool(graph.read_by(name))): None for name in inside}
        stack = Stack(list(points))
        cross = self._kernel.of(compared(targets, stack))
        own = self._kernel.of(compared(stack, stack)) + numpy.eye(len(stack)) * (_MEASURED + self._kernel.scale * self._kernel.own)
        return float((cross * numpy.linalg.solve(own, cross.T).T).sum())

    def _offset(self, graph: Graph) -> float:
        """Ask the objective what it makes of a score of a half."""
        cost = self._space.costs.of(graph)
        utility = self._objective.utility(Evaluation(graph, "train", (Trial(0, 0.5, latency_s=cost.latency_s or 0.0),), cost))
        return 0.0 if utility is None else utility - 0.5

    def _follow(self, item: Candidate) -> None:
        if self._one_step is not None and item.learnt != self._num_learnt:
            found = self._one_step.of(item.graph)[item.graph.sink]
            item.expected, item.spread, item.learnt = float(found[0]), float(found[1:].var()), self._num_learnt

    def _stepwise(self, points: Sequence[Point], values: Floats, noise: Floats) -> Floats:
        """Learn what one node adds, and return the quality that this leads to expect at each point."""
        if not self._parts:
            return numpy.full(len(points), _PLAIN)
        value, uncertainty = dict(zip(points, values.tolist(), strict=True)), dict(zip(points, noise.tolist(), strict=True))
        parts = {point: self._evidence.parts[point] for point in points}
        steps = [
            Step(part.node, tuple(value[read] for read in part.read if read in value), part.level, point.inner, value[point], uncertainty[point])
            for point, part in parts.items()
        ]
        self._one_step = OneStep(self._space, [step for step in steps if step.read or step.level == 0])
        expected: dict[Point, Floats] = {}
        for point, part in sorted(parts.items(), key=lambda item: item[1].level):
            read = [expected[source] for source in part.read if source in expected]
            known = bool(read) or part.level == 0
            expected[point] = self._one_step.step(part.node, read, part.level, inner=point.inner) if known else numpy.array([_PLAIN])
        return numpy.array([float(expected[point][0]) for point in points])

    def _likeliest(self, stack: Stack, alike: Alike, values: Floats, noise: Floats) -> Posterior:
        best = Posterior(self._kernel, stack, alike, values, noise)
        for change in _KERNELS:
            other = Posterior(replace(best.kernel, **change), stack, alike, values, noise)
            if other.log_likelihood > best.log_likelihood:
                best = other
        self._kernel = best.kernel
        return best
