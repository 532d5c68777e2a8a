"""`multigraft optimize`: find the graph that answers a task best within a budget."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.early import leaving_at_once
from multigraft.cli.errors import reported
from multigraft.cli.search_flags import Items, Judge, Models, Questions, Quiet, Reward, RunFilePath, Seed, TaskOptions, Tokens, UnsafeNoSandbox


@reported
@leaving_at_once
def optimize(
    questions: Questions = None,
    run_file: RunFilePath = None,
    models: Models = None,
    budget: Annotated[
        str | None, typer.Option("--budget", help='The most one answer may cost: "units=18", also usd=5e-4, latency=5s, flops=1e13, calls=9.')
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", help="agent_reinforce (default), reinforce, textgrad, maao, bayes, surrogate, random or exhaustive.")
    ] = None,
    objective: Annotated[
        str | None, typer.Option("--objective", help="quality (default), latency:WEIGHT[:SECONDS], cost:WEIGHT[:KIND=AMOUNT] or pareto.")
    ] = None,
    evaluations: Annotated[int | None, typer.Option("--evaluations", help="Distinct graphs evaluated at most; default 30.", min=1)] = None,
    patience: Annotated[int | None, typer.Option("--patience", help="End after so many graphs in a row that were no better; default 8.", min=1)] = None,
    max_agents: Annotated[int | None, typer.Option("--max-agents", help="Nodes beside the sink at most; default 8.", min=0)] = None,
    max_in_degree: Annotated[int | None, typer.Option("--max-in-degree", help="Nodes that one node reads at most; default 8.", min=1)] = None,
    sink: Annotated[
        str | None, typer.Option("--sink", help="What may give the answer: models, vote or best, separated by commas; default: any model of the pool.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Questions to train on, to choose by and to compare on, such as 30,20,40; default: by thirds.")
    ] = None,
    test: Annotated[bool, typer.Option("--test/--no-test", help="Compare what was found on questions the search never saw.")] = True,
    optimizer: Annotated[str | None, typer.Option("--optimizer", help="The model that a method asks for graphs; default: the last of the pool.")] = None,
    pilot: Annotated[Path | None, typer.Option("--pilot", help="A pilot.json of `multigraft pilot`; its numbers are told to the optimiser model.")] = None,
    tokens: Tokens = None,
    spend: Annotated[str | None, typer.Option("--spend", help='Limits of the whole search: "usd=5,tokens=1e6,flops=1e15,calls=5000,seconds=3600".')] = None,
    reward: Reward = None,
    judge: Judge = None,
    items: Items = None,
    task_options: TaskOptions = None,
    seed: Seed = None,
    settings: Annotated[list[str] | None, typer.Option("-s", "--set", help="A setting of the method, such as batch=4; may be repeated.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder of the search; default graphs/NAME-OF-THE-QUESTIONS.")] = None,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Find the graph of model calls that answers a task best.

    Within a budget for one question: who drafts, who refines, who fuses, wide or deep. Graphs are proposed by a search method, compared on training questions,
    chosen by validation questions, and what was found is compared on test questions. Ends in graph.json, which `multigraft synth --strategy graph` runs. The
    same command again goes on where a search was stopped, however it was stopped; nothing is paid twice.

    Example: multigraft optimize puzzles --models smollm2-135m,gemma3-270m --budget units=18 --method reinforce -o graphs/first
    """
    from multigraft.cli.optimize_going import go_on
    from multigraft.cli.optimize_settings import SearchFlags, search_settings_of

    flags = SearchFlags(
        questions=questions, items=items, task_options=task_options or [], run_file=run_file, models=models, reward=reward, judge=judge, budget=budget,
        spend=spend, method=method, objective=objective, evaluations=evaluations, patience=patience, max_agents=max_agents, max_in_degree=max_in_degree,
        sinks=sink, split=split, optimizer=optimizer, tokens=tokens, pilot=pilot, seed=seed, changes=settings or [],
        unsafe_no_sandbox=unsafe_no_sandbox,
    )  # fmt: skip
    checked = search_settings_of(flags)
    source = Path(checked.task.name if checked.task else checked.prompts or "").stem
    go_on(output or Path("graphs") / source, checked, as_json=as_json, quiet=quiet, test=test)
