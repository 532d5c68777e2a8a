"""`multigraft graph run`: ask a graph one question, or run it over a file of prompts, without writing a run file."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.early import leaving_at_once
from multigraft.cli.errors import reported


@reported
@leaving_at_once
def run(
    file: Annotated[Path, typer.Argument(help="File of a graph, such as graph.json.")],
    prompts: Annotated[Path | None, typer.Argument(help="Prompts: JSONL, CSV or Parquet with `prompt`, `instruction` or `messages`.")] = None,
    ask: Annotated[str | None, typer.Option("--ask", help="One question, in place of a file of prompts; - reads it from standard input.")] = None,
    run_file: Annotated[Path | None, typer.Option("-c", "--config", help="Run file with the models, sampling and templates; flags win over it.")] = None,
    models: Annotated[
        str | None, typer.Option("--models", help="Models, separated by commas, as for `synth`; default: those of the run file, or the graph's own names.")
    ] = None,
    reward: Annotated[str | None, typer.Option("--reward", help="Scorer of a sink that chooses, as for `synth`; a sink that votes needs none.")] = None,
    budget: Annotated[str | None, typer.Option("--budget", help='Limits: "flops=2e13,usd=1,tokens=1e6,calls=500,seconds=600".')] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the run; default 0.", min=0)] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Only so many prompts, from the beginning.", min=1)] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="JSONL of the answers; default: answers.jsonl in the run's folder.")] = None,
    folder: Annotated[Path | None, typer.Option("--run", help="Folder of the run; default runs/GRAPH-PROMPTS, and for one question none is kept.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Run a graph over prompts, or ask it one question.

    Prompts are a run like any other: the same command again goes on where it was stopped, and `multigraft show`, `curve` and `export` take its folder. One
    question shows each node as it comes; the answer alone goes to standard output.

    Example: multigraft graph run graph.json --ask "What is 17 times 23?" --models smollm2-135m,gemma3-270m
    """
    from tempfile import TemporaryDirectory

    from multigraft.cli.graph_running import answer_all, answer_one, question_of
    from multigraft.cli.prompts_of import note
    from multigraft.cli.settings import settings_of
    from multigraft.errors import InputError

    if (prompts is None) == (ask is None):
        message = "name a file of prompts, or ask one question with --ask" + ("; not both" if ask is not None else "")
        raise InputError(message, field="PROMPTS")
    if ask is not None and output is not None:
        message = "is for a file of prompts; the answer to one question goes to standard output"
        raise InputError(message, field="-o")
    with TemporaryDirectory(prefix="multigraft-") as passing:
        place = folder or (Path("runs") / f"{file.stem}-{prompts.stem}" if prompts is not None else Path(passing))
        checked = settings_of(
            run_file=run_file,
            prompts=prompts if prompts is not None else question_of(ask or "", place),
            strategy=None,
            graph=file,
            n=None,
            models=models,
            reward=reward,
            budget=budget,
            seed=seed,
            changes=[],
            note=note,
        )
        checked = checked if limit is None else checked.model_copy(update={"limit": limit})
        if prompts is None:
            answer_one(place, checked, kept=folder is not None, as_json=as_json, quiet=quiet)
        else:
            answer_all(place, checked, output or place / "answers.jsonl", as_json=as_json, quiet=quiet)
