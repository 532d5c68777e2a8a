"""A graph as SVG: levels as columns, models as colours, roles as shapes, costs as bars. No script, no link, nothing fetched; light and dark."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from multigraft.graphs.cost import NodeCost
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.drawing.facts import ModelShare, cost_line, model_shares, shape_line, shares_of
from multigraft.graphs.drawing.labels import marked_up
from multigraft.graphs.drawing.layout import Layout, Point, laid_out
from multigraft.graphs.drawing.palette import NO_MODEL, colours_of, ink_on
from multigraft.graphs.graph import Edge, Graph, Node, NodeRole

_NODE_WIDTH, _NODE_HEIGHT = 150, 46
_COLUMN_STEP, _ROW_STEP = 222, 68
_MARGIN, _HEAD, _LEGEND_ROW = 28, 102, 22
_RING: Final = 4
"""Around the sink, on each side."""
_TIP: Final = 9
"""Length of an arrow's tip."""
_FONT: Final = "font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\""
_DARK: Final = (
    "@media (prefers-color-scheme: dark){.card{fill:#16191d;stroke:#3a4048}.ink{fill:#e8eaed}.faint{fill:#a4abb4}.wire{stroke:#8b939d}"
    ".tip{fill:#8b939d}.ring{stroke:#e8eaed}.rail{fill:#3a4048}.bar{fill:#c9ced5}}"
)
_ROLES: Final[Mapping[NodeRole, str]] = {
    NodeRole.ASSISTANT: "assistant: answers, or improves on what it reads",
    NodeRole.FUSER: "fuser: condenses what it reads",
    NodeRole.VOTE: "vote: takes the answer most agree on",
    NodeRole.BEST: "best: takes the answer with the highest reward",
}


class _Box(NamedTuple):
    """A rectangle on the page."""

    left: float
    top: float
    width: float
    height: float

    def around(self, margin: float) -> "_Box":
        """Return a larger one with the same middle."""
        return _Box(self.left - margin, self.top - margin, self.width + 2 * margin, self.height + 2 * margin)


class _Picture(NamedTuple):
    """What is drawn, and where."""

    graph: Graph
    layout: Layout
    shift: float
    """Of everything to the right, so that a narrow graph stands in the middle."""
    colours: Mapping[str, str]
    costs: Mapping[str, NodeCost]
    shares: Mapping[str, float]

    def place(self, point: Point) -> tuple[float, float]:
        """Return the middle of the left side of a node."""
        return self.shift + _MARGIN + point.column * _COLUMN_STEP, _HEAD + point.height * _ROW_STEP + _NODE_HEIGHT / 2


class _Entry(NamedTuple):
    """A line of the legend."""

    mark: str
    text: str


def svg_of(
    graph: Graph,
    *,
    nodes: Sequence[NodeCost] = (),
    cost: GraphCost | None = None,
    critical: Sequence[str] = (),
    title: str = "",
) -> str:
    """Draw a graph.

    Args:
        graph: any.
        nodes: costs of the live nodes; empty: not known.
        cost: of the whole; None: not known.
        critical: nodes of the critical path, in order, drawn bold; empty: none.
        title: above the picture.

    Returns:
        One SVG element, ending in a line break; equal for equal arguments. All names are escaped.
    """
    layout = laid_out(graph)
    colours = colours_of(node.model for node in graph.nodes)
    shares = shares_of(nodes)
    legend = _legend(graph, model_shares(graph, shares), colours, critical=len(critical) > 1)
    wide = (layout.num_columns - 1) * _COLUMN_STEP + _NODE_WIDTH + 2 * _MARGIN
    heading = title or "Collaboration graph"
    lines = [shape_line(graph), "" if cost is None else cost_line(cost)]
    width = max(wide, 440, *(round(7.6 * len(line)) + 2 * _MARGIN for line in (*lines, *(entry.text for entry in legend))))
    legend_top = _HEAD + layout.height * _ROW_STEP + _NODE_HEIGHT + 40
    height = round(legend_top + len(legend) * _LEGEND_ROW + _MARGIN - 6)
    picture = _Picture(graph, layout, (width - wide) / 2, colours, {node.node_id: node for node in nodes}, shares)
    bold = set(pairwise(critical))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" {_FONT}>',
        f"<title>{marked_up(heading)}</title>",
        f"<desc>{marked_up(', '.join(line for line in lines if line))}</desc>",
        f"<style>{_DARK}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10" fill="#ffffff" stroke="#d5d9de"/>',
        _text(_MARGIN, 34, heading, size=16, weight=600, most=max(20, (width - 2 * _MARGIN) // 9)),
        *(_text(_MARGIN, 55 + 18 * row, line, size=12.5, style="faint") for row, line in enumerate(line for line in lines if line)),
        *(_wire(edge, picture, bold=edge in bold) for edge in sorted(graph.edges, key=lambda edge: edge in bold)),
        *(_node(node, picture) for node in graph.nodes),
        *(_entry(entry, legend_top + row * _LEGEND_ROW) for row, entry in enumerate(legend)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _wire(edge: Edge, picture: _Picture, *, bold: bool) -> str:
    graph = picture.graph
    points = [picture.place(point) for point in picture.layout.wires[edge]]
    x, y = points[0][0] + _NODE_WIDTH, points[0][1]
    path = [f"M{_number(x)} {_number(y)}"]
    for index, (left, height) in enumerate(points[1:], 1):
        is_last = index == len(points) - 1
        end = left - ((_TIP - 2 + (_RING + 1 if edge[1] == graph.sink else 0)) if is_last else 0)
        middle = (x + end) / 2
        path.append(f"C{_number(middle)} {_number(y)} {_number(middle)} {_number(height)} {_number(end)} {_number(height)}")
        x, y = end, height
        if not is_last:
            x = left + _NODE_WIDTH
            path.append(f"H{_number(x)}")
    alive = edge[1] in graph.live
    dashes = "" if alive else ' stroke-dasharray="4 4"'
    tip = f"M{_number(x + _TIP - 2)} {_number(y)}l-{_TIP} -4.5v9z"
    thick = "2.8" if bold else "1.3"
    opacity = "1" if alive else "0.55"
    return (
        f'<g opacity="{opacity}"><path class="wire" d="{"".join(path)}" fill="none" stroke="#6f7782" stroke-width="{thick}"{dashes}/>'
        f'<path class="tip" d="{tip}" fill="#6f7782"/></g>'
    )


def _node(node: Node, picture: _Picture) -> str:
    graph, cost, share = picture.graph, picture.costs.get(node.node_id), picture.shares.get(node.node_id)
    alive, is_sink = node.node_id in graph.live, node.node_id == graph.sink
    left, middle = picture.place(picture.layout.places[node.node_id])
    box = _Box(left, middle - _NODE_HEIGHT / 2, _NODE_WIDTH, _NODE_HEIGHT)
    colour = picture.colours.get(node.model, NO_MODEL)
    name = node.model or ("majority vote" if node.role is NodeRole.VOTE else "best reward")
    told = f"{node.node_id}: {name}, {node.role}{', sink' if is_sink else ''}{'' if alive else ', never run'}"
    parts = ["<g>" if alive else '<g opacity="0.6">', f"<title>{marked_up(told + _tokens(cost))}</title>"]
    if is_sink:
        parts.append(_outline(node.role, box.around(_RING), 'class="ring" fill="none" stroke="#22262b" stroke-width="1.6"'))
    line = 'stroke="#22262b" stroke-opacity="0.55"' if alive else 'class="wire" stroke="#6f7782" stroke-width="1.5" stroke-dasharray="5 4" fill-opacity="0.35"'
    parts.append(_outline(node.role, box, f'fill="{colour}" {line}'))
    # A dead node is pale, so the ink of the page is read on it, whatever its colour.
    ink, style = (ink_on(colour), "") if alive else ("#22262b", "ink")
    label = " \u00b7 ".join(["sink" if is_sink else node.node_id, *([f"{share:.0%}"] if share is not None and node.model else [])])
    parts.append(_text(left + _NODE_WIDTH / 2, box.top + 19, name, size=12.5, weight=600, most=18, ink=ink, style=style, anchor="middle"))
    parts.append(_text(left + _NODE_WIDTH / 2, box.top + 34, label, size=11, most=20, ink=ink, style=style, anchor="middle"))
    if share is not None and node.model:
        parts.append(_bar(left, box.top + _NODE_HEIGHT + 3 + (_RING if is_sink else 0), share / max(picture.shares.values())))
    return "".join([*parts, "</g>"])


def _bar(left: float, top: float, portion: float) -> str:
    long = _NODE_WIDTH - 24
    return (
        f'<rect class="rail" x="{_number(left + 12)}" y="{_number(top)}" width="{long}" height="4" rx="2" fill="#e3e6ea"/>'
        f'<rect class="bar" x="{_number(left + 12)}" y="{_number(top)}" width="{_number(max(2.0, long * portion))}" height="4" rx="2" fill="#3d444d"/>'
    )


def _outline(role: NodeRole, box: _Box, look: str) -> str:
    """Return the shape of a role: round corners, cut corners, or pointed ends."""
    left, top, width, height = box
    cut = height * 0.3
    if role is NodeRole.ASSISTANT:
        size = f'width="{_number(width)}" height="{_number(height)}" rx="{_number(height * 0.26)}"'
        return f'<rect x="{_number(left)}" y="{_number(top)}" {size} {look}/>'
    if role is NodeRole.FUSER:
        corners = [(cut, 0.0), (width - cut, 0.0), (width, height / 2), (width - cut, height), (cut, height), (0.0, height / 2)]
    elif role is NodeRole.VOTE:
        corners = [(0.0, 0.0), (width - cut, 0.0), (width, height / 2), (width - cut, height), (0.0, height)]
    else:
        corners = [(0.0, 0.0), (width, 0.0), (width, height * 0.72), (width / 2, height), (0.0, height * 0.72)]
    points = " ".join(f"{_number(left + x)},{_number(top + y)}" for x, y in corners)
    return f'<polygon points="{points}" {look}/>'


def _legend(graph: Graph, models: Sequence[ModelShare], colours: Mapping[str, str], *, critical: bool) -> list[_Entry]:
    entries = []
    for found in models:
        share = "" if found.share is None or not found.calls else f", {found.share:.0%} of the cost"
        calls = f"{found.calls} {'call' if found.calls == 1 else 'calls'}" if found.calls else "never run"
        mark = f'<rect x="0" y="0" width="26" height="14" rx="4" fill="{colours[found.model]}" stroke="#22262b" stroke-opacity="0.55"/>'
        entries.append(_Entry(mark, f"{_short(found.model)}: {calls}{share}"))
    roles = [role for role in NodeRole if any(node.role is role for node in graph.nodes)]
    if roles != [NodeRole.ASSISTANT]:
        look = 'class="wire" fill="none" stroke="#6f7782" stroke-width="1.3"'
        entries += [_Entry(_outline(role, _Box(0, 0, 26, 14), look), _ROLES[role]) for role in roles]
    if critical:
        entries.append(
            _Entry('<path class="wire" d="M0 7H26" fill="none" stroke="#6f7782" stroke-width="2.8"/>', "critical path: decides how long an answer takes")
        )
    return entries


def _short(name: str) -> str:
    return name if len(name) <= 48 else f"{name[:47]}\u2026"


def _entry(entry: _Entry, top: float) -> str:
    return f'<g transform="translate({_MARGIN} {_number(top)})">{entry.mark}{_text(36, 11.5, entry.text, size=12)}</g>'


def _tokens(cost: NodeCost | None) -> str:
    if cost is None or not cost.model:
        return ""
    return f", {cost.prompt_tokens:.0f} tokens read, {cost.completion_tokens:.0f} written"


def _text(
    x: float, y: float, text: str, *, size: float, weight: int = 400, most: int | None = None, ink: str = "", style: str = "ink", anchor: str = "start"
) -> str:
    named = f' class="{style}"' if style else ""
    fill = ink or ("#5c646e" if style == "faint" else "#22262b")
    heavy = "" if weight == 400 else f' font-weight="{weight}"'
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{named} x="{_number(x)}" y="{_number(y)}" font-size="{size:g}"{heavy}{where} fill="{fill}">{marked_up(text, most)}</text>'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
