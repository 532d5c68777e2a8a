"""`multigraft reward serve`: a local reward behind HTTP."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multigraft.cli.errors import reported

if TYPE_CHECKING:
    from multigraft.config import RewardPartTable
    from multigraft.server.guard import Guard

reward = typer.Typer(help="Rewards: serve one to many workers.", no_args_is_help=True)


@reward.callback()
def _rewards() -> None:
    """Rewards: serve one to many workers."""


@reward.command()
@reported
def serve(
    named: Annotated[str | None, typer.Option("--reward", help="What to serve, as in `synth --reward`: KIND or KIND:MODEL.")] = None,
    run_file: Annotated[Path | None, typer.Option("-c", "--config", help="Run file whose [reward] holds what to serve, with all its settings.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Which part of the run file's [reward]; default: the only one.")] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; any but a loopback one needs --key-env.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0: any free one.", min=0, max=65535)] = 8100,
    key_env: Annotated[str | None, typer.Option("--key-env", help="Environment variable with the key that requests must carry.")] = None,
    allow_host: Annotated[list[str] | None, typer.Option("--allow-host", help="Further host name the server is reached by; may be repeated.")] = None,
    max_body_mb: Annotated[float, typer.Option("--max-body-mb", help="Largest body of a request, also after decompression.", min=0.001)] = 16.0,
    queue: Annotated[int, typer.Option("--queue", help="Candidates that may wait; more are answered with 429.", min=1)] = 1024,
    max_batch: Annotated[int | None, typer.Option("--max-batch", help="Candidates scored together; default: what the scorer takes.", min=1)] = None,
    max_wait_ms: Annotated[float, typer.Option("--max-wait-ms", help="How long a batch that is not full waits for more.", min=0.0)] = 0.0,
    allow_code: Annotated[bool, typer.Option("--allow-code", help="Serve a reward that runs generated code, in the sandbox.")] = False,
) -> None:
    """Serve a reward over HTTP to many workers at once.

    Batches are filled from the requests of all workers. The first line printed is JSON, with the address. Workers score by a reward of kind remote with
    shape = "multigraft". Ends on Ctrl-C or SIGTERM.

    Example: multigraft reward serve --reward rules --port 8100
    """
    import asyncio
    import os

    from multigraft.cli.json_line import json_line
    from multigraft.server.selection import chosen, scorer
    from multigraft.server.serving import Settings, serve

    part, place = chosen(named, run_file, name)
    settings = Settings(
        guard=_guard(host, key_env, allow_host or []),
        port=port,
        max_body_bytes=round(max_body_mb * 2**20),
        max_waiting=queue,
        max_batch=max_batch,
        max_wait_s=max_wait_ms / 1000.0,
        also=_names(part),
    )
    made, opened = scorer(part, place, allow_code=allow_code)
    answered = asyncio.run(serve(made, settings, lambda said: typer.echo(json_line(said)), opened))
    typer.echo("stopped" if answered else "stopped before every request had its answer", err=True)
    if not answered:
        os._exit(1)  # a scorer that hangs would keep the process


def _names(part: "RewardPartTable") -> list[str]:
    return [part.model] if part.model else []


def _guard(host: str, key_env: str | None, names: list[str]) -> "Guard":
    import os

    from multigraft.errors import InputError
    from multigraft.server.guard import Guard

    if key_env is None:
        return Guard(host=host, names=names)
    key = os.environ.get(key_env)
    if not key:
        message = f"the environment variable {key_env}, which is to hold the key, is not set"
        raise InputError(message, field="--key-env")
    return Guard(host=host, key=key, names=names)
