"""`multigraft init`: a commented run file to start from."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.errors import reported


@reported
def init(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("run.toml"),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the path as JSON.")] = False,
) -> None:
    """Write a commented run file to start from.

    It works as it is, over two embedded models.
    """
    from importlib.resources import files

    from multigraft.cli.json_line import json_line
    from multigraft.errors import InputError, boundary

    if path.exists() and not force:
        message = "is there already; take another name, or --force to write over it"
        raise InputError(message, file=str(path))
    text = files("multigraft.cli").joinpath("run_template.toml").read_text(encoding="utf-8")
    with boundary(InputError, f"writing {path}", OSError):
        path.write_text(text, "utf-8")
    typer.echo(json_line({"written": str(path)}) if as_json else f"wrote {path}; next: multigraft synth PROMPTS -c {path}")
