"""Our own search: what each node adds is learnt from every node of every graph evaluated, and the graph that promises most comes next."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy

from multigraft.graphs.canonical import graph_id
from multigraft.optimize.methods.belief import Belief, Candidate
from multigraft.optimize.methods.candidates import Candidates
from multigraft.optimize.methods.gaussian import Floats
from multigraft.optimize.methods.graph_kernel import expected_improvement
from multigraft.optimize.problem import Evaluation, MethodSearch, Problem, Proposal, proposed
from multigraft.randomness import Draws


@dataclass(frozen=True, kw_only=True)
class Surrogate:
    """Evaluates first the models side by side; then always the graph that is expected to improve most on the best.

    The quality of a graph is worked out node by node from the strengths of the models and the effects of reading, both learnt (`one_step`); a Gaussian process
    over features of graphs learns what that leaves open (`gaussian`). Needs `multigraft[optimize]`, and no optimiser model.

    Args:
        pool: regular graphs to choose from, drawn at the beginning; >= 1. A quarter as many random ones are added.
        neighbours: graphs added before each choice, near the best evaluated and the most promising; >= 0.
        most_alike: graphs evaluated of one mix of models and one width and depth at most, while there are others: they share outputs, and so their luck; >= 1.
        parts: whether the scores of nodes within graphs are learnt from, and not only those of the answers.

    Raises:
        ValueError: a setting out of its range.
    """

    consults: ClassVar[bool] = False

    pool: int = 400
    neighbours: int = 60
    most_alike: int = 2
    parts: bool = True

    def __post_init__(self) -> None:
        for name, least in (("pool", 1), ("neighbours", 0), ("most_alike", 1)):
            if getattr(self, name) < least:
                message = f"{name} must be at least {least}, not {getattr(self, name)}"
                raise ValueError(message)

    def search(self, problem: Problem) -> MethodSearch:
        """Propose one graph after the other, until as many as may be evaluated have been, or there are no others."""
        chooser = _Chooser(problem, self)
        for _ in range(problem.max_evaluations):
            chosen = chooser.choose()
            if chosen is None:
                return
            (evaluation,) = yield from proposed(Proposal(chosen.graph, "side by side" if chooser.belief.blank else "promising", chosen.notes))
            chooser.learn(evaluation)


class _Chooser:
    """The pool, what is believed of it, and what was taken from it."""

    def __init__(self, problem: Problem, settings: Surrogate) -> None:
        self._draws = Draws(problem.seed, "surrogate")
        self._settings = settings
        self.belief = Belief(problem.space, problem.objective, parts=settings.parts)
        self._candidates = Candidates(problem.space, self._draws)
        self._candidates.add_smallest()
        self._candidates.add_side_by_side()
        self._candidates.add_regular(settings.pool)
        self._candidates.add_random(settings.pool // 4)
        self._known: dict[str, Candidate] = {}
        self._done: dict[str, Candidate] = {}

    def learn(self, evaluation: Evaluation) -> None:
        """Take note of the graph that was chosen last."""
        self._done[graph_id(evaluation.graph)] = self.belief.candidate(evaluation.graph)
        self.belief.learn(evaluation)

    def choose(self) -> Candidate | None:
        """Return a graph not evaluated yet; None: the pool has no other."""
        if self.belief.blank:
            return self._side_by_side()
        share = self._settings.neighbours // 6
        done = list(self._done.values())
        utilities, _ = self.belief.utilities(done)
        best = done[_highest(utilities, 1)[0]]
        for place in _highest(utilities, 2):
            self._candidates.add_neighbours(done[place].graph, share)
        for _ in range(2):
            pool = self._open()
            for place in _highest(self._promise(pool, best), 2):
                self._candidates.add_neighbours(pool[place].graph, share)
        pool = self._open()
        return pool[_highest(self._promise(pool, best), 1)[0]] if pool else None

    def _side_by_side(self) -> Candidate | None:
        """Return a graph in which as many models as possible answer by themselves, so that all of them are known from the first graph on."""
        pool = self._open()
        return max(pool, key=_variety) if pool else None

    def _open(self) -> list[Candidate]:
        for key, found in self._candidates.graphs.items():
            if key not in self._known:
                self._known[key] = self.belief.candidate(found.graph, found.notes)
        pool = [item for key, item in self._known.items() if key not in self._done]
        met = Counter((item.point.features.mix, item.point.features.shape) for item in self._done.values())
        others = [item for item in pool if met[item.point.features.mix, item.point.features.shape] < self._settings.most_alike]
        return others or pool

    def _promise(self, pool: Sequence[Candidate], best: Candidate) -> Floats:
        if not pool:
            return numpy.zeros(0)
        return numpy.array([expected_improvement(mean, deviation) for mean, deviation in zip(*self.belief.ahead(pool, best), strict=True)])


def _variety(item: Candidate) -> tuple[int, int]:
    alone = {node.model for node in item.graph.nodes if not item.graph.read_by(node.node_id)}
    return len(alone), -len(item.graph.nodes) - len(item.graph.edges)


def _highest(values: Floats, count: int) -> list[int]:
    """Return the places of the highest values, the highest first; of equals the first."""
    return [int(place) for place in numpy.argsort(-values, kind="stable")[:count]]
