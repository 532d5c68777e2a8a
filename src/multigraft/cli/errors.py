"""How a command ends badly: one clear line, a telling exit code, and the same as JSON where JSON was asked for."""

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

from multigraft.cli.json_line import json_line
from multigraft.cli.text import shown_lines
from multigraft.errors import MultigraftError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def reported(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Show errors of ours as one line on stderr, and leave with their exit code; errors of the program keep their traceback."""

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except MultigraftError as error:
            if kwargs.get("as_json"):
                typer.echo(json_line({"error": {"kind": type(error).__name__, "message": str(error)}}))
            typer.echo(f"error: {shown_lines(str(error))}", err=True)
            raise typer.Exit(error.exit_code) from error
        except BrokenPipeError:  # `multigraft show RUN | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return run
