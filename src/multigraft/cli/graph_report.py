"""What a graph is and what it costs, as tables for people and as JSON for programs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil, log10

from rich.console import Console
from rich.table import Table
from rich.text import Text

from multigraft.budget.describe import flops_text, seconds_text, usd_text
from multigraft.cli.text import shown, shown_lines
from multigraft.graphs.canonical import graph_id
from multigraft.graphs.cost import KnownCosts, NodeCost
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.drawing.facts import shape_line, shape_of, shares_of
from multigraft.graphs.drawing.palette import colours_of
from multigraft.graphs.drawing.terminal import Line
from multigraft.graphs.graph import Graph, Node
from multigraft.graphs.latency import critical_path, slots_s, span_s, sum_s
from multigraft.types import Json

_TEXTS: Mapping[str, Callable[[float], str]] = {
    "FLOPs": lambda value: flops_text(value).removesuffix("FLOPs").strip(),
    "units": lambda value: f"{value:.4g}",
    "dollars": usd_text,
    "seconds": lambda value: f"{value:.3g}",
    "share": lambda value: f"{value:.0%}",
}


def graph_json(graph: Graph, about: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a graph is as a JSON object."""
    shape, levels = shape_of(graph), graph.depth_of()
    return {
        "graph_id": graph_id(graph),
        "width": shape.width,
        "depth": shape.depth,
        "calls": shape.calls,
        "sink": graph.sink,
        "models": dict(Counter(node.model for node in graph.live_nodes if node.model)),
        "roles": dict(Counter(node.role.value for node in graph.live_nodes)),
        "dead": [node.node_id for node in graph.nodes if node.node_id not in graph.live],
        "nodes": [
            {
                "id": node.node_id,
                "model": node.model or None,
                "role": node.role.value,
                "level": levels[node.node_id],
                "reads": list(graph.read_by(node.node_id)),
                "live": node.node_id in graph.live,
            }
            for node in graph.nodes
        ],
        "about": dict(about),
    }


def print_graph(console: Console, file: str, graph: Graph, about: Mapping[str, Json], picture: Sequence[Line]) -> None:
    """Print what a graph is."""
    console.print(Text(shown(file), style="bold"), soft_wrap=True)
    roles = Counter(node.role.value for node in graph.live_nodes)
    console.print(Text(f"  {'roles':<9}{', '.join(f'{count} {role}' for role, count in roles.items())}"))
    console.print(Text(f"  {'edges':<9}{len(graph.edges)}"))
    console.print(Text(f"  {'identity':<9}{graph_id(graph)}"))
    for line in _told(about):
        console.print(Text(line, style="dim"), soft_wrap=True)
    console.print()
    print_picture(console, graph, picture)


def print_picture(console: Console, graph: Graph, picture: Sequence[Line]) -> None:
    """Print a picture, each model in its colour."""
    colours = colours_of(node.model for node in graph.nodes)
    for line in picture:
        text = Text(no_wrap=True)
        for span in line:
            text.append(span.text, "dim" if span.faint else colours.get(span.model, ""))
        text.rstrip()
        console.print(text, soft_wrap=True)


def cost_json(graph: Graph, costs: KnownCosts, slots: int | None) -> dict[str, Json]:
    """Return what a graph costs as a JSON object; what is not known is null."""
    nodes, total = costs.nodes_of(graph), costs.of(graph)
    times, alone = _times(nodes), _sink_alone(graph, costs)
    return {
        "calls": total.calls,
        "tokens": total.tokens,
        "flops": total.flops,
        "units": total.units,
        "unit_flops": costs.base_flops,
        "usd": total.usd,
        "latency_s": None if times is None else span_s(graph, times),
        "latency_sum_s": None if times is None else sum_s(graph, times),
        "slots": slots,
        "latency_slots_s": None if times is None or slots is None else slots_s(graph, times, slots),
        "critical_path": None if times is None else list(critical_path(graph, times)),
        "nodes": [dict(node._asdict()) | {"model": node.model or None} for node in nodes],
        "sink_alone": None if alone is None else {"units": alone.units, "flops": alone.flops, "usd": alone.usd, "latency_s": alone.latency_s},
    }


def print_cost(console: Console, file: str, graph: Graph, costs: KnownCosts, slots: int | None) -> None:
    """Print what a graph costs, node by node, and what cap would allow it."""
    nodes, total = costs.nodes_of(graph), costs.of(graph)
    console.print(Text(f"{shown(file)}: {shape_line(graph)}", style="bold"), soft_wrap=True)
    console.print(_table(nodes, total, costs, graph))
    if costs.base_flops:
        console.print(Text(f"  one unit is {flops_text(costs.base_flops)}"))
    times = _times(nodes)
    if times is not None:
        places = "" if slots is None else f"; on {slots} {'place' if slots == 1 else 'places'} {seconds_text(slots_s(graph, times, slots))}"
        path = " > ".join(critical_path(graph, times))
        console.print(
            Text(f"  time {seconds_text(span_s(graph, times))} by {path}; one call after the other {seconds_text(sum_s(graph, times))}{places}"),
            soft_wrap=True,
        )
    if cap := _cap(total):
        console.print(Text(f"  a budget that allows it: {cap}"), soft_wrap=True)
    alone = _sink_alone(graph, costs)
    if alone is not None and len(graph.live) > 1 and (least := _cap(alone)):
        console.print(Text(f"  the least that buys any answer of this sink: {least}"), soft_wrap=True)
    models = [node.model for node in graph.live_nodes]
    gaps = [("units", costs.lacking(models)), ("dollars", costs.lacking(models, prices=True))]
    gaps.append(("seconds", costs.lacking(models, seconds=True) if costs.latency else ()))
    for what, lines in gaps:
        if lines:
            console.print(Text(f"  no {what}: {shown('; '.join(lines))}", style="yellow"), soft_wrap=True)


def _table(nodes: Sequence[NodeCost], total: GraphCost, costs: KnownCosts, graph: Graph) -> Table:
    shares = shares_of(nodes)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_footer=True, footer_style="bold")
    table.add_column("  node", "  all")
    table.add_column("model")
    right = [
        ("reads", ""),
        ("prompt", f"{sum(node.prompt_tokens for node in nodes):,.0f}"),
        ("answer", f"{sum(node.completion_tokens for node in nodes):,.0f}"),
    ]
    known = {name: [_cell(node, name, costs, shares) for node in nodes] for name in ("FLOPs", "units", "dollars", "seconds", "share")}
    sums = {"FLOPs": total.flops, "units": total.units, "dollars": total.usd, "seconds": total.latency_s, "share": None}
    shown_kinds = [name for name, cells in known.items() if any(cell and node.model for cell, node in zip(cells, nodes, strict=True))]
    right += [(name, _TEXTS[name](value) if (value := sums[name]) is not None else "" if name == "share" else "?") for name in shown_kinds]
    for name, footer in right:
        table.add_column(name, footer, justify="right", no_wrap=True)
    for index, node in enumerate(nodes):
        cells = [str(node.num_read), f"{node.prompt_tokens:,.0f}", f"{node.completion_tokens:,.0f}"]
        name = shown(node.model, 32) if node.model else graph.node(node.node_id).role.value
        table.add_row(Text(f"  {node.node_id}"), Text(name), *cells, *(known[kind][index] or "?" for kind in shown_kinds))
    return table


def _cell(node: NodeCost, kind: str, costs: KnownCosts, shares: Mapping[str, float]) -> str:
    """Write one cost of a node; empty: not known."""
    if not node.model:
        return "-"
    values = {"FLOPs": node.flops, "units": costs.units(node.flops), "dollars": node.usd, "seconds": node.seconds, "share": shares.get(node.node_id)}
    value = values[kind]
    return "" if value is None else _TEXTS[kind](value)


def _times(nodes: Sequence[NodeCost]) -> dict[str, float] | None:
    times = {node.node_id: node.seconds for node in nodes if node.seconds is not None}
    return times if len(times) == len(nodes) else None


def _cap(total: GraphCost) -> str:
    kinds = (("units", total.units, ""), ("usd", total.usd, ""), ("latency", total.latency_s, "s"), ("calls", total.calls, ""))
    return ",".join(f"{kind}={_rounded_up(value)}{unit}" for kind, value, unit in kinds if value)


def _rounded_up(value: float) -> str:
    """Write a number of at most four digits that is not below another."""
    step = 10.0 ** (int(log10(value)) - 3 if value >= 1 else ceil(log10(value)) - 4)
    return f"{ceil(value / step * (1 - 1e-12)) * step:.10g}"


def _sink_alone(graph: Graph, costs: KnownCosts) -> GraphCost | None:
    sink = graph.node(graph.sink)
    return None if sink.selects else costs.of(Graph((Node(sink.node_id, sink.model),), (), sink.node_id))


def _told(about: Mapping[str, Json]) -> list[str]:
    lines = []
    for name, value in about.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{key} {_short(item)}" for key, item in value.items() if item is not None)
            lines.append(f"  {shown(name, 20):<9}{shown(inner, 160)}" if len(name) <= 8 else f"  {shown(name, 20)} {shown(inner, 160)}")
        elif value is not None:
            lines.append(f"  {shown(name, 20):<9}{shown(_short(value), 160)}" if len(name) <= 8 else f"  {shown(name, 20)} {shown(_short(value), 160)}")
    return lines


def _short(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_short(item) for item in value[:8]) + (", ..." if len(value) > 8 else "")
    if isinstance(value, dict):
        return f"({len(value)} values)"
    return shown_lines(str(value)).replace("\n", " ")
