"""Flags that `optimize` and `pilot` share, with their help."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Questions: TypeAlias = Annotated[
    str | None, typer.Argument(help="A task of `multigraft task list`, a task file, or a file of prompts whose answers a reward can score.")
]
RunFilePath: TypeAlias = Annotated[Path | None, typer.Option("-c", "--config", help="Run file; flags win over it.")]
Models: TypeAlias = Annotated[
    str | None, typer.Option("--models", help="The pool, separated by commas: of the run file, embedded ones, or MODEL@http://HOST:PORT/v1.")
]
Tokens: TypeAlias = Annotated[str | None, typer.Option("--tokens", help="Mean tokens of a question and an answer, such as 202,275; default: measured.")]
Reward: TypeAlias = Annotated[str | None, typer.Option("--reward", help="Scores answers where there is no task, and guides a sink `best`; as for synth.")]
Judge: TypeAlias = Annotated[str | None, typer.Option("--judge", help="Scores answers in place of the task's own grader; also task:MODEL.")]
Items: TypeAlias = Annotated[Path | None, typer.Option("--items", help="Items of the task: JSONL, CSV or Parquet.")]
TaskOptions: TypeAlias = Annotated[list[str] | None, typer.Option("--task-option", help="An option of the task, such as level=5; may be repeated.")]
Seed: TypeAlias = Annotated[int | None, typer.Option("--seed", help="Seed of everything; default 0.", min=0)]
UnsafeNoSandbox: TypeAlias = Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run generated code without walls around it; noted in the record.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
