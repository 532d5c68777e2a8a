"""What an optimiser model is told of the search so far: one JSON object, which a program reads as well as a model does.

Source: Wang et al., arXiv 2511.00086, section 5.2 and appendix A.9 (accuracy, latency, edge probabilities, earlier turns). Intervals, costs, scores of single
agents and the list of all that was tried are ours.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from typing import Final, NamedTuple

from multigraft.analysis.intervals import estimate_of
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.graph import Edge, Graph, Node
from multigraft.graphs.latency import slowest_way
from multigraft.optimize.agent.team import Team
from multigraft.optimize.loop.objectives import ParetoObjective, QualityMinusCost, QualityMinusLatency
from multigraft.optimize.problem import Evaluation, Problem
from multigraft.types import Json

OPENING: Final = "<data>"
CLOSING: Final = "</data>"
_SCORE_DIGITS: Final = 3


class Tried(NamedTuple):
    """A graph that was evaluated, with the ids that the optimiser model knows."""

    graph: Graph
    evaluation: Evaluation
    utility: float
    """-infinity where nothing was scored."""
    why: str = ""
    """What the model gave as its reason; printable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """How much is told."""

    tried: int
    """Of all graphs, the last and the best so many."""
    history: int
    """Turns before the last."""
    probabilities: int
    """Edges of the table: those of the last graph first, then the most probable."""
    task_characters: int
    best: bool = True
    """Whether the best graph is told apart from the last."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Where a search stands.

    Args:
        problem: what is searched for.
        team: with the models and roles it has now.
        tried: every graph evaluated so far, in order; at least one.
        left: evaluations of the budget that are left.
        table: probabilities of edges; empty: none are told.
        fuser_probabilities: of agents, where roles are drawn; empty: none are told.
    """

    problem: Problem
    team: Team
    tried: Sequence[Tried]
    left: int
    table: Mapping[Edge, float] = field(default_factory=dict)
    fuser_probabilities: Mapping[str, float] = field(default_factory=dict)

    @property
    def best(self) -> Tried:
        """The graph of highest utility so far; of equals the first."""
        return max(self.tried, key=lambda tried: tried.utility)


def quoted(data: Mapping[str, Json]) -> str:
    """Write data into a prompt so that nothing in it can end the quotation."""
    return f"{OPENING}{json.dumps(data, separators=(',', ':')).replace('<', chr(92) + 'u003c')}{CLOSING}"


def task_data(problem: Problem, amounts: Amounts) -> str:
    """Return what the questions ask for, as data of bounded length."""
    return problem.task[: amounts.task_characters]


def situation_data(situation: Situation, amounts: Amounts) -> dict[str, Json]:
    """Describe where a search stands.

    Args:
        situation: all of it.
        amounts: how much of it is told.
    """
    problem, team, tried = situation.problem, situation.team, situation.tried
    last = tried[-1]
    weighs = weighs_latency(problem, last)
    data: dict[str, Json] = {
        "task": task_data(problem, amounts),
        "maximise": "utility" if any(_differs(found) for found in tried) else "quality",
        **_utility(problem),
        "caps": {kind: cap for kind, cap in problem.space.caps._asdict().items() if cap is not None},
        "evaluations_left": situation.left,
        "max_in_degree": problem.space.max_in_degree,
        "models": models_data(problem, team),
        "sink": {"id": team.sink.node_id, "model": team.names.shown(team.sink.model), "role": team.sink.role.value},
        "agents": [_agent(node, team) for node in team.nodes],
        "last": graph_data(last, team, weighs_latency=weighs, before=tried[-2] if len(tried) > 1 else None, with_scores=True),
    }
    if amounts.best:
        data["best"] = graph_data(situation.best, team, weighs_latency=weighs)
    history = [graph_data(found, team, weighs_latency=weighs) | {"why": found.why} for found in tried[-1 - amounts.history : -1]] if amounts.history else []
    if history:
        data["history"] = [*history]
    if amounts.tried:
        data["tried"] = [shape_data(found, team) for found in _few(tried, amounts.tried)]
    if situation.table and amounts.probabilities:
        data["probs"] = [*_table(situation, amounts.probabilities)]
    if situation.fuser_probabilities:
        data["fusers"] = [{"id": node_id, "fuser": round(p, 2)} for node_id, p in situation.fuser_probabilities.items()]
    return data


def graph_data(tried: Tried, team: Team, *, weighs_latency: bool, before: Tried | None = None, with_scores: bool = False) -> dict[str, Json]:
    """Describe a graph and what came of it."""
    graph, evaluation = tried.graph, tried.evaluation
    scores = node_scores(tried) if with_scores else {}
    agents: list[Json] = [_agent(node, team, scores.get(node.node_id)) for node in graph.live_nodes if node.node_id != graph.sink]
    edges: list[Json] = [[source, target] for source, target in graph.edges]
    data: dict[str, Json] = {"agents": agents, "edges": edges, **result_data(tried)}
    data["cost"] = _cost(evaluation.cost, latency=weighs_latency)
    if before is not None:
        data["change"] = _change(tried, before, latency=weighs_latency)
    if weighs_latency:
        data["critical_path"] = [*slowest_way(graph, team.space.costs)]
    return data


def result_data(tried: Tried) -> dict[str, Json]:
    """Describe how well a graph did: its quality with the interval, and its utility where that is something else."""
    scores = tried.evaluation.scores
    estimate = estimate_of(scores)
    if estimate is None:
        return {"quality": None, "questions": 0}
    data: dict[str, Json] = {"quality": _rounded(estimate.value), "questions": estimate.count}
    if estimate.low is not None and estimate.high is not None:
        data["interval"] = [_rounded(estimate.low), _rounded(estimate.high)]
    if _differs(tried):
        data["utility"] = _rounded(tried.utility)
    return data


def shape_data(tried: Tried, team: Team) -> dict[str, Json]:
    """Describe a graph by its shape alone."""
    graph = tried.graph
    counts = Counter(team.names.shown(node.model) for node in graph.live_nodes if node.node_id != graph.sink)
    width, depth = shape_of(graph)
    fusers = sum(1 for node in graph.live_nodes if node.role.value == "fuser" and node.node_id != graph.sink)
    found: dict[str, Json] = {"counts": dict(counts), "width": width, "depth": depth, "edges": len(graph.live_part().edges), "fusers": fusers}
    return {**found, **{key: value for key, value in result_data(tried).items() if key != "interval"}}


def shape_of(graph: Graph) -> tuple[int, int]:
    """Return the most live agents on one level, and the number of levels, both without the sink."""
    live = graph.live_part()
    levels = Counter(level for node_id, level in live.depth_of().items() if node_id != live.sink)
    return max(levels.values(), default=0), len(levels)


def models_data(problem: Problem, team: Team) -> list[Json]:
    """List the models of the pool with what one call of each costs that reads nothing."""
    listed: list[Json] = []
    for model in problem.space.models:
        cost = problem.space.costs.of(Graph((Node("a1", model),), (), "a1"))
        listed.append({"name": team.names.shown(model), **_cost(cost, latency=cost.latency_s is not None, calls=False)})
    return listed


def weighs_latency(problem: Problem, tried: Tried) -> bool:
    """Whether time matters: it is capped, or it is known and quality alone is not all that counts."""
    counts = _differs(tried) or isinstance(problem.objective, QualityMinusLatency | ParetoObjective)
    return problem.space.caps.latency_s is not None or (counts and tried.evaluation.cost.latency_s is not None)


def _utility(problem: Problem) -> dict[str, Json]:
    """Say how the utility is made, where the objective is one of ours."""
    objective = problem.objective
    if isinstance(objective, QualityMinusLatency):
        return {"utility": f"quality - {objective.weight / objective.reference_s:.4g} * latency_s"}
    if isinstance(objective, QualityMinusCost):
        return {"utility": f"quality - {objective.weight / objective.reference:.4g} * {objective.kind}"}
    return {}


def node_scores(tried: Tried) -> Mapping[str, float]:
    """Return the mean score of each agent's own output, by id."""
    totals: dict[str, list[float]] = {}
    for trial in tried.evaluation.trials:
        for node_id, score in trial.node_scores.items():
            if score is not None:
                totals.setdefault(node_id, []).append(score)
    return {node_id: sum(scores) / len(scores) for node_id, scores in totals.items()}


def _agent(node: Node, team: Team, score: float | None = None) -> dict[str, Json]:
    data: dict[str, Json] = {"id": node.node_id, "model": team.names.shown(node.model), "role": node.role.value}
    return data if score is None else {**data, "score": _rounded(score)}


def _cost(cost: GraphCost, *, latency: bool, calls: bool = True) -> dict[str, Json]:
    kind = next((name for name in ("units", "usd", "flops", "tokens") if getattr(cost, name) is not None), "tokens")
    data: dict[str, Json] = {kind: _significant(getattr(cost, kind))}
    if latency and cost.latency_s is not None:
        data["latency_s"] = _significant(cost.latency_s)
    return {**data, "calls": cost.calls} if calls else data


def _change(tried: Tried, before: Tried, *, latency: bool) -> dict[str, Json]:
    change: dict[str, Json] = {}
    if tried.evaluation.mean is not None and before.evaluation.mean is not None:
        change["quality"] = _rounded(tried.evaluation.mean - before.evaluation.mean)
    now, then = tried.evaluation.cost, before.evaluation.cost
    if now.units is not None and then.units is not None:
        change["units"] = _significant(now.units - then.units)
    if latency and now.latency_s is not None and then.latency_s is not None:
        change["latency_s"] = _significant(now.latency_s - then.latency_s)
    return change


def _few(tried: Sequence[Tried], most: int) -> list[Tried]:
    """Choose the best half and the latest half, in order; each graph once."""
    tried = list({found.graph: found for found in tried}.values())
    if len(tried) <= most:
        return list(tried)
    places = sorted(range(len(tried)), key=lambda place: -tried[place].utility)[: most // 2]
    chosen = {*places, *range(len(tried) - (most - len(places)), len(tried))}
    return [tried[place] for place in sorted(chosen)]


def _table(situation: Situation, most: int) -> list[Json]:
    sampled = set(situation.tried[-1].graph.edges)
    listed = sorted(situation.table.items(), key=lambda item: (item[0] not in sampled, -item[1]))[:most]
    return [{"src": edge[0], "dst": edge[1], "p": round(p, 2)} for edge, p in listed]


def _differs(tried: Tried) -> bool:
    quality = tried.evaluation.mean
    return quality is not None and not isclose(quality, tried.utility, abs_tol=1e-9)


def _rounded(value: float) -> float:
    return round(value, _SCORE_DIGITS)


def _significant(value: float) -> float:
    return float(f"{value:.4g}")
