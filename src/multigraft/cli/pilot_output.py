"""What a pilot plans, and what it leaves behind: `pilot.json` for searches and programs, `pilot.svg` and a table for people."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from multigraft.budget.amount import Amount
from multigraft.budget.describe import calls_text, describe, flops_text, usd_text
from multigraft.build.pilot import PilotJob
from multigraft.cli.pilot_sharing import FIGURE_NAME, PILOT_NAME
from multigraft.cli.text import shown
from multigraft.errors import InputError
from multigraft.graphs.cost import Workload
from multigraft.optimize.pilot.account import lines_of, rows_of, score_text, sink_text
from multigraft.optimize.pilot.figure import svg_of_pilot
from multigraft.optimize.pilot.pilot_file import content_of_pilot, text_of_pilot
from multigraft.optimize.pilot.runs import PilotRuns
from multigraft.optimize.pilot.verdict import Verdict
from multigraft.records.disk import on_disk
from multigraft.types import Json

_PARTS: Mapping[str, str] = {
    "singles": "each model alone",
    "replicate": "copies of each model",
    "grid": "width and depth",
    "mix": "mixes at one budget",
}


def plan_lines(job: PilotJob) -> list[str]:
    """Say what a pilot will run, and what it takes."""
    plan, calls = job.plan, job.plan.calls
    counts = {"singles": len(plan.singles), "replicate": len(plan.copies), "grid": len(plan.grid), "mix": sum(len(mix.graphs) for mix in plan.mixes)}
    lines = [
        f"{plan.num_questions} questions; models, cheapest first: {', '.join(plan.singles)}; {sink_text(plan.sink)}",
        *(f"  {_PARTS[part]}: {counts[part]} graphs, {calls_text(added)}{_of_part(job, part)}" for part, added in calls.items()),
    ]
    return [*lines, f"in all {calls_text(job.expense.calls)}{_price(job)}; a call that fails is made again, and what is known already is not paid again"]


def plan_json(job: PilotJob) -> dict[str, Json]:
    """Return the same for programs."""
    plan = job.plan
    return {
        "questions": plan.num_questions,
        "models": list(plan.singles),
        "sink": {"model": plan.sink.model, "role": str(plan.sink.role)},
        "block_model": plan.block_model,
        "graphs": len(plan.graphs),
        "calls_by_part": dict(plan.calls),
        "calls": job.expense.calls,
        "flops": job.expense.flops,
        "usd": job.expense.usd,
        "lengths": "given" if job.lengths_given else "the longest answers there may be",
    }


def write_pilot(folder: Path, job: PilotJob, runs: PilotRuns, verdict: Verdict, workload: Workload, *, kept: bool) -> str | None:
    """Write what was found; each file complete or not at all.

    Args:
        folder: of the pilot.
        job: the pilot.
        runs: everything it ran.
        verdict: what follows.
        workload: as measured.
        kept: whether a search goes by `pilot.json` already, which then stays as it is.

    Returns:
        Why there is no figure; None: there is one.

    Raises:
        RecordError: it cannot be written.
    """
    if not kept:
        _write(folder / PILOT_NAME, text_of_pilot(runs, verdict, workload, _about(job), _questions(job)).encode())
    try:
        figure = svg_of_pilot(runs, verdict)
    except InputError as error:
        return f"{error}, and give the same command again, which pays nothing"
    _write(folder / FIGURE_NAME, figure)
    return None


def pilot_json(job: PilotJob, runs: PilotRuns, verdict: Verdict, workload: Workload) -> dict[str, Json]:
    """Return everything that was found, for programs."""
    found = content_of_pilot(runs, verdict, workload, _about(job), _questions(job))
    return found | {"verdict": list(lines_of(runs, verdict)), "paid": _amount(job.search.once.purchases.ledger.spent)}


def print_pilot(console: Console, job: PilotJob, runs: PilotRuns, verdict: Verdict) -> None:
    """Print everything that was measured, and what follows."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("graph")
    table.add_column("score, 95% interval")
    table.add_column("units", justify="right")
    for row in rows_of(runs, verdict):
        units = "" if row.found.units is None else f"{row.found.units:.3g}"
        table.add_row(Text(shown(row.name, 60)), Text(score_text(row.found)), Text(units))
    if table.row_count:
        console.print(table)
        console.print()
    for line in lines_of(runs, verdict):
        console.print(Text(shown(line, 400)), soft_wrap=True)
    console.print(Text(f"paid in this folder: {describe(job.search.once.purchases.ledger.spent)}", style="dim"), soft_wrap=True)


def _of_part(job: PilotJob, part: str) -> str:
    plan = job.plan
    if part == "grid":
        return f" (of {plan.block_model})"
    if part == "mix":
        return f" ({len(plan.mixes)} of {plan.num_mixes} mixes that count as {plan.mix_nodes} nodes of {next(iter(plan.singles))})"
    return ""


def _price(job: PilotJob) -> str:
    expense = job.expense
    prices = [text for text in (_text(expense.flops, flops_text), _text(expense.usd, usd_text)) if text]
    if not prices:
        return ""
    if job.lengths_given:
        return f", about {' and '.join(prices)}"
    return f", at most {' and '.join(prices)} if every answer were as long as it may be (--tokens says how long they are)"


def _text(value: float | None, written: Callable[[float], str]) -> str:
    return "" if value is None else written(value)


def _about(job: PilotJob) -> dict[str, Json]:
    search = job.search
    task = search.run_file.task.name if search.run_file.task else search.run_file.prompts
    return {"task": task, "models": list(job.plan.singles), "seed": search.run_file.seed}


def _questions(job: PilotJob) -> list[str]:
    return [prompt.prompt_id for prompt in job.search.questions["train"]]


def _amount(amount: Amount) -> Json:
    return cast("Json", dict(amount._asdict()))


def _write(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f"{path.name}.unfinished")
    with on_disk(f"writing {path}"):
        unfinished.write_bytes(content)
        unfinished.replace(path)
