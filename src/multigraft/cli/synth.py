"""`multigraft synth` and `multigraft resume`: make a run, and go on with one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multigraft.cli.early import leaving_at_once
from multigraft.cli.errors import reported

if TYPE_CHECKING:
    from multigraft.config import RunFile
    from multigraft.types import Prompt

AsJson = Annotated[bool, typer.Option("--json", help="Print the totals as JSON.")]
Unsafe = Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run generated code without walls around it; noted in the record.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@reported
@leaving_at_once
def synth(
    prompts: Annotated[
        Path | None, typer.Argument(help="Prompts: JSONL, CSV or Parquet with `prompt`, `instruction` or `messages`; with --task: items of the task.")
    ] = None,
    run_file: Annotated[Path | None, typer.Option("-c", "--config", help="Run file; flags win over it. `multigraft init` writes one.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="A task of `multigraft task list`, or a task file: says how to ask, read and grade.")] = None,
    task_options: Annotated[list[str] | None, typer.Option("--task-option", help="An option of the task, such as level=5; may be repeated.")] = None,
    strategy: Annotated[str | None, typer.Option("--strategy", help="random, prs, parallel, sequential, moa, graph or toa (default).")] = None,
    graph: Annotated[Path | None, typer.Option("--graph", help="A graph to run, as `multigraft optimize` writes it; needs no --strategy.")] = None,
    n: Annotated[int | None, typer.Option("-n", help="Responses for each prompt; default 16.", min=1)] = None,
    models: Annotated[
        str | None, typer.Option("--models", help="Names of models, separated by commas: of the run file, embedded ones, or MODEL@http://HOST:PORT/v1.")
    ] = None,
    reward: Annotated[
        str | None, typer.Option("--reward", help="rules (default), confidence, judge:MODEL, classifier:FOLDER, remote:URL; several joined by +.")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            help="Scorers that the search does not see, as for --reward; also task or task:MODEL (its graders, the default with --task), or none.",
        ),
    ] = None,
    budget: Annotated[str | None, typer.Option("--budget", help='Limits of the run: "flops=2e13,usd=1,tokens=1e6,calls=500,seconds=600".')] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the run; default 0.", min=0)] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder of the run; default runs/NAME-OF-THE-PROMPTS.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A setting of the strategy, such as tau=0.1; may be repeated.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Only so many prompts, from the beginning.", min=1)] = None,
    unsafe_no_sandbox: Unsafe = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make and score responses to prompts with several models.

    They are made within a budget, and each is recorded with its reward. The same command again goes on where a run was stopped, however it was stopped;
    nothing is paid twice.

    Example: multigraft synth prompts.jsonl --models smollm2-135m,gemma3-270m --reward rules -n 12 -o runs/first
    """
    from multigraft.cli.prompts_of import note, read_prompts
    from multigraft.cli.settings import settings_of

    checked = settings_of(
        run_file=run_file,
        prompts=prompts,
        task=task,
        task_options=task_options or [],
        strategy=strategy,
        graph=graph,
        n=n,
        models=models,
        reward=reward,
        judge=judge,
        budget=budget,
        seed=seed,
        changes=settings or [],
        unsafe_no_sandbox=unsafe_no_sandbox,
        note=note,
    )
    checked = checked if limit is None else checked.model_copy(update={"limit": limit})
    source = Path(checked.task.name if checked.task else checked.prompts or "").stem
    _go(output or Path("runs") / source, checked, read_prompts(checked), as_json=as_json, quiet=quiet)


@reported
@leaving_at_once
def resume(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    prompts: Annotated[Path | None, typer.Option("--prompts", help="Where the prompts are now, if they were moved.")] = None,
    budget: Annotated[str | None, typer.Option("--budget", help="New limits of the run, in place of those it was started with.")] = None,
    unsafe_no_sandbox: Unsafe = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was stopped.

    Finished calls are not repeated, half-grown trees grow on.
    """
    from multigraft.budget.parse import parse_limits
    from multigraft.cli.prompts_of import read_prompts
    from multigraft.cli.settings import restored
    from multigraft.errors import InputError
    from multigraft.records.folder import PILOT_SETTINGS_NAME, SETTINGS_NAME, read_settings

    # A search may share the folder of its pilot, which is over by then.
    name = PILOT_SETTINGS_NAME if (run / PILOT_SETTINGS_NAME).is_file() and not (run / SETTINGS_NAME).is_file() else SETTINGS_NAME
    checked = restored(read_settings(run, name), str(run / name), unsafe_no_sandbox=unsafe_no_sandbox)
    if budget is not None:
        limits = checked.budget.model_copy(update=parse_limits(budget)._asdict())
        checked = checked.model_copy(update={"budget": limits})
    of_file = checked.task.items if checked.task else checked.prompts or ""
    if of_file is not None:
        path = (prompts or Path(of_file)).absolute()
        if prompts is None and not path.is_file():
            message = "the prompts of this run are not there any more; say with --prompts where they are now"
            raise InputError(message, file=str(path))
        moved = {"task": checked.task.model_copy(update={"items": str(path)})} if checked.task else {"prompts": str(path)}
        checked = checked.model_copy(update=moved)
    if checked.pilot is not None:
        from multigraft.cli.pilot_going import go_on as go_on_with_pilot

        go_on_with_pilot(run, checked, as_json=as_json, quiet=quiet)
        return
    if checked.optimize is not None:
        from multigraft.cli.optimize_going import go_on

        go_on(run, checked, as_json=as_json, quiet=quiet)
        return
    _go(run, checked, read_prompts(checked), as_json=as_json, quiet=quiet, changed=budget is not None)


def _go(folder: Path, run_file: "RunFile", prompts: "list[Prompt]", *, as_json: bool, quiet: bool, changed: bool = False) -> None:
    from rich.console import Console

    from multigraft.analysis.summary import summarise
    from multigraft.build.run import plan_of
    from multigraft.cli.going import carried_out
    from multigraft.cli.json_line import json_line
    from multigraft.cli.progress import FetchBars
    from multigraft.cli.report import print_summary, summary_json
    from multigraft.cli.text import shown
    from multigraft.records.reader import RunRecord

    errors = Console(stderr=True, highlight=False)
    plan = plan_of(run_file, FetchBars(errors))
    ending = carried_out(folder, run_file, plan, prompts, errors, quiet=quiet, changed=changed)
    with RunRecord(folder) as record:
        summary = summarise(record)
    nothing_made = not summary.answered if summary.concluded else summary.without_reward == summary.prompts
    if as_json:
        typer.echo(json_line(summary_json(summary) | {"run": str(folder), "stopped": ending.reason}))
    else:
        print_summary(Console(highlight=False), str(folder), summary)
    if ending.reason is not None:
        typer.echo(f"stopped: {shown(ending.reason)}. Go on with: multigraft resume {folder}", err=True)
    elif not summary.responses:
        failed = f"every call failed; one said: {shown(summary.failure_message, 300)}"
        why = failed if summary.failures else "the budget has no room for one call; raise it, or lower max_tokens"
        typer.echo(f"error: no response was made: {why}", err=True)
    elif summary.concluded and not summary.answered:
        typer.echo(f"error: no prompt has an answer; `multigraft show {folder} 0` shows how far the first one came", err=True)
    elif nothing_made:
        typer.echo(f"error: no response has a reward; one is without for: {shown(summary.unscored_message, 300)}", err=True)
    if ending.exit_code or nothing_made:
        raise typer.Exit(ending.exit_code or 1)
