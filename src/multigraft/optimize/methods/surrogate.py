"""Our own search: what each node adds is learnt from every node of every graph evaluated, and the most promising graph comes next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy

from multigraft.graphs.canonical import graph_id
from multigraft.optimize.methods.belief import Belief, Candidate
from multigraft.optimize.methods.candidates import Candidates
from multigraft.optimize.methods.gaussian import Floats, Stack
from multigraft.optimize.problem import Evaluation, MethodSearch, Problem, Proposal, proposed
from multigraft.randomness import Draws

_COMPARED_AT_FIRST = 150
"""Graphs of the pool among which the first is chosen, and on which it is to tell most."""


@dataclass(frozen=True, kw_only=True)
class Surrogate:
    """Evaluates first the graph whose nodes tell most about all others; then always the one with the highest utility to hope for.

    The quality of a graph is worked out node by node from the strengths of the models and the effects of reading, both learnt (`one_step`); a Gaussian process
    over features of graphs learns what that leaves open (`gaussian`). Needs `multigraft[optimize]`, and no optimiser model.

    Args:
        pool: regular graphs to choose from, drawn at the beginning; >= 1. A quarter as many random ones are added.
        neighbours: graphs added before each choice, near the best evaluated and the most promising; >= 0.
        optimism: by how many standard deviations a graph is hoped to be better than expected, so that the unknown is tried; >= 0.
        parts: whether the scores of nodes within graphs are learnt from, and not only those of the answers.

    Raises:
        ValueError: a setting out of its range.
    """

    consults: ClassVar[bool] = False

    pool: int = 400
    neighbours: int = 60
    optimism: float = 1.0
    parts: bool = True

    def __post_init__(self) -> None:
        for name, least in (("pool", 1), ("neighbours", 0), ("optimism", 0.0)):
            if not getattr(self, name) >= least:
                message = f"{name} must be at least {least}, not {getattr(self, name)}"
                raise ValueError(message)

    def search(self, problem: Problem) -> MethodSearch:
        """Propose one graph after the other, until as many as may be evaluated have been, or there are no others."""
        chooser = _Chooser(problem, self)
        for _ in range(problem.max_evaluations):
            chosen = chooser.choose()
            if chosen is None:
                return
            (evaluation,) = yield from proposed(Proposal(chosen.graph, "informative" if chooser.belief.blank else "promising", chosen.notes))
            chooser.learn(evaluation)


class _Chooser:
    """The pool, what is believed of it, and what was taken from it."""

    def __init__(self, problem: Problem, settings: Surrogate) -> None:
        self._draws = Draws(problem.seed, "surrogate")
        self._settings = settings
        self.belief = Belief(problem.space, problem.objective, parts=settings.parts)
        self._candidates = Candidates(problem.space, self._draws)
        self._candidates.add_smallest()
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
            return self._most_informative()
        share = self._settings.neighbours // 6
        done = list(self._done.values())
        utilities, _ = self.belief.judged(done)
        for place in _highest(utilities, 2):
            self._candidates.add_neighbours(done[place].graph, share)
        for _ in range(2):
            pool = self._open()
            for place in _highest(self._promise(pool), 2):
                self._candidates.add_neighbours(pool[place].graph, share)
        pool = self._open()
        return pool[_highest(self._promise(pool), 1)[0]] if pool else None

    def _open(self) -> list[Candidate]:
        for key, found in self._candidates.graphs.items():
            if key not in self._known:
                self._known[key] = self.belief.candidate(found.graph, found.notes)
        return [item for key, item in self._known.items() if key not in self._done]

    def _most_informative(self) -> Candidate | None:
        pool = self._open()
        if not pool:
            return None
        targets = Stack([item.point for item in self._draws.sample(pool, _COMPARED_AT_FIRST)])
        chosen = self._draws.sample(pool, _COMPARED_AT_FIRST)
        return max(chosen, key=lambda item: self.belief.information(item, targets))

    def _promise(self, pool: Sequence[Candidate]) -> Floats:
        if not pool:
            return numpy.zeros(0)
        means, deviations = self.belief.judged(pool)
        found: Floats = means + self._settings.optimism * deviations
        return found


def _highest(values: Floats, count: int) -> list[int]:
    """Return the places of the highest values, the highest first; of equals the first."""
    return [int(place) for place in numpy.argsort(-values, kind="stable")[:count]]
