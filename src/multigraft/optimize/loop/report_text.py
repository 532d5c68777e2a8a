"""What a search found, for people and for programs."""

from collections.abc import Mapping
from math import isfinite
from typing import Final

from multigraft.analysis.intervals import Estimate
from multigraft.budget.amount import Amount
from multigraft.graphs.graph import Graph
from multigraft.optimize.loop.archive import Entry, utility_of
from multigraft.optimize.loop.explanation import depth_of, explained, levels_of, models_of, width_of
from multigraft.optimize.loop.objectives import ParetoObjective, cost_in, shared_kind
from multigraft.optimize.loop.paired import Paired
from multigraft.optimize.loop.report import REASONS, Found, Rival
from multigraft.optimize.problem import Evaluation, Objective
from multigraft.types import Json

SCHEMA: Final = "multigraft.search"
VERSION: Final = 1
_UNITS_OF: Final = {"usd": "USD", "flops": "FLOPs"}
"""How kinds of cost are written, where that is not their name."""


def lines(found: Found) -> list[str]:
    """Return the report for people: the best graph and why it is good, whether it is really better, and what the search took."""
    counts = found.counts
    said = [*_best(found), *(_front(found) if isinstance(found.objective, ParetoObjective) else [])]
    said.append(f"The search ended because {REASONS[found.stopped]}.")
    said.append(
        f"{counts['evaluations']} graphs were evaluated ({counts['proposals']} proposals) on {counts['train_questions']} training questions in all;"
        f" {counts['found_worse_early']} were given up early, {counts['validated']} validated on {counts['validation_questions']} questions in all."
    )
    if counts["without_a_score"]:
        said.append(f"{counts['without_a_score']} answers have no score, because a server or a scorer failed; they are left out.")
    said.append(f"Spent on graphs: {_spent(found.spent)}.")
    if counts["consults"]:
        said.append(f"Spent on the optimiser model, apart from that: {_spent(found.optimiser_spent)}.")
    if found.notes:
        said.append("Proposals were mended: " + ", ".join(f"{count} x {note}" for note, count in found.notes.items()) + ".")
    return said


def as_json(found: Found) -> dict[str, Json]:
    """Return all of it, for programs. Ends of intervals that are not known are null."""
    objective = found.objective
    best = found.best
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "stopped": found.stopped,
        "best": None if best is None else best.number,
        "estimate": _estimate(found.estimate),
        "runner_up": _rival(found.runner_up),
        "single": _rival(found.single),
        "front": [entry.number for entry in found.front],
        "counts": dict(found.counts),
        "notes": dict(found.notes),
        "spent": dict(found.spent._asdict()),
        "optimiser_spent": dict(found.optimiser_spent._asdict()),
        "changes": [
            {"evaluations": change.num_evaluations, "number": change.number, "previous": change.previous, "paired": _paired(change.paired)}
            for change in found.changes
        ],
        "curve": [{"evaluations": point.num_evaluations, "train": point.train, "best": point.best, "validation": point.validation} for point in found.curve],
        "entries": [_entry(entry, objective) for entry in found.entries],
    }


def _best(found: Found) -> list[str]:
    best = found.best
    if best is None:
        return ["No graph has a score, so there is no best one."]
    said = [f"The best graph is number {best.number} ({best.graph_id}; {best.origin}): {_scored(found)}"]
    said += [f"  {line}" for line in explained(best, found.caps)]
    if found.single is not None:
        said.append(f"Against the best model alone, {found.single.entry.graph.node(found.single.entry.graph.sink).model}: {_verdict(found.single)}")
    if found.runner_up is not None and (found.single is None or found.runner_up.entry.number != found.single.entry.number):
        said.append(f"Against the next best graph, number {found.runner_up.entry.number}: {_verdict(found.runner_up)}")
    return said


def _scored(found: Found) -> str:
    estimate, best = found.estimate, found.best
    if best is None or estimate is None:
        mean = None if best is None else best.train.mean
        return "not validated" + (f"; {mean:.3f} in training." if mean is not None else ".")
    interval = "" if estimate.low is None or estimate.high is None else f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    num_validated = found.counts["validated"]
    at_once = f", an interval of 95% for all {num_validated} validated graphs at once" if num_validated > 1 else ", with its interval of 95%"
    utility = utility_of(found.objective, best.validation)
    less = f"; utility {utility:.3f}" if utility is not None and abs(utility - estimate.value) > 1e-9 else ""
    return f"{estimate.value:.3f}{interval} on {estimate.count} validation questions{at_once}{less}."


def _verdict(rival: Rival) -> str:
    paired = rival.paired
    if paired is None:
        return "no question that both have a score on."
    low, high = (f"{end:+.3f}" if isfinite(end) else "unknown" for end in (paired.low, paired.high))
    return f"{paired.difference:+.3f} [{low}, {high}] over {paired.count} questions: {paired.decided}."


def _front(found: Found) -> list[str]:
    said = ["No other graph beats these in quality, cost and latency at once:"]
    kind = shared_kind(entry.cost for entry in found.entries)
    for entry in found.front:
        latency_s = entry.cost.latency_s
        mean = None if entry.validation is None else entry.validation.mean
        parts = [f"quality {mean:.3f}" if mean is not None else "no quality"]
        parts.append(f"{cost_in(entry.cost, kind):.4g} {_UNITS_OF.get(kind, kind)}")
        parts += [f"{latency_s:.3g} s"] if latency_s is not None else []
        knee = "  <- the knee" if found.best is not None and entry.number == found.best.number else ""
        said.append(f"  number {entry.number}: {', '.join(parts)}, width {width_of(entry.graph)}, depth {depth_of(entry.graph)}{knee}")
    return said


def _spent(amount: Amount) -> str:
    parts = [f"{amount.calls:,} call{'' if amount.calls == 1 else 's'}", f"{amount.tokens:,} tokens"]
    parts += [f"{amount.flops:.3g} FLOPs"] if amount.flops else []
    parts += [f"{amount.usd:.4g} USD"] if amount.usd else []
    return ", ".join(parts)


def _entry(entry: Entry, objective: Objective) -> dict[str, Json]:
    levels = levels_of(entry.graph, entry.train, entry.validation)
    models: Mapping[str, int] = models_of(entry.graph)
    return {
        "number": entry.number,
        "graph_id": entry.graph_id,
        "graph": _graph(entry.graph),
        "origin": entry.origin,
        "notes": list(entry.notes),
        "train": _evaluation(entry.train, objective),
        "validation": _evaluation(entry.validation, objective),
        "cost": dict(entry.cost._asdict()),
        "reference": entry.reference,
        "trained": entry.trained,
        "validated": entry.validated,
        "worse_than": entry.worse_than,
        "width": width_of(entry.graph),
        "depth": depth_of(entry.graph),
        "models": dict(models),
        "levels": [{"nodes": level.num_nodes, "mean_score": level.mean_score} for level in levels],
    }


def _graph(graph: Graph) -> dict[str, Json]:
    return {
        "nodes": [{"id": node.node_id, "model": node.model, "role": node.role.value} for node in graph.nodes],
        "edges": [list(edge) for edge in graph.edges],
        "sink": graph.sink,
    }


def _evaluation(evaluation: Evaluation | None, objective: Objective) -> Json:
    if evaluation is None or not evaluation.trials:
        return None
    scores: dict[str, Json] = {str(trial.question): trial.score for trial in evaluation.trials}
    return {"mean": evaluation.mean, "utility": utility_of(objective, evaluation), "scores": scores}


def _rival(rival: Rival | None) -> Json:
    return None if rival is None else {"number": rival.entry.number, "paired": _paired(rival.paired)}


def _paired(paired: Paired | None) -> Json:
    if paired is None:
        return None
    low, high = (end if isfinite(end) else None for end in (paired.low, paired.high))
    return {"difference": paired.difference, "low": low, "high": high, "decided": paired.decided, "questions": paired.count}


def _estimate(estimate: Estimate | None) -> Json:
    return None if estimate is None else {"mean": estimate.value, "low": estimate.low, "high": estimate.high, "questions": estimate.count}
