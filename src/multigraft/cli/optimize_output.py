"""What a graph search leaves behind: `graph.json` to run, a report for people and one for programs, and a picture."""

import re
import shlex
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Final, cast

import orjson
from rich.console import Console
from rich.text import Text

from multigraft.analysis.intervals import Estimate
from multigraft.budget.amount import Amount
from multigraft.budget.describe import describe
from multigraft.build.optimize import SearchPlan
from multigraft.build.optimize_run import Outcome
from multigraft.cli.text import shown
from multigraft.graphs.cost import WORKLOAD, KnownCosts, workload_json
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.drawing.svg import svg_of
from multigraft.graphs.drawing.terminal import as_text
from multigraft.graphs.drawing.terminal import lines_of as drawn_of
from multigraft.graphs.graph_file import text_of
from multigraft.graphs.latency import critical_path
from multigraft.optimize.loop.archive import Entry
from multigraft.optimize.loop.paired import Paired
from multigraft.optimize.loop.report import Found
from multigraft.optimize.loop.report_text import as_json, lines
from multigraft.optimize.real.held_out import Compared
from multigraft.records.disk import on_disk
from multigraft.records.folder import SETTINGS_NAME
from multigraft.types import Json

GRAPH_NAME, REPORT_NAME, TEXT_NAME, PICTURE_NAME = "graph.json", "report.json", "report.md", "graph.svg"
_MARKUP: Final = re.compile(r"[\\\\`*_<>|~&]|(?<=\])\(")


def write_outcome(folder: Path, plan: SearchPlan, outcome: Outcome) -> None:
    """Write what was found so far; each file complete or not at all.

    Raises:
        RecordError: it cannot be written.
    """
    found = outcome.found
    if found is None:
        return
    texts = {
        REPORT_NAME: orjson.dumps(report_of(plan, outcome), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode(),
        TEXT_NAME: markdown_of(lines_of(plan, outcome)),
    }
    if found.best is not None:
        texts[GRAPH_NAME] = text_of(found.best.graph, about=_about(plan, outcome, found, found.best))
        texts[PICTURE_NAME] = _picture(outcome, found.best)
    for name, text in texts.items():
        unfinished = folder / f"{name}.unfinished"
        with on_disk(f"writing {folder / name}"):
            unfinished.write_text(text, "utf-8")
            unfinished.replace(folder / name)


def markdown_of(lines: Sequence[str]) -> str:
    """Write lines as a page of Markdown: indented ones as items of a list, and nothing in a name is markup."""
    escaped = [_MARKUP.sub(r"\\\g<0>", shown(line)) for line in lines]
    parts = [f"- {line.strip()}" if line.startswith("  ") else f"\n{line}\n" for line in escaped]
    return "\n".join(["# Graph search", *parts, ""])


def report_of(plan: SearchPlan, outcome: Outcome) -> dict[str, Json]:
    """Return everything that was found, for programs."""
    purchases = plan.once.purchases
    searched: dict[str, Json] = {} if outcome.found is None else as_json(outcome.found)
    return searched | {
        "search": _search(plan, outcome),
        "whole": outcome.whole,
        "test": [_compared(compared) for compared in outcome.held_out],
        "paid": _amount(purchases.ledger.spent),
        "paid_for_optimiser": _amount(purchases.ledger_apart.spent),
    }


def lines_of(plan: SearchPlan, outcome: Outcome) -> list[str]:
    """Say what was found, for people."""
    if outcome.found is None:
        return ["Nothing was searched yet."]
    purchases = plan.once.purchases
    paid = f"Paid over all sessions: {describe(purchases.ledger.spent)}"
    if purchases.ledger_apart.spent.calls:
        paid += f"; of it for the optimiser model: {describe(purchases.ledger_apart.spent)}"
    return [*lines(outcome.found), *_test_lines(outcome.held_out), f"{paid}."]


def print_outcome(console: Console, folder: Path, plan: SearchPlan, outcome: Outcome) -> None:
    """Print what was found, and how to run it.

    Args:
        console: on stdout.
        folder: of the search.
        plan: of the search.
        outcome: what it has come to.
    """
    for line in lines_of(plan, outcome):
        console.print(Text(shown(line, 600)), soft_wrap=True)
    if outcome.found is None or outcome.found.best is None:
        return
    console.print()
    console.print(Text(as_text(drawn_of(outcome.found.best.graph, width=min(console.width, 120)))), soft_wrap=True)
    console.print(Text(f"report: {folder / TEXT_NAME}"), soft_wrap=True)
    console.print(Text(f"run it: {_command(folder, plan, outcome.found.best)}"), soft_wrap=True)


def _command(folder: Path, plan: SearchPlan, best: Entry) -> str:
    """Say how the graph is run over the questions of the search, by the settings that its folder keeps."""
    models = dict.fromkeys(node.model for node in best.graph.live_nodes if node.model)
    words = ["multigraft", "synth", "--graph", str(folder / GRAPH_NAME), "-c", str(folder / SETTINGS_NAME), "--models", ",".join(models)]
    return shlex.join([*words, *(["--unsafe-no-sandbox"] if plan.run_file.unsafe_no_sandbox else [])])


def _picture(outcome: Outcome, best: Entry) -> str:
    costs = outcome.space.costs if outcome.space else None
    nodes = costs.nodes_of(best.graph) if isinstance(costs, KnownCosts) else ()
    times = {node.node_id: node.seconds for node in nodes if node.seconds is not None}
    critical = critical_path(best.graph, times) if times else ()
    return svg_of(best.graph, nodes=nodes, cost=best.cost, critical=critical, title=f"The best graph found ({best.graph_id})")


def _about(plan: SearchPlan, outcome: Outcome, found: Found, best: Entry) -> dict[str, Json]:
    """Say in the graph's file where it comes from; nothing that another way to the same graph would change, such as what was paid."""
    about = _search(plan, outcome) | {
        "stopped": found.stopped,
        "evaluations": found.counts["evaluations"],
        "graph_id": best.graph_id,
        "validation": _estimate(found.estimate),
        "cost": _cost(best.cost),
    }
    costs = outcome.space.costs if outcome.space else None
    if isinstance(costs, KnownCosts):
        about[WORKLOAD] = workload_json(costs.workload, costs.base_flops)
    return about | ({"test": [_compared(compared, short=True) for compared in outcome.held_out]} if outcome.held_out else {})


def _search(plan: SearchPlan, outcome: Outcome) -> dict[str, Json]:
    table = plan.table
    return {
        "task": plan.run_file.task.name if plan.run_file.task else plan.run_file.prompts,
        "method": table.method,
        "settings": cast("Json", dict(table.settings)),
        "objective": table.objective,
        "seed": plan.run_file.seed,
        "models": list(outcome.space.models if outcome.space else plan.pool),
        "optimiser": plan.optimiser,
        "caps": {name: value for name, value in plan.caps._asdict().items() if value is not None},
        "questions": {split: len(prompts) for split, prompts in plan.questions.items()},
    }


def _test_lines(held_out: tuple[Compared, ...]) -> Iterator[str]:
    if held_out:
        yield f"On {len(held_out[0].evaluation.trials)} test questions, which the search never saw:"
    for compared in held_out:
        units = compared.evaluation.cost.units
        cost = "" if units is None else f", {units:.4g} units"
        against = "" if compared.best_less_this is None else f"; the best graph less this: {_difference(compared.best_less_this)}"
        yield f"  {compared.name}: {_written(compared.estimate)}{cost}{against}"


def _written(estimate: Estimate | None) -> str:
    if estimate is None:
        return "not scored"
    interval = "" if estimate.low is None or estimate.high is None else f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.value:.3f}{interval}"


def _difference(paired: Paired) -> str:
    low, high = (f"{end:+.3f}" if isfinite(end) else "unknown" for end in (paired.low, paired.high))
    return f"{paired.difference:+.3f} [{low}, {high}], {paired.decided}"


def _compared(compared: Compared, *, short: bool = False) -> dict[str, Json]:
    found: dict[str, Json] = {
        "name": compared.name,
        "score": _estimate(compared.estimate),
        "cost": _cost(compared.evaluation.cost),
        "best_less_this": _paired(compared.best_less_this),
    }
    if short:
        return found
    trials = compared.evaluation.trials
    return found | {"scores": [trial.score for trial in trials], "latency_s": [trial.latency_s for trial in trials]}


def _cost(cost: GraphCost) -> Json:
    return cast("Json", {name: value for name, value in cost._asdict().items() if value is not None})


def _estimate(estimate: Estimate | None) -> Json:
    return None if estimate is None else {"mean": estimate.value, "low": estimate.low, "high": estimate.high, "questions": estimate.count}


def _paired(paired: Paired | None) -> Json:
    if paired is None:
        return None
    low, high = (end if isfinite(end) else None for end in (paired.low, paired.high))
    return {"difference": paired.difference, "low": low, "high": high, "decided": paired.decided, "questions": paired.count}


def _amount(amount: Amount) -> Json:
    return cast("Json", dict(amount._asdict()))
