"""What evaluations tell of graphs, and what each node within them tells of the smaller graph that leads to it.

A node's own output is the answer of the graph that ends in it, so an evaluated graph brings a score of each of its parts, free of charge: of models alone, of
every shorter chain, of all that its sink was given to read.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy

from multigraft.graphs.cones import cone
from multigraft.graphs.graph import Node
from multigraft.optimize.methods.features import Featuriser
from multigraft.optimize.methods.gaussian import Floats, Point
from multigraft.optimize.problem import Evaluation

_INDEPENDENT: Final = 0.2
"""Share of the noise that is taken for independent, as covariances of a few questions are themselves uncertain."""


class Evidence:
    """Collects it, by the features of what was seen: what the model cannot tell apart counts as measured twice.

    Args:
        featuriser: of the space.
        parts: whether nodes within graphs count.
    """

    def __init__(self, featuriser: Featuriser, *, parts: bool) -> None:
        self._featuriser = featuriser
        self._parts = parts
        self._seen: dict[Point, dict[int, list[float]]] = {}
        self.parts: dict[Point, Part] = {}
        """How each point came about, the first time it did."""

    @property
    def seen(self) -> list[tuple[Point, Mapping[int, float]]]:
        """What has a score, in the order it came, with its mean score of each question."""
        return [(point, {question: sum(scores) / len(scores) for question, scores in found.items()}) for point, found in self._seen.items()]

    def add(self, evaluation: Evaluation) -> None:
        """Take the scores of a graph and of its parts."""
        graph = evaluation.graph
        levels = graph.depth_of()
        points: dict[str, Point] = {}
        for node in graph.live_nodes:
            at_end = node.node_id == graph.sink
            read = graph.read_by(node.node_id)
            if at_end:
                point = Point(self._featuriser.of(graph), inner=False)
                scores: Mapping[int, float | None] = {trial.question: trial.score for trial in evaluation.trials}
            elif self._parts:
                # A node that reads nothing is asked as a graph of one node is.
                point = Point(self._featuriser.of(cone(graph, node.node_id)), inner=bool(read))
                scores = {trial.question: trial.node_scores.get(node.node_id) for trial in evaluation.trials}
            else:
                continue
            points[node.node_id] = point
            self._take(point, scores)
            self.parts.setdefault(point, Part(node, tuple(points[source] for source in read if source in points), levels[node.node_id]))

    def _take(self, point: Point, scores: Mapping[int, float | None]) -> None:
        known = {question: score for question, score in scores.items() if score is not None}
        if known:
            found = self._seen.setdefault(point, {})
            for question, score in known.items():
                found.setdefault(question, []).append(score)


class Part(NamedTuple):
    """A node, and the points of what it read."""

    node: Node
    read: tuple[Point, ...]
    level: int


def adjusted_means(scores: Sequence[Mapping[int, float]]) -> list[float]:
    """Return the mean score of each row as if all had answered the same questions, which differ in difficulty.

    Rows and questions add up (two-way analysis of variance, by alternating means); a question that few have answered is taken for one of average difficulty.

    Args:
        scores: by question, a mapping for each row, none empty.
    """
    means = [sum(row.values()) / len(row) for row in scores]
    if len({frozenset(row) for row in scores}) == 1:
        return means
    offsets: dict[int, float] = {}
    for _ in range(4):
        residuals: dict[int, list[float]] = {}
        for row, mean in zip(scores, means, strict=True):
            for question, score in row.items():
                residuals.setdefault(question, []).append(score - mean)
        offsets = {question: sum(found) / (len(found) + 1.0) for question, found in residuals.items()}
        means = [sum(score - offsets[question] for question, score in row.items()) / len(row) for row in scores]
    return means


def noise_of(scores: Sequence[Mapping[int, float]]) -> Floats:
    """Return the covariances of the means of rows, as they vary from question to question.

    Rows on the same questions are right and wrong together: questions are easy or hard for all, and graphs share outputs. Where they agree for these reasons is
    no evidence twice over, and how they differ is known better than how good either is.

    Args:
        scores: by question, a mapping for each row, none empty.
    """
    questions = {question: place for place, question in enumerate(sorted(set().union(*scores)))}
    counts = numpy.array([float(len(row)) for row in scores])
    deviations = numpy.zeros((len(scores), len(questions)))
    for place, row in enumerate(scores):
        mean = sum(row.values()) / len(row)
        for question, score in row.items():
            deviations[place, questions[question]] = score - mean
    means = numpy.array([sum(row.values()) / len(row) for row in scores])
    # One right and one wrong answer more, so that few answers that agree are not taken for certainty.
    shares = (means.clip(0.0, 1.0) * counts + 1.0) / (counts + 2.0)
    found: Floats = (1.0 - _INDEPENDENT) * (deviations @ deviations.T) / numpy.outer(counts, counts)
    return found + numpy.diag(numpy.maximum(shares * (1.0 - shares) / counts - numpy.diag(found), 1e-6))
