"""Why a graph is good, in plain words: its width and depth, its models, what it costs, and how the answers get better on the way to the sink."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from multigraft.graphs.costs import Caps, GraphCost
from multigraft.graphs.graph import Graph
from multigraft.optimize.loop.archive import Entry
from multigraft.optimize.problem import Evaluation

SAME = 0.01
"""Mean scores closer than this are called the same."""


@dataclass(frozen=True, slots=True)
class Level:
    """The live nodes that have as many nodes before them on their longest way."""

    num_nodes: int
    mean_score: float | None
    """Of their own outputs; None: no score is known."""


def is_single(graph: Graph) -> bool:
    """Whether a graph is one model alone."""
    return len(graph.live) == 1


def width_of(graph: Graph) -> int:
    """Return how many live nodes beside the sink the widest level has; 0 for a sink alone."""
    levels = graph.live_part().depth_of()
    return max(Counter(level for node_id, level in levels.items() if node_id != graph.sink).values(), default=0)


def depth_of(graph: Graph) -> int:
    """Return the number of nodes on the longest way to the sink, without the sink."""
    return graph.live_part().depth_of()[graph.sink]


def levels_of(graph: Graph, *evaluations: Evaluation | None) -> tuple[Level, ...]:
    """Return the levels of a graph from its sources to its sink, with the mean score of their outputs.

    Args:
        graph: whose node ids the evaluations have.
        evaluations: any number.
    """
    trials = [trial for evaluation in evaluations if evaluation is not None for trial in evaluation.trials]
    levels = graph.live_part().depth_of()
    found = []
    for level in range(max(levels.values()) + 1):
        nodes = [node_id for node_id, depth in levels.items() if depth == level]
        scores = [score for trial in trials for node_id in nodes if (score := trial.node_scores.get(node_id)) is not None]
        found.append(Level(len(nodes), sum(scores) / len(scores) if scores else None))
    return tuple(found)


def models_of(graph: Graph) -> Mapping[str, int]:
    """Return how often each model is called, the most called first."""
    return dict(Counter(node.model for node in graph.live_nodes if node.model).most_common())


def explained(entry: Entry, caps: Caps) -> list[str]:
    """Return a line each for shape, cost, and the scores along the graph where they are known.

    Args:
        entry: any.
        caps: that the search had.
    """
    return [_shape(entry.graph), _cost(entry.cost, caps), *_scores(entry)]


def _shape(graph: Graph) -> str:
    if is_single(graph):
        return f"One call of {graph.node(graph.sink).model}: no graph that was tried did better."
    models = models_of(graph)
    called = ", ".join(f"{count} x {model}" for model, count in models.items())
    sink = graph.node(graph.sink)
    last = f"a {sink.role} chooses the answer" if sink.selects else f"{sink.model} writes the answer"
    width, depth = width_of(graph), depth_of(graph)
    if width == 1:
        shape = f"a chain of {depth}" if depth > 1 else "one draft"
    elif depth == 1:
        shape = f"{width} side by side"
    else:
        shape = f"{width} wide and {depth} deep"
    return f"{shape[0].upper()}{shape[1:]}, then {last}: {called} (width {width}, depth {depth})."


def _cost(cost: GraphCost, caps: Caps) -> str:
    parts = [_amount("", cost.calls, "call" if cost.calls == 1 else "calls", caps.calls)]
    for value, unit, cap in ((cost.units, "units", caps.units), (cost.usd, "USD", caps.usd), (cost.latency_s, "s on the longest way", caps.latency_s)):
        if value is not None:
            parts.append(_amount("about ", value, unit, cap))
    if cost.flops is not None and caps.flops is not None:
        parts.append(_amount("about ", cost.flops, "FLOPs", caps.flops))
    return f"An answer takes {', '.join(parts)}."


def _amount(about: str, value: float, unit: str, cap: float | None) -> str:
    share = f" ({value / cap:.0%} of the cap of {cap:.4g})" if cap else ""
    return f"{about}{value:.4g} {unit}{share}"


def _scores(entry: Entry) -> list[str]:
    levels = levels_of(entry.graph, entry.train, entry.validation)
    known = [level for level in levels if level.mean_score is not None]
    scores = [level.mean_score for level in known if level.mean_score is not None]
    if len(scores) < 2:
        return []
    steps = " -> ".join(f"{score:.3f}" + (f" (mean of {level.num_nodes})" if level.num_nodes > 1 else "") for level, score in zip(known, scores, strict=True))
    gain = scores[-1] - scores[0]
    verdict = "no better than" if abs(gain) < SAME else f"{gain:+.3f} to"
    return [f"Scores from the sources to the sink: {steps}; the sink is {verdict} the sources."]
