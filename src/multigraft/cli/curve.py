"""`multigraft curve`: what more responses brought, by the reward and by everybody else who scored them."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.errors import reported


@reported
def curve(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    scorers: Annotated[
        list[str] | None, typer.Option("--scorer", help="Only this scorer; may be repeated. Default: all that say something else than the reward.")
    ] = None,
    points: Annotated[str | None, typer.Option("--points", help="Numbers of responses, such as 1,8,64; default: 1, 2, 4, ... and all.")] = None,
    by: Annotated[str | None, typer.Option("--by", help="Also show the last point by this field of the prompts, such as level.")] = None,
    num_resamples: Annotated[int, typer.Option("--resamples", help="Resamples of the bootstrap.", min=100)] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show reward and judges against the number of responses.

    Every mean has a 95% interval over prompts. A judge that falls while the reward rises is named: the reward is being hacked from there on.

    Example: multigraft curve runs/first
    """
    from rich.console import Console

    from multigraft.analysis.curve import curve_of
    from multigraft.analysis.intervals import Bootstrap
    from multigraft.analysis.points import points_of
    from multigraft.analysis.votes import ballots_of, votes_of
    from multigraft.cli.curve_report import curve_json, print_curve
    from multigraft.cli.json_line import json_line
    from multigraft.records.reader import RunRecord

    axis = None if points is None else numbers_of(points)
    bootstrap = Bootstrap(num_resamples, seed)
    prompts, held = [], []
    with RunRecord(run) as record:
        for prompt in record.prompts():
            prompts.append(points_of(prompt, axis, by=by))
            if prompt.ended is not None and prompts[-1].num_responses:
                held.append({scorer: ballots_of(prompt, scorer, axis) for scorer in prompts[-1].values})
    found = curve_of(prompts, points=axis, scorers=scorers, bootstrap=bootstrap)
    graders = dict.fromkeys(name for each in held for name, ballots in each.items() if any(ballot.answered for ballot in ballots.values()))
    wanted = [name for name in graders if scorers is None or name in scorers]
    votes = [votes_of(name, [each.get(name, {}) for each in held], axis, bootstrap=bootstrap) for name in wanted]
    if as_json:
        typer.echo(json_line(curve_json(found, votes)))
        return
    print_curve(Console(highlight=False), str(run), found, votes, by)


def numbers_of(text: str) -> tuple[int, ...]:
    """Read numbers of responses, separated by commas.

    Raises:
        InputError: there is something else.
    """
    from multigraft.errors import InputError

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and int(part) > 0 for part in parts):
        message = f"points are numbers of responses from 1 on, separated by commas, such as 1,8,64; not '{text}'"
        raise InputError(message, field="--points")
    return tuple(sorted({int(part) for part in parts}))
