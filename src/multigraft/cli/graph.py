"""`multigraft graph`: look at collaboration graphs, price, draw, count, make and run them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multigraft.cli.errors import reported
from multigraft.cli.graph_run import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from multigraft.budget.flops import Form
    from multigraft.graphs.graph import Graph
    from multigraft.types import Json

graph = typer.Typer(help="Collaboration graphs: show, cost, draw, count, make, run.", no_args_is_help=True)

GraphFile = Annotated[Path, typer.Argument(help="File of a graph, such as graph.json.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunFileOption = Annotated[Path | None, typer.Option("-c", "--config", help="Run file with sizes and prices of the models.")]
ModelsOption = Annotated[str | None, typer.Option("--models", help="The pool, as for `synth`, separated by commas; the smallest is one unit.")]
TokensOption = Annotated[str | None, typer.Option("--tokens", help="Mean tokens of a question and of an answer, such as 202,275.")]
MeasuredOption = Annotated[Path | None, typer.Option("--measured", help="Folder of a run, whose calls tell tokens and seconds of each model.")]
FormOption = Annotated[str | None, typer.Option("--cost-form", help="FLOPs in the form `paper` or `exact`.")]


@graph.command()
@reported
def show(file: GraphFile, as_json: AsJson = False) -> None:
    """Show what a graph is.

    Its width and depth, nodes, models and roles, and where it comes from.

    Example: multigraft graph show graph.json
    """
    from rich.console import Console

    from multigraft.cli.graph_report import graph_json, print_graph
    from multigraft.cli.json_line import json_line
    from multigraft.graphs.drawing.terminal import lines_of

    found, about = _read(file)
    if as_json:
        typer.echo(json_line(graph_json(found, about)))
        return
    console = Console(highlight=False)
    print_graph(console, str(file), found, about, lines_of(found, width=console.width))


@graph.command()
@reported
def cost(
    file: GraphFile,
    run_file: RunFileOption = None,
    models: ModelsOption = None,
    tokens: TokensOption = None,
    measured: MeasuredOption = None,
    form: FormOption = None,
    slots: Annotated[int | None, typer.Option("--slots", help="Calls at a time, for the time on few places.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Tell what one answer of a graph costs.

    FLOPs, units, dollars and seconds, node by node, as far as sizes, prices and times are known. Nothing is called. Only nodes that reach the sink are charged.

    Example: multigraft graph cost graph.json --tokens 202,275
    """
    from rich.console import Console

    from multigraft.cli.graph_costs import CostFlags, costs_of
    from multigraft.cli.graph_report import cost_json, print_cost
    from multigraft.cli.json_line import json_line
    from multigraft.errors import InputError

    found, about = _read(file)
    costs = costs_of(found, about, CostFlags(run_file=run_file, models=models, tokens=tokens, measured=measured, form=_form(form)))
    if costs is None:
        message = "the file does not tell how long questions and answers are; give mean tokens, such as 202,275, or a run with --measured"
        raise InputError(message, field="--tokens")
    if as_json:
        typer.echo(json_line(cost_json(found, costs, slots)))
        return
    print_cost(Console(highlight=False), str(file), found, costs, slots)


@graph.command()
@reported
def draw(
    file: GraphFile,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="SVG to write; default: beside the file.")] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Draw in the terminal instead.")] = False,
    title: Annotated[str | None, typer.Option("--title", help="Above the picture.")] = None,
    run_file: RunFileOption = None,
    models: ModelsOption = None,
    tokens: TokensOption = None,
    measured: MeasuredOption = None,
    form: FormOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the path as JSON.")] = False,
) -> None:
    """Draw a graph.

    Levels are columns, models colours, roles shapes, costs bars. Costs are drawn where the file, --tokens or --measured tells how long questions and answers
    are.

    Example: multigraft graph draw graph.json --tokens 202,275 -o graph.svg
    """
    from rich.console import Console

    from multigraft.cli.graph_costs import CostFlags, costs_of
    from multigraft.cli.graph_report import print_picture
    from multigraft.cli.json_line import json_line
    from multigraft.errors import InputError, boundary
    from multigraft.graphs.drawing.svg import svg_of
    from multigraft.graphs.drawing.terminal import lines_of
    from multigraft.graphs.latency import critical_path

    found, about = _read(file)
    costs = costs_of(found, about, CostFlags(run_file=run_file, models=models, tokens=tokens, measured=measured, form=_form(form)))
    nodes = () if costs is None else costs.nodes_of(found)
    total = None if costs is None else costs.of(found)
    if terminal:
        console = Console(highlight=False)
        print_picture(console, found, lines_of(found, nodes=nodes, cost=total, title=title or "", width=console.width))
        return
    times = {node.node_id: node.seconds for node in nodes if node.seconds is not None}
    critical = critical_path(found, times) if nodes and len(times) == len(nodes) else ()
    path = output or file.with_suffix(".svg")
    with boundary(InputError, f"writing {path}", OSError):
        path.write_text(svg_of(found, nodes=nodes, cost=total, critical=critical, title=title or file.stem), "utf-8")
    typer.echo(json_line({"written": str(path)}) if as_json else f"wrote {path}")


@graph.command()
@reported
def count(
    num_nodes: Annotated[int, typer.Option("--n", "-n", help="Number of nodes.", min=0)],
    labelled: Annotated[bool, typer.Option("--labelled", help="Nodes have names.")] = False,
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Up to the names of nodes: the non-isomorphic ones (default).")] = False,
    one_sink: Annotated[bool, typer.Option("--one-sink", help="Nodes have names, and exactly one is read by nobody.")] = False,
    colours: Annotated[int | None, typer.Option("--colours", help="Up to names, each node of one of so many kinds, such as models.", min=1)] = None,
    paper_legacy: Annotated[bool, typer.Option("--paper-legacy", help="What arXiv 2511.00086 calls non-isomorphic, and is not; up to 7.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count the directed graphs without cycles over n nodes.

    Prints the number alone.

    Example: multigraft graph count --n 7 --unlabelled
    """
    from multigraft.cli.json_line import json_line
    from multigraft.errors import InputError
    from multigraft.graphs import counting
    from multigraft.graphs.paper_count import paper_legacy as count_as_the_paper

    ways = {"--labelled": labelled, "--unlabelled": unlabelled, "--one-sink": one_sink, "--colours": colours is not None, "--paper-legacy": paper_legacy}
    chosen = [name for name, wanted in ways.items() if wanted] or ["--unlabelled"]
    if len(chosen) > 1:
        message = f"counts something else than {chosen[1]}; choose one"
        raise InputError(message, field=chosen[0])
    if chosen == ["--colours"]:
        number = counting.coloured(num_nodes, colours or 1)
    else:
        number = {
            "--labelled": counting.labelled,
            "--unlabelled": counting.unlabelled,
            "--one-sink": counting.one_sink,
            "--paper-legacy": count_as_the_paper,
        }[chosen[0]](num_nodes)
    typer.echo(json_line({"n": num_nodes, "counted": chosen[0].removeprefix("--"), "graphs": number}) if as_json else str(number))


@graph.command()
@reported
def make(
    shape: Annotated[str, typer.Argument(help="single, parallel, chain, grid or moa.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write; default: print it.")] = None,
    models: Annotated[
        str, typer.Option("--models", help="Models of the agents, separated by commas; 3xNAME is NAME three times. Layers of moa: separated by '/'.")
    ] = "",
    sink: Annotated[str, typer.Option("--sink", help="Model that gives the answer, or `vote` or `best` to choose one without a model.")] = "vote",
    width: Annotated[int | None, typer.Option("--width", help="Chains of a grid.", min=1)] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Agents in a chain of a grid.", min=1)] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the path as JSON.")] = False,
) -> None:
    """Make a graph of a well-known shape.

    parallel: all answer, the sink reads all. chain: each refines the one before. grid: chains beside each other. moa: layers, each reading all of the layer
    before.

    Example: multigraft graph make parallel --models 3xsmall,large --sink large -o graph.json
    """
    from multigraft.cli.graph_shapes import made
    from multigraft.cli.json_line import json_line
    from multigraft.errors import InputError, boundary
    from multigraft.graphs.drawing.facts import shape_line
    from multigraft.graphs.graph_file import text_of

    found = made(shape, models, sink, width, depth)
    text = text_of(found, about={"made": shape})
    if output is None:
        typer.echo(text, nl=False)
        return
    if output.exists() and not force:
        message = "is there already; take another name, or --force to write over it"
        raise InputError(message, file=str(output))
    with boundary(InputError, f"writing {output}", OSError):
        output.write_text(text, "utf-8")
    typer.echo(json_line({"written": str(output)}) if as_json else f"wrote {output}: {shape_line(found)}")


graph.command()(run)


def _read(file: Path) -> "tuple[Graph, Mapping[str, Json]]":
    from multigraft.errors import InputError, boundary
    from multigraft.graphs.graph_file import about_of, graph_of

    with boundary(InputError, f"reading {file}", OSError, UnicodeDecodeError):
        text = file.read_text("utf-8")
    return graph_of(text, file=str(file)), about_of(text, file=str(file))


def _form(text: str | None) -> "Form | None":
    from multigraft.errors import InputError

    if text is None:
        return None
    if text == "paper":
        return "paper"
    if text == "exact":
        return "exact"
    message = f"'{text}' is no form of FLOPs; choose paper or exact"
    raise InputError(message, field="--cost-form")
