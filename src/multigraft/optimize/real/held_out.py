"""What a search found, compared on questions it never saw: with the best model alone, equal-cost copies of it side by side, and a mixture made by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from multigraft.analysis.intervals import Estimate
from multigraft.graphs.blocks import moa, parallel, single
from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.optimize.loop.archive import Entry
from multigraft.optimize.loop.explanation import is_single
from multigraft.optimize.loop.objectives import Quality, SharedKind, cost_in, shared_kind
from multigraft.optimize.loop.paired import LEVEL, Paired, estimated_mean, paired
from multigraft.optimize.loop.selection import price_of, utility_or
from multigraft.optimize.problem import Evaluation, Run, Space, sink_node
from multigraft.optimize.real.drive import Answering

MOST_COPIES = 64


@dataclass(frozen=True, slots=True)
class Compared:
    """One graph on the test questions."""

    name: str
    """What it is, for people."""
    evaluation: Evaluation
    estimate: Estimate | None
    """Of its mean score; None: nothing was scored."""
    best_less_this: Paired | None
    """The best graph less this one, over the questions that both have a score on, at a level divided by the number of comparisons; None: it is the best
    itself, or there is no such question."""


def strongest_of(entries: Sequence[Entry]) -> str | None:
    """Name the model that is the best alone, by validation; of equals the cheaper. None: no model alone was validated."""
    alone = [entry for entry in entries if is_single(entry.graph) and entry.validation is not None and entry.validation.scores]
    best = min(alone, key=lambda entry: (-utility_or(Quality(), entry.validation), *price_of(entry), entry.number), default=None)
    return None if best is None else best.graph.node(best.graph.sink).model


def rivals_of(best: Graph, strongest: str, space: Space, *, votes: bool) -> tuple[tuple[str, Graph], ...]:
    """Return what the best graph has to beat, each within the budget it was searched under.

    Args:
        best: that was found.
        strongest: the model that is the best alone.
        space: that was searched.
        votes: whether a scorer reads answers, so that they can be counted.

    Returns:
        Name and graph, distinct up to names of nodes, without the best itself: the strongest model alone; as many copies of it side by side, followed by
        itself or by a vote, as cost no more than the best (in a kind that is known of both, one that is capped where there is one), or where that is a model
        alone, as the caps allow, and of a vote at least three where the caps allow them; and a mixture of agents, two layers of the whole pool or one, that
        fits the caps.
    """
    sink = sink_node(strongest)
    rivals = [(f"{strongest} alone", single(sink))]
    alone = len(best.live) == 1
    kind = shared_kind((space.costs.of(graph) for graph in (best, single(sink))), space.caps)
    limit = inf if alone else cost_in(space.costs.of(best), kind)
    most = space.max_agents if alone else MOST_COPIES
    copies = [(count, parallel([strongest] * count, sink)) for count in range(1, most + 1)]
    rivals += [
        (f"{count} x {strongest} side by side" if count > 1 else f"{strongest} twice in a row", graph) for count, graph in _largest(copies, limit, kind, space)
    ]
    if votes:
        voting = [(count, parallel([strongest] * count, Node(SINK, "", NodeRole.VOTE))) for count in range(3, most + 1)]
        # Fewer than three cannot outvote each other: where no more are as cheap as the best, the smallest vote may be dearer.
        fair = _largest(voting, limit, kind, space) or _largest(voting[:1], inf, kind, space)
        rivals += [(f"vote of {count} x {strongest}", graph) for count, graph in fair]
    mixtures = [moa([space.models] * layers, sink) for layers in (2, 1)]
    rivals += [("mixture of agents by hand", graph) for graph in mixtures if space.fits(graph)][:1]
    known = {graph_id(best)}
    distinct = []
    for name, graph in rivals:
        if graph_id(graph) not in known:
            known.add(graph_id(graph))
            distinct.append((name, graph))
    return tuple(distinct)


async def compared(answering: Answering, best: Graph, rivals: Sequence[tuple[str, Graph]], num_questions: int) -> tuple[Compared, ...] | None:
    """Run the best graph and its rivals on all test questions.

    Args:
        answering: runs graphs.
        best: that was found.
        rivals: name and graph.
        num_questions: of the test split; >= 1.

    Returns:
        The best first; None where it was stopped.
    """
    questions = tuple(range(num_questions))
    found = await answering.evaluate([Run(graph, "test", questions) for graph in (best, *(graph for _, graph in rivals))])
    if found is None:
        return None
    mine, *others = found
    level = LEVEL / max(1, len(others))
    first = Compared("the best graph", mine, estimated_mean(mine.scores), None)
    rest = [
        Compared(name, evaluation, estimated_mean(evaluation.scores), _paired(mine, evaluation, level))
        for (name, _), evaluation in zip(rivals, others, strict=True)
    ]
    return (first, *rest)


def _largest(graphs: Sequence[tuple[int, Graph]], limit: float, kind: SharedKind, space: Space) -> list[tuple[int, Graph]]:
    """Return the largest of rising graphs that costs no more than the limit and fits the caps; none where none does."""
    fitting = []
    for count, graph in graphs:
        if cost_in(space.costs.of(graph), kind) > limit * (1 + 1e-9) or not space.fits(graph):
            break
        fitting.append((count, graph))
    return fitting[-1:]


def _paired(best: Evaluation, other: Evaluation, level: float) -> Paired | None:
    mine = {trial.question: trial.score for trial in best.trials if trial.score is not None}
    theirs = {trial.question: trial.score for trial in other.trials if trial.score is not None}
    common = [question for question in mine if question in theirs]
    return paired([mine[question] for question in common], [theirs[question] for question in common], level=level) if common else None
