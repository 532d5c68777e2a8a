"""The work of `multigraft graph run`: a run in a folder, its answers as a file, or one answer with the nodes on the way to it."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from multigraft.budget.describe import describe, seconds_text
from multigraft.budget.shortage import Shortage
from multigraft.build.run import plan_of
from multigraft.cli.going import Ending, carried_out
from multigraft.cli.json_line import json_line
from multigraft.cli.progress import FetchBars
from multigraft.cli.prompts_of import read_prompts
from multigraft.cli.text import shown, shown_lines
from multigraft.config import RunFile
from multigraft.engine.campaign import Tally
from multigraft.engine.step import Stepped
from multigraft.errors import InputError
from multigraft.graphs.graph import Graph
from multigraft.graphs.graph_file import graph_of
from multigraft.graphs.latency import critical_path, span_s, sum_s
from multigraft.records.disk import on_disk
from multigraft.records.reader import PromptRecord, RunRecord
from multigraft.strategies.graph import Collaboration
from multigraft.types import Completion, Json, Prompt, Score

ERRORS = Console(stderr=True, highlight=False)


def question_of(ask: str, folder: Path) -> Path:
    """Write a question as a file of prompts, as every run has one.

    Args:
        ask: the question; `-`: what stands in standard input.
        folder: where the file goes.

    Raises:
        InputError: it is blank.
    """
    text = sys.stdin.read() if ask == "-" else ask
    if not text.strip():
        message = "is blank; write a question"
        raise InputError(message, field="--ask")
    path = folder / "question.jsonl"
    with on_disk(f"writing {path}"):
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json_line({"prompt": text}) + "\n", "utf-8", errors="surrogateescape")
    return path


def answer_all(folder: Path, run_file: RunFile, output: Path, *, as_json: bool, quiet: bool) -> None:
    """Run a graph over prompts and write the answers.

    Args:
        folder: of the run; one that is there already is gone on with.
        run_file: settings of the run.
        output: JSONL to write: one line for each prompt, in the order of the prompts.
        as_json: print totals as JSON.
        quiet: show no progress.
    """
    prompts = read_prompts(run_file)
    ending = carried_out(folder, run_file, plan_of(run_file, FetchBars(ERRORS)), prompts, ERRORS, quiet=quiet)
    with RunRecord(folder) as record:
        answered = _write(record, prompts, output)
        spent, seconds = record.spent(), record.seconds()
    if as_json:
        facts: dict[str, Json] = {"run": str(folder), "answers": str(output), "prompts": len(prompts), "answered": answered, "stopped": ending.reason}
        typer.echo(json_line({**facts, "spent": dict(spent._asdict()), "seconds": seconds}))
    else:
        typer.echo(f"{output}: {answered} of {len(prompts)} prompts answered, {describe(spent)}, {seconds_text(seconds)}; the run is {folder}")
    if ending.reason is not None:
        typer.echo(f"stopped: {shown(ending.reason)}. The same command again goes on", err=True)
    elif answered < len(prompts):
        typer.echo(f"note: {len(prompts) - answered} without an answer; `multigraft show {folder} NUMBER` shows why", err=True)
    _leave(ending, answered=answered)


def answer_one(folder: Path, run_file: RunFile, *, kept: bool, as_json: bool, quiet: bool) -> None:
    """Ask a graph one question: each node on stderr as it comes, the answer on standard output.

    Args:
        folder: of the run.
        run_file: settings of the run.
        kept: whether the user keeps the folder.
        as_json: print the answer and its nodes as JSON instead.
        quiet: show no nodes.
    """
    prompts = read_prompts(run_file)
    plan = plan_of(run_file, FetchBars(ERRORS))
    assert isinstance(plan.strategy, Collaboration)  # noqa: S101 - the settings were made of a graph
    graph = graph_of(plan.strategy.graph)
    watch = NodeWatch(plan.strategy.nodes_by_seed(run_file.seed, prompts[0].prompt_id), quiet=quiet or as_json)
    ending = carried_out(folder, run_file, plan, prompts, ERRORS, quiet=True, tally=watch)
    with RunRecord(folder) as record:
        number, _ = record.by_id().get(prompts[0].prompt_id, (None, None))
        found = None if number is None else record.prompt(number)
        best = None if found is None else found.best()
        spent = record.spent()
    if as_json:
        typer.echo(json_line(_answer_json(found, graph, watch) | {"spent": dict(spent._asdict()), "run": str(folder) if kept else None}))
    elif best is not None:
        if not quiet:
            ERRORS.print(Text(_times(graph, watch, describe(spent), watch.calls.get(best.call.call_id)), style="dim"), soft_wrap=True)
        typer.echo(shown_lines(best.text or ""))
    if best is None:
        typer.echo(f"error: no answer: {_why(found, ending)}", err=True)
    _leave(ending, answered=int(best is not None))


class NodeWatch(Tally):
    """Shows every node as it comes, and remembers how long each took.

    Args:
        by_seed: node and try of every seed.
        quiet: show nothing.
    """

    def __init__(self, by_seed: Mapping[int, tuple[str, int]], *, quiet: bool) -> None:
        super().__init__()
        self.times: dict[str, float] = {}
        """Seconds of each node's last call."""
        self.calls: dict[int, str] = {}
        """Node of every call, by call id."""
        self._by_seed, self._quiet = by_seed, quiet
        self._began_s = self._ended_s = 0.0

    @property
    def seconds(self) -> float:
        """Wall clock from the first call to the last node."""
        return self._ended_s - self._began_s

    def notice(self, step: Stepped, score: Score | None) -> None:
        """Show a node."""
        super().notice(step, score)
        node, attempt = self._by_seed[step.call.seed]
        now = time.monotonic()
        sample = step.sample
        if isinstance(sample, Shortage):  # never told, so never noticed
            return
        latency_s = sample.latency_s
        if not self.calls:
            self._began_s = now - latency_s
        self._ended_s = now
        self.times[node], self.calls[step.call.call_id] = latency_s, node
        if self._quiet:
            return
        if isinstance(sample, Completion):
            said, style = shown(" ".join(sample.text.split()), max(20, ERRORS.width - 56)), ""
        else:
            said, style = f"failed at try {attempt + 1}: {sample.kind}, {shown(sample.message, 80)}", "red"
        ERRORS.print(Text(f"{node:<12} {shown(step.call.model, 20):<20} {step.call.role:<9} {latency_s:>6.2f} s  {said}", style=style), soft_wrap=True)


def _times(graph: Graph, watch: NodeWatch, spent: str, chosen: str | None) -> str:
    if not watch.calls:
        return "answered before; nothing was called"
    path = " -> ".join(name for name in critical_path(graph, watch.times) if not graph.node(name).selects)
    longest, together = span_s(graph, watch.times), sum_s(graph, watch.times)
    choice = f"the {graph.node(graph.sink).role} took the response of {chosen}; " if graph.node(graph.sink).selects else ""
    return f"{choice}{watch.seconds:.2f} s; the critical path {path} takes {longest:.2f} s, all calls together {together:.2f} s; {spent}"


def _answer_json(found: PromptRecord | None, graph: Graph, watch: NodeWatch) -> dict[str, Json]:
    best = None if found is None else found.best()
    nodes: list[Json] = [
        {
            "node": watch.calls.get(call_id),
            "model": call.call.model,
            "role": call.call.role.value,
            "reads": [watch.calls.get(parent) for parent in call.call.parents],
            "text": call.text,
            "failure": None if isinstance(call.sample, Completion) else call.sample.kind.value,
            "reward": call.reward,
            "seconds": call.sample.latency_s,
            "tokens": call.spent.tokens,
            "usd": call.spent.usd,
        }
        for call_id, call in (found.calls.items() if found is not None else ())
    ]
    return {
        "answer": None if best is None else best.text,
        "node": None if best is None else watch.calls.get(best.call.call_id),
        "nodes": nodes,
        "seconds": watch.seconds,
        "critical_path": [*critical_path(graph, watch.times)],
        "critical_path_s": span_s(graph, watch.times),
        "sum_s": sum_s(graph, watch.times),
    }


def _write(record: RunRecord, prompts: Sequence[Prompt], output: Path) -> int:
    """Write the answers, complete or not at all; return how many prompts have one."""
    numbers, answered = record.by_id(), 0
    unfinished = output.with_name(f"{output.name}.unfinished")
    with on_disk(f"writing {output}"):
        output.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("w", encoding="utf-8") as file:
            for prompt in prompts:
                number, ended = numbers.get(prompt.prompt_id, (None, None))
                best = None if number is None else record.prompt(number).best()
                answered += best is not None
                row: dict[str, Json] = {"id": prompt.name or prompt.prompt_id, "prompt_id": prompt.prompt_id, "answer": None if best is None else best.text}
                said: dict[str, Json] = {} if best is None else {"model": best.call.model, "reward": best.reward}
                file.write(json_line({**row, **said, "ended": ended}) + "\n")
        unfinished.replace(output)
    return answered


def _why(found: PromptRecord | None, ending: Ending) -> str:
    if ending.reason is not None:
        return shown(ending.reason)
    failures = [call.sample.message for call in (found.calls.values() if found is not None else ()) if not isinstance(call.sample, Completion)]
    if failures:
        return f"the sink failed; the last failure said: {shown(failures[-1], 300)}"
    budget = found is None or found.ended == "budget"
    return "the budget has no room for it; raise it, or lower max_tokens" if budget else "the sink chose none, as no response it reads has a reward"


def _leave(ending: Ending, *, answered: int) -> None:
    if ending.exit_code or not answered:
        raise typer.Exit(ending.exit_code or 1)
