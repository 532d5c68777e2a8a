"""`multigraft dry-run`: what a strategy would ask, given the rewards; no model is called."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.errors import reported


@reported
def dry_run(
    rewards: Annotated[Path, typer.Option("--rewards", help="File with one reward a line, in the order of the calls; an empty line: not scored.")],
    models: Annotated[str, typer.Option("--models", help="Names of the models, separated by commas.")],
    strategy: Annotated[str, typer.Option("--strategy", help="Name of the strategy.")] = "toa",
    n: Annotated[int, typer.Option("-n", help="Responses in all.", min=1)] = 16,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A setting of the strategy, such as tau=0.1; may be repeated.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the run.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Accepted for symmetry: the output is JSON lines anyway.")] = False,  # noqa: ARG001
) -> None:
    """Print what a strategy decides on given rewards; needs no model.

    One decision a line, as JSON.

    Example: multigraft dry-run --strategy toa --models m0,m1 -n 96 --set tau=0.1 --set width=32 --rewards rewards.txt
    """
    from multigraft.cli.json_line import json_line
    from multigraft.errors import InputError, boundary
    from multigraft.strategies.dry_run import dry_run as decisions
    from multigraft.strategies.settings import parse_setting
    from multigraft.strategies.table import strategy_from

    with boundary(InputError, f"reading {rewards}", OSError, UnicodeDecodeError):
        lines = rewards.read_text("utf-8").splitlines()
    values: list[float | None] = []
    for number, line in enumerate(lines, 1):
        try:
            values.append(float(line) if line.strip() else None)
        except ValueError:
            message = f"'{line}' is no number"
            raise InputError(message, file=str(rewards), line=number) from None
    names = [name.strip() for name in models.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        message = f"needs models of distinct names, not '{models}'"
        raise InputError(message, field="--models")
    given = dict(parse_setting(setting) for setting in settings or [])
    chosen = strategy_from(strategy, {"num_responses": n, "max_parallel": 1} | given)
    for decision in decisions(chosen, names, values, seed=seed):
        typer.echo(json_line({"index": decision.index, "model": decision.model, "parents": list(decision.parents)}))
