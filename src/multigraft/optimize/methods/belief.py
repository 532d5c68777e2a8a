"""What a search believes of graphs: quality as learnt step by step, corrected by graphs that are alike, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy

from multigraft.graphs.graph import Graph
from multigraft.optimize.methods.evidence import Evidence, adjusted_means, noise_of
from multigraft.optimize.methods.features import Featuriser
from multigraft.optimize.methods.gaussian import Alike, Floats, Kernel, Point, Posterior, Stack, compared
from multigraft.optimize.methods.one_step import OneStep, Step
from multigraft.optimize.problem import Evaluation, Objective, Space, Trial

_PLAIN = 0.4
"""Quality expected of any graph where nothing is learnt step by step."""
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
    expected: Floats
    """Quality learnt step by step: by the mean of the beliefs, then by draws from them."""
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
        return Candidate(graph, notes, Point(self._featuriser.of(graph), inner=False), self._offset(graph), numpy.full(1, _PLAIN), -1)

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
        expected = self._stepwise(points, values, numpy.diag(noise))
        rest = values - expected[:, 0]
        stack = Stack(points, _shifts(expected))
        alike = compared(stack, stack)
        self._posterior = self._likeliest(stack, alike, rest, noise)

    def utilities(self, candidates: Sequence[Candidate]) -> tuple[Floats, Floats]:
        """Return the utility expected of each, and its standard deviation.

        Raises:
            ValueError: nothing was learnt yet.
        """
        expected = self._expected(candidates)
        means, deviations = self._known().at(Stack([item.point for item in candidates], _shifts(expected)))
        return means + expected[:, 0] + numpy.array([item.offset for item in candidates]), deviations

    def ahead(self, candidates: Sequence[Candidate], reference: Candidate) -> tuple[Floats, Floats]:
        """Return by how much the utility of each is expected to be above that of another, and the standard deviations of that.

        Raises:
            ValueError: nothing was learnt yet.
        """
        expected, base = self._expected(candidates), self._expected([reference])
        stack, single = Stack([item.point for item in candidates], _shifts(expected)), Stack([reference.point], _shifts(base))
        means, deviations = self._known().ahead(stack, single)
        return means + expected[:, 0] - base[0, 0] + numpy.array([item.offset - reference.offset for item in candidates]), deviations

    def _offset(self, graph: Graph) -> float:
        """Ask the objective what it makes of a score of a half."""
        cost = self._space.costs.of(graph)
        utility = self._objective.utility(Evaluation(graph, "train", (Trial(0, 0.5, latency_s=cost.latency_s or 0.0),), cost))
        return 0.0 if utility is None else utility - 0.5

    def _known(self) -> Posterior:
        if self._posterior is None:
            message = "nothing was learnt yet"
            raise ValueError(message)
        return self._posterior

    def _expected(self, candidates: Sequence[Candidate]) -> Floats:
        for item in candidates:
            if self._one_step is not None and item.learnt != self._num_learnt:
                item.expected, item.learnt = self._one_step.of(item.graph)[item.graph.sink], self._num_learnt
        return numpy.array([item.expected for item in candidates])

    def _stepwise(self, points: Sequence[Point], values: Floats, noise: Floats) -> Floats:
        """Learn what one node adds, and return the quality that this leads to expect at each point: by the mean of the beliefs, then by draws."""
        if not self._parts:
            return numpy.full((len(points), 1), _PLAIN)
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
            expected[point] = self._one_step.step(part.node, read, part.level, inner=point.inner) if known else self._one_step.unknown(_PLAIN)
        return numpy.array([expected[point] for point in points])

    def _likeliest(self, stack: Stack, alike: Alike, values: Floats, noise: Floats) -> Posterior:
        best = Posterior(self._kernel, stack, alike, values, noise)
        for change in _KERNELS:
            other = Posterior(replace(best.kernel, **change), stack, alike, values, noise)
            if other.log_likelihood > best.log_likelihood:
                best = other
        self._kernel = best.kernel
        return best


def _shifts(expected: Floats) -> Floats:
    """Return how each draw from the beliefs moves the quality expected of each point, so that their squares add up to its variance."""
    draws = expected.shape[1] - 1
    found: Floats = (expected[:, 1:] - expected[:, :1]) / numpy.sqrt(draws) if draws else numpy.zeros((len(expected), 1))
    return found
