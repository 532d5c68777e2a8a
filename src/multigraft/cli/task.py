"""`multigraft task`: what tasks there are, what one of them asks, and whether a file of one's own is right."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multigraft.cli.errors import reported

if TYPE_CHECKING:
    from multigraft.types import Prompt

task = typer.Typer(help="Tasks and how they are graded: list, show, check.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Items = Annotated[Path | None, typer.Option("--items", help="Items: JSONL, CSV or Parquet; default: the task's own source.")]
Choices = Annotated[list[str] | None, typer.Option("--task-option", help="An option of the task, such as levels=4,5; may be repeated.")]


@task.command("list")
@reported
def list_tasks(as_json: AsJson = False) -> None:
    """List the tasks that come with multigraft."""
    from rich.console import Console
    from rich.table import Table

    from multigraft.cli.json_line import json_line
    from multigraft.tasks.task import library, load_task

    rows = [
        {
            "name": found.name,
            "title": found.table.title,
            "items": [source.named for source in found.table.source],
            "grader": [str(part.get("name", part["kind"])) for part in found.grade],
            "needs_the_hub": found.needs_the_hub,
        }
        for found in map(load_task, library())
    ]
    if as_json:
        typer.echo(json_line(rows))
        return
    out = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("name", "title", "grader", "hub"):
        out.add_column(column)
    for row in rows:
        out.add_row(
            str(row["name"]),
            str(row["title"]),
            ", ".join(map(str, row["grader"] if isinstance(row["grader"], list) else [])),
            "yes" if row["needs_the_hub"] else "",
        )
    Console(highlight=False).print(out)


@task.command()
@reported
def show(
    name: Annotated[str, typer.Argument(help="Name of a task, or the path of a task file.")],
    items: Items = None,
    choices: Choices = None,
    as_json: AsJson = False,
) -> None:
    """Show all of one task, with the messages of each role for one item.

    Nothing is fetched: of a task whose items come over the network, the item is the first of the file given as --items; without one the wording itself is
    shown.

    Example: multigraft task show puzzles --task-option family=extract4
    """
    from multigraft.cli.json_line import json_line
    from multigraft.cli.task_page import page_of, task_json
    from multigraft.tasks.options import options_of
    from multigraft.tasks.task import load_task

    found, given = load_task(name), options_of(choices or [])
    source = found.source(found.options(given))
    prompt: Prompt | None = None
    if items is not None or (source is not None and not source.needs_the_hub):
        (prompt,) = found.prompts(items, given, limit=1)
    if as_json:
        typer.echo(json_line(task_json(found, prompt)))
        return
    for line in page_of(found, prompt):
        typer.echo(line)


@task.command()
@reported
def check(
    file: Annotated[str, typer.Argument(help="Path of a task file, or the name of a task.")],
    items: Items = None,
    choices: Choices = None,
    as_json: AsJson = False,
) -> None:
    """Check a task file, its scorers, and its items where they are at hand.

    Example: multigraft task check mine.toml --items mine.jsonl
    """
    from multigraft.cli.json_line import json_line
    from multigraft.cli.task_parts import check_parts
    from multigraft.rewards.rules.ifeval.kinds import check_constraints
    from multigraft.tasks.options import options_of
    from multigraft.tasks.task import load_task

    found, given = load_task(file), options_of(choices or [])
    scorers = check_parts(found, file)
    source = found.source(found.options(given))
    read: int | None = None
    if items is not None or (source is not None and not source.needs_the_hub):
        read = len(found.prompts(items, given, check_constraints=check_constraints))
    if as_json:
        typer.echo(json_line({"task": found.name, "scorers": scorers, "items": read}))
        return
    about = "its items are fetched when it is used, and were not looked at" if source is not None else "its items are given when it is used"
    typer.echo(f"{file}: a task of {scorers} scorer(s); {about if read is None else f'{read} item(s) can be asked'}")
