"""The `multigraft` command. Each subcommand has a file of its own, which imports what it needs when it is run: `--help` stays fast."""

import typer

from multigraft.cli.curve import curve
from multigraft.cli.dry_run import dry_run
from multigraft.cli.export import export
from multigraft.cli.graph import graph
from multigraft.cli.init import init
from multigraft.cli.models import models
from multigraft.cli.optimize import optimize
from multigraft.cli.pilot import pilot
from multigraft.cli.reward import reward
from multigraft.cli.score import score
from multigraft.cli.show import show
from multigraft.cli.synth import resume, synth
from multigraft.cli.task import task
from multigraft.cli.win_rate import win_rate

app = typer.Typer(
    name="multigraft",
    help="Several language models on one tree: synthesise training data under a compute budget.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from multigraft import __version__

        typer.echo(f"multigraft {__version__}")
        raise typer.Exit


@app.callback()
def root(_version_flag: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version and exit.")) -> None:
    """Several language models on one tree: synthesise training data under a compute budget."""


app.command()(synth)
app.command()(pilot)
app.command()(optimize)
app.command()(resume)
app.command()(score)
app.command()(show)
app.command()(curve)
app.command("win-rate")(win_rate)
app.command()(export)
app.add_typer(graph, name="graph")
app.add_typer(models, name="models")
app.add_typer(task, name="task")
app.add_typer(reward, name="reward")
app.command()(init)
app.command("dry-run")(dry_run)


def main() -> None:
    """Run the command line."""
    app()
