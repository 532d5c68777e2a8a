"""What search methods are compared on: tasks of the simulated world, budgets, and the best graphs known for them."""

import argparse
import json
import time
from collections.abc import Mapping
from functools import lru_cache
from math import exp
from pathlib import Path
from typing import Final, NamedTuple

from multigraft.graphs.blocks import parallel
from multigraft.graphs.canonical import canonical, graph_id
from multigraft.graphs.costs import Caps
from multigraft.graphs.graph import SINK, Edge, Graph, Node
from multigraft.graphs.graph_file import graph_of, text_of
from multigraft.models.simulated.costs import simulated_costs
from multigraft.models.simulated.tasks import HUGE, LARGE, MEDIUM, SMALL, TASKS, SimulatedTask
from multigraft.models.simulated.world import TRUE_QUESTIONS, reference, true_quality
from multigraft.optimize.fitting import fitted, fitted_graph
from multigraft.optimize.problem import Space
from multigraft.randomness import Draws

BEST_FILE: Final = Path(__file__).parent / "results" / "graph_search_best.json"
CLIMBS: Final = 6
STEPS: Final = 3000
CLIMB_QUESTIONS: Final = 1000
"""The long search looks at other questions than those that a graph's quality is then taken on."""


class Case(NamedTuple):
    """A search to be done."""

    task: str
    agents: int
    """Whose densest graph of the smallest model gives the budget, as in arXiv 2511.00086, appendix A.8."""
    max_agents: int
    models: tuple[str, ...] = (SMALL, MEDIUM, LARGE, HUGE)


CASES: Final[Mapping[str, Case]] = {
    "math-4": Case("math", 4, 8),
    "math-8": Case("math", 8, 12),
    "math-8-small": Case("math", 8, 12, (SMALL,)),
    "mmlu-8": Case("mmlu", 8, 12),
    "humaneval-4": Case("humaneval", 4, 8),
    "math-tiny": Case("math", 4, 2, (SMALL, MEDIUM)),
}
"""Of four models; of the smallest alone, where only the shape counts; and one small enough to be tried out in full."""


@lru_cache(maxsize=16)
def space_of(name: str) -> Space:
    """Which graphs a case allows: up to a number of agents of four models, and a sink of the second smallest, as in the paper."""
    case = CASES[name]
    costs = simulated_costs(TASKS[case.task])
    return Space(
        models=case.models,
        sinks=(Node(SINK, MEDIUM),),
        costs=costs,
        caps=Caps(units=costs.dense_cap(case.agents, SMALL, MEDIUM)),
        max_agents=case.max_agents,
    )


class Qualities:
    """True qualities of the graphs of a task, each worked out once."""

    def __init__(self, task: SimulatedTask) -> None:
        self._judge = reference(task)
        self._known: dict[str, float] = {}

    def of(self, graph: Graph) -> float:
        """True quality of a graph."""
        key = graph_id(graph)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = true_quality(self._judge, canonical(graph))
        return found


class Known(NamedTuple):
    """The best graph that anything has found."""

    quality: float
    graph: Graph


def climbed(name: str, number: int) -> Known:
    """Look long for a good graph: simulated annealing on noiseless quality, thirty thousand times what a method may see."""
    space, task = space_of(name), TASKS[CASES[name].task]
    judge = reference(task)
    draws = Draws("climb", name, number)
    questions = range(len(TRUE_QUESTIONS), len(TRUE_QUESTIONS) + CLIMB_QUESTIONS)
    seen: dict[str, float] = {}

    def quality(graph: Graph) -> float:
        key = graph_id(graph)
        if key not in seen:
            seen[key] = true_quality(judge, graph, questions)
        return seen[key]

    side_by_side = parallel([space.models[number % len(space.models)]] * space.max_agents, space.sinks[0])
    graph = fitted_graph(side_by_side, space, draws=draws).graph
    now = quality(graph)
    top: dict[str, tuple[float, Graph]] = {}
    for step in range(STEPS):
        heat = 0.01 * (1 - step / STEPS) + 1e-5
        other = mutated(graph, space, draws)
        found = quality(other)
        if found >= now or draws.uniform() < exp((found - now) / heat):
            graph, now = other, found
            top[graph_id(graph)] = now, graph
    finalists = sorted(top.values(), key=lambda pair: -pair[0])[:10]
    qualities = Qualities(task)
    best = max((graph for _, graph in finalists), key=qualities.of)
    return Known(qualities.of(best), best)


def mutated(graph: Graph, space: Space, draws: Draws) -> Graph:
    """Change a graph a little: an edge, a node, a model or a role."""
    nodes, edges = list(graph.nodes), set(graph.edges)
    agents = [node for node in nodes if node.node_id != graph.sink]
    for _ in range(1 + draws.below(2)):
        kind = draws.below(6)
        if kind == 0 or not agents:
            name = next(f"a{number}" for number in range(1, len(nodes) + 2) if all(node.node_id != f"a{number}" for node in nodes))
            new = Node(name, space.models[draws.below(len(space.models))])
            readers = [node.node_id for node in nodes]
            edges.add((name, readers[draws.below(len(readers))]))
            if agents and draws.uniform() < 0.5:
                edges.add((agents[draws.below(len(agents))].node_id, name))
            nodes.append(new)
        elif kind == 1:
            nodes.remove(agents[draws.below(len(agents))])
        elif kind == 2:
            old = agents[draws.below(len(agents))]
            nodes[nodes.index(old)] = Node(old.node_id, space.models[draws.below(len(space.models))], old.role)
        elif kind == 3:
            old = agents[draws.below(len(agents))]
            nodes[nodes.index(old)] = Node(old.node_id, old.model, space.roles[draws.below(len(space.roles))])
        else:
            edges ^= {_any_edge(agents, nodes, draws)}
        agents = [node for node in nodes if node.node_id != graph.sink]
    ids = {node.node_id for node in nodes}
    kept = sorted(edge for edge in edges if edge[0] in ids and edge[1] in ids and edge[0] != edge[1])
    return canonical(fitted(nodes, kept, SINK, space, draws=draws, connect_useless=True).graph)


def _any_edge(agents: list[Node], nodes: list[Node], draws: Draws) -> Edge:
    source = agents[draws.below(len(agents))].node_id
    targets = [node.node_id for node in nodes if node.node_id != source]
    return source, targets[draws.below(len(targets))]


def known_best(name: str) -> Known:
    """Read the best known graph of a case.

    Raises:
        KeyError: it was never looked for; run `python -m benchmarks.graph_search_cases`.
    """
    row = json.loads(BEST_FILE.read_text(encoding="utf-8"))[name]
    return Known(row["quality"], graph_of(json.dumps(row["graph"])))


def keep_best(found: Mapping[str, Known]) -> None:
    """Write the best known graphs down; those of other cases stay as they are, and a better one is not overwritten."""
    rows = json.loads(BEST_FILE.read_text(encoding="utf-8")) if BEST_FILE.exists() else {}
    better = {name: known for name, known in found.items() if known.quality > rows.get(name, {"quality": 0.0})["quality"]}
    if not better:
        return
    rows |= {name: {"quality": known.quality, "graph": json.loads(text_of(known.graph))} for name, known in better.items()}
    BEST_FILE.parent.mkdir(exist_ok=True)
    BEST_FILE.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--afresh", action="store_true", help="forget what is known, as after a change of the world")
    flags = parser.parse_args()
    if flags.afresh:
        BEST_FILE.unlink(missing_ok=True)
    for name in flags.cases.split(","):
        climbs = [climbed(name, number) for number in range(CLIMBS)]
        print(name, " ".join(f"{known.quality:.4f}" for known in sorted(climbs, key=lambda known: -known.quality)), flush=True)
        keep_best({name: max(climbs, key=lambda known: known.quality)})
    print(f"{time.process_time():.0f} s of CPU")


if __name__ == "__main__":
    main()
