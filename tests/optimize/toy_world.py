"""A world small enough to know: one model, agents side by side below a sink, and a quality that depends on how many there are."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from multigraft.budget.amount import Amount
from multigraft.graphs.canonical import graph_id
from multigraft.graphs.costs import Caps, GraphCost
from multigraft.graphs.graph import SINK, Graph, Node
from multigraft.optimize.loop.objectives import Quality
from multigraft.optimize.loop.search import SearchSettings
from multigraft.optimize.problem import Evaluation, MethodSearch, Objective, Problem, Proposal, Run, Space, Split, Trial, proposed, sink_node
from multigraft.randomness import Draws

PEAK = 9
MOST_QUESTIONS = 32


class CallCosts:
    """A call is a unit, a tenth of a second and a hundred tokens."""

    def of(self, graph: Graph) -> GraphCost:
        calls = len(graph.live)
        return GraphCost(calls, 100.0 * calls, units=float(calls), latency_s=0.1 * (graph.depth_of()[graph.sink] + 1))


def fan(width: int, prefix: str = "a") -> Graph:
    """So many agents side by side, and the sink; its number of live nodes is width + 1."""
    agents = [f"{prefix}{number}" for number in range(1, width + 1)]
    return Graph((*(Node(agent, "m") for agent in agents), Node(SINK, "m")), tuple((agent, SINK) for agent in agents))


def chain(depth: int) -> Graph:
    """Agents one after the other, and the sink."""
    ids = [f"a{number}" for number in range(1, depth + 1)] + [SINK]
    return Graph(tuple(Node(node_id, "m") for node_id in ids), tuple(pairwise(ids)))


def peaked(graph: Graph) -> float:
    """Quality 0.6 with nine live nodes, and 0.04 less for each node more or less, down to 0.1."""
    return max(0.1, 0.6 - 0.04 * abs(len(graph.live) - PEAK))


def flat(graph: Graph) -> float:
    """All graphs are alike."""
    return 0.5


class ToyWorld:
    """Right or wrong by a draw for each question and graph; half of the time by the question's alone, so that graphs agree more often than by chance."""

    def __init__(self, quality: Callable[[Graph], float], seed: int = 0) -> None:
        self.quality, self.seed = quality, seed
        self._known: dict[tuple[Split, Graph], list[bool]] = {}

    def evaluate(self, run: Run) -> Evaluation:
        right = self._right(run)
        trials = tuple(Trial(question, float(right[question]), spent=Amount(tokens=100, calls=1)) for question in run.questions)
        return Evaluation(run.graph, run.split, trials, CallCosts().of(run.graph))

    def _right(self, run: Run) -> list[bool]:
        key = run.split, run.graph
        if key not in self._known:
            shared, own = Draws(self.seed, run.split), Draws(self.seed, run.split, graph_id(run.graph))
            quality = self.quality(run.graph)
            self._known[key] = [
                (question if own.uniform() < 0.5 else own.uniform()) < quality for question in (shared.uniform() for _ in range(MOST_QUESTIONS))
            ]
        return self._known[key]


@dataclass(frozen=True)
class Listed:
    """Proposes what it was given, so many at once."""

    proposals: tuple[Proposal, ...]
    batch: int = 1
    heard: Callable[[tuple[Evaluation, ...]], object] = lambda _: None
    consults: ClassVar[bool] = False

    def search(self, problem: Problem) -> MethodSearch:
        for start in range(0, len(self.proposals), self.batch):
            self.heard((yield from proposed(*self.proposals[start : start + self.batch])))


def listed(graphs: Iterable[Graph], **settings: Any) -> Listed:
    return Listed(tuple(Proposal(graph, "list") for graph in graphs), **settings)


def shuffled_fans(seed: int, count: int = 30) -> list[Graph]:
    return [fan(width) for width in Draws("fans", seed).shuffled(range(1, count + 1))]


def toy_problem(*, caps: Caps | None = None, objective: Objective | None = None, max_evaluations: int = 30) -> Problem:
    space = Space(models=("m",), sinks=(sink_node("m"),), costs=CallCosts(), caps=caps or Caps(), max_agents=40, max_in_degree=40)
    return Problem(space=space, objective=objective or Quality(), max_evaluations=max_evaluations)


def toy_settings(**changed: Any) -> SearchSettings:
    return SearchSettings(**{"num_train": 30, "num_validation": 20, "patience": 0, "compare_singles": False} | changed)
