"""`multigraft pilot`: measure what a task rewards, before a search."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.early import leaving_at_once
from multigraft.cli.errors import reported
from multigraft.cli.search_flags import Items, Judge, Models, Questions, Quiet, Reward, RunFilePath, Seed, TaskOptions, Tokens, UnsafeNoSandbox


@reported
@leaving_at_once
def pilot(
    questions: Questions = None,
    run_file: RunFilePath = None,
    models: Models = None,
    n: Annotated[int | None, typer.Option("-n", help="Questions that every graph answers; default 100, or a third of all.", min=2)] = None,
    parts: Annotated[
        str | None, typer.Option("--parts", help="What is measured: singles,replicate,mix,width,depth,grid (default: all); single models always are.")
    ] = None,
    copies: Annotated[str | None, typer.Option("--copies", help="Copies of each model side by side; default 1,2,4,8.")] = None,
    widths: Annotated[str | None, typer.Option("--widths", help="Agents side by side; default 1,2,4,8,16.")] = None,
    depths: Annotated[str | None, typer.Option("--depths", help="Lengths of a chain of agents; default 1,2,4,8,16.")] = None,
    max_grid: Annotated[int | None, typer.Option("--max-grid", help="Width times depth at most; default 24.", min=1)] = None,
    block_model: Annotated[str | None, typer.Option("--block-model", help="Model of widths, depths and grid; default: the cheapest.")] = None,
    mix_nodes: Annotated[
        int | None, typer.Option("--mix-nodes", help="Nodes of a mix, in nodes of the cheapest model; default: what the dearest counts as.", min=1)
    ] = None,
    graphs_per_mix: Annotated[int | None, typer.Option("--graphs-per-mix", help="Random graphs of each mix; default 3.", min=1)] = None,
    sink: Annotated[
        str | None, typer.Option("--sink", help="What ends every graph: a model, vote or best; default: the middle model by cost, of two the cheaper.")
    ] = None,
    tokens: Tokens = None,
    spend: Annotated[str | None, typer.Option("--spend", help='Limits of all that is paid in the folder: "usd=5,calls=5000,seconds=3600".')] = None,
    reward: Reward = None,
    judge: Judge = None,
    items: Items = None,
    task_options: TaskOptions = None,
    seed: Seed = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder of the pilot and its search; default graphs/NAME-OF-THE-QUESTIONS.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run, and how many calls it takes.")] = False,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found, or the plan, as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Measure what a task rewards, before a search.

    Runs copies of each model, mixes of models, wide graphs and deep ones, and says, with intervals, how many copies help, how wide and how deep is best,
    how the two trade, and whether several small models beat a large one. Writes pilot.json, which `multigraft optimize` in the same folder (or with
    --pilot) goes by, and a figure. The same command again goes on where a pilot was stopped, however it was stopped; nothing is paid twice, and what is
    paid here is not paid again by a search in the same folder.

    Example: multigraft pilot puzzles --models smollm2-135m,gemma3-270m -n 30 --parts replicate,width,depth -o graphs/first
    """
    from multigraft.cli.optimize_caps import words_of
    from multigraft.cli.optimize_settings import SearchFlags
    from multigraft.cli.pilot_going import go_on
    from multigraft.cli.pilot_settings import pilot_settings_of, whole_numbers

    flags = SearchFlags(
        questions=questions, items=items, task_options=task_options or [], run_file=run_file, models=models, reward=reward, judge=judge, spend=spend,
        tokens=tokens, seed=seed, unsafe_no_sandbox=unsafe_no_sandbox,
    )  # fmt: skip
    lists = {name: whole_numbers(text, f"--{name}") for name, text in (("copies", copies), ("widths", widths), ("depths", depths)) if text is not None}
    said = {"questions": n, "parts": words_of(parts) if parts is not None else None, "max_grid": max_grid, "block_model": block_model,
            "mix_nodes": mix_nodes, "graphs_per_mix": graphs_per_mix, "sink": sink}  # fmt: skip
    checked = pilot_settings_of(flags, lists | {name: value for name, value in said.items() if value is not None})
    source = Path(checked.task.name if checked.task else checked.prompts or "").stem
    go_on(output or Path("graphs") / source, checked, as_json=as_json, quiet=quiet, dry_run=dry_run)
