"""`multigraft show`: the totals of a run, or one prompt's tree."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multigraft.cli.errors import reported

if TYPE_CHECKING:
    from rich.console import Console

    from multigraft.records.reader import RunRecord


@reported
def show(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    prompt: Annotated[str | None, typer.Argument(help="Number, id (or its beginning) or name of a prompt; default: totals of the run.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the totals of a run, or the tree of one prompt.

    A run with a task also has the task's results. The path to the best response is marked; a run of a graph shows its nodes, level by level. Works while the
    run is being made as well.
    """
    from rich.console import Console

    from multigraft.cli.json_line import json_line
    from multigraft.cli.tree import details, draw, prompt_json
    from multigraft.records.reader import RunRecord

    console = Console(highlight=False)
    with RunRecord(run) as record:
        if prompt is None:
            _show_totals(record, console, as_json=as_json)
            return
        found = record.find(prompt)
        strategy = record.settings.get("strategy")
        calls = None
        if isinstance(strategy, dict) and strategy.get("name") == "graph":
            from multigraft.cli.graph_tree import draw_graph, graph_calls  # only runs of a graph load what graphs are made of

            calls = graph_calls(found, record.settings)
        if as_json:
            typer.echo(json_line(prompt_json(found, calls.nodes if calls is not None else None)))
            return
        console.print(draw(found, console.width) if calls is None else draw_graph(found, calls, console.width))
        for line in details(found):
            console.print(line)


def _show_totals(record: "RunRecord", console: "Console", *, as_json: bool) -> None:
    from multigraft.analysis.summary import summarise
    from multigraft.cli.json_line import json_line
    from multigraft.cli.report import print_summary, summary_json

    summary = summarise(record)
    task = None
    if "task" in record.settings:
        from multigraft.cli.task_results import print_task_results, results_of_task, task_results_json  # what tasks are made of

        task = results_of_task(record, summary.scorers)
    if as_json:
        typer.echo(json_line(summary_json(summary) | ({} if task is None else {"task": task_results_json(task)})))
        return
    print_summary(console, str(record.folder), summary)
    if task is not None:
        print_task_results(console, task)
