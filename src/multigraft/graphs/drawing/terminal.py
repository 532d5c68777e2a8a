"""A graph as lines of text: levels as columns, or as rows where columns do not fit. Nothing in it steers a terminal."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from multigraft.graphs.cost import NodeCost
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.drawing.facts import cost_line, model_shares, shape_line, shares_of
from multigraft.graphs.drawing.labels import columns, plain
from multigraft.graphs.drawing.layout import laid_out
from multigraft.graphs.graph import Graph, Node, NodeRole

_MARKS: Final[Mapping[NodeRole, str]] = {NodeRole.ASSISTANT: "\u25cf", NodeRole.FUSER: "\u25b6", NodeRole.VOTE: "\u25c6", NodeRole.BEST: "\u2605"}
_DEAD: Final = "\u25cb"
_ARROW: Final = "\u2190"
_BLOCKS: Final = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589\u2588"
_BAR_COLUMNS: Final = 6
_NAME_COLUMNS: Final = 24
_GAP: Final = "   "


class Span(NamedTuple):
    """Text of one look."""

    text: str
    model: str = ""
    """Whose colour it has; empty: none."""
    faint: bool = False


Line: TypeAlias = tuple[Span, ...]


def lines_of(graph: Graph, *, nodes: Sequence[NodeCost] = (), cost: GraphCost | None = None, title: str = "", width: int = 100) -> list[Line]:
    """Draw a graph.

    Args:
        graph: any.
        nodes: costs of the live nodes; empty: not known.
        cost: of the whole; None: not known.
        title: above the picture; empty: none.
        width: of the terminal, in columns; >= 20. A node that is wider is not cut.

    Returns:
        Lines, for a program that colours them, or for `as_text`.
    """
    shares = shares_of(nodes)
    cells = {node.node_id: _cell(node, graph, shares) for node in graph.nodes}
    levels = _levels(graph)
    wide = sum(max(_columns(line) for node_id in level for line in cells[node_id]) for level in levels) + len(_GAP) * (len(levels) - 1)
    facts = [shape_line(graph), *([cost_line(cost)] if cost is not None and cost_line(cost) else [])]
    head: list[Line] = [(Span(plain(title)),)] if title else []
    head += [(Span("; ".join(facts)),), ()]
    picture = _as_columns(levels, cells, graph) if wide <= width else _as_rows(levels, cells, graph, width)
    return [*head, *picture, (), *_legend(graph, shares)]


def as_text(lines: Sequence[Line]) -> str:
    """Join lines without colours; ends in a line break."""
    return "".join(f"{''.join(span.text for span in line).rstrip()}\n" for line in lines)


def _levels(graph: Graph) -> list[list[str]]:
    """Return the node ids of each column, from top to bottom; the order is that of the drawn picture, so that neighbours stand near."""
    places = laid_out(graph).places
    levels: list[list[str]] = [[] for _ in range(max(point.column for point in places.values()) + 1)]
    for node_id in sorted(places, key=lambda node_id: places[node_id].height):
        levels[places[node_id].column].append(node_id)
    return levels


def _cell(node: Node, graph: Graph, shares: Mapping[str, float]) -> list[Line]:
    alive = node.node_id in graph.live
    mark = _MARKS[node.role] if alive else _DEAD
    name = plain(node.model, _NAME_COLUMNS) if node.model else node.role.value
    first: Line = (Span(f"{mark} ", node.model, not alive), Span(f"{node.node_id} ", faint=not alive), Span(name, node.model, not alive))
    cell = [first]
    share = shares.get(node.node_id)
    if not alive:
        cell.append((Span("  never run", faint=True),))
    elif share is not None and node.model:
        cell.append((Span("  "), Span(_bar(share, max(shares.values())), node.model), Span(f" {share:.0%}")))
    if read := graph.read_by(node.node_id):
        cell.append((Span(f"  {_ARROW} {_listed(read)}", faint=True),))
    return cell


def _listed(node_ids: Sequence[str]) -> str:
    text = " ".join(node_ids)
    if len(text) <= _NAME_COLUMNS + 8:
        return text
    return f"{node_ids[0]} \u2026 {node_ids[-1]} ({len(node_ids)})"


def _bar(share: float, largest: float) -> str:
    eighths = max(1, round(share / largest * _BAR_COLUMNS * 8))
    full, rest = divmod(eighths, 8)
    return (_BLOCKS[8] * full + (_BLOCKS[rest] if rest else "")).ljust(_BAR_COLUMNS)


def _as_columns(levels: Sequence[Sequence[str]], cells: Mapping[str, list[Line]], graph: Graph) -> list[Line]:
    blocks = []
    for number, level in enumerate(levels):
        block: list[Line] = [(Span(_heading(number, level, graph), faint=True),)]
        for node_id in level:
            block += [*cells[node_id], ()]
        blocks.append(block[:-1])
    height = max(map(len, blocks))
    widths = [max(map(_columns, block)) for block in blocks]
    lines = []
    for row in range(height):
        spans: list[Span] = []
        for block, wide in zip(blocks, widths, strict=True):
            line = block[row] if row < len(block) else ()
            spans += [*line, Span(" " * (wide - _columns(line)) + _GAP)]
        lines.append(tuple(spans[:-1]))
    return lines


def _as_rows(levels: Sequence[Sequence[str]], cells: Mapping[str, list[Line]], graph: Graph, width: int) -> list[Line]:
    lines: list[Line] = []
    for number, level in enumerate(levels):
        lines.append((Span(_heading(number, level, graph), faint=True),))
        wide = max(_columns(line) for node_id in level for line in cells[node_id]) + len(_GAP)
        beside = max(1, (width + len(_GAP)) // wide)
        for start in range(0, len(level), beside):
            shown = [cells[node_id] for node_id in level[start : start + beside]]
            for row in range(max(map(len, shown))):
                spans: list[Span] = []
                for cell in shown:
                    line = cell[row] if row < len(cell) else ()
                    spans += [*line, Span(" " * (wide - _columns(line)))]
                lines.append(tuple(spans[:-1]))
        lines.append(())
    return lines[:-1]


def _heading(number: int, level: Sequence[str], graph: Graph) -> str:
    return "sink" if list(level) == [graph.sink] else f"level {number + 1}"


def _legend(graph: Graph, shares: Mapping[str, float]) -> list[Line]:
    lines: list[Line] = []
    for found in model_shares(graph, shares):
        share = "" if found.share is None or not found.calls else f", {found.share:.0%} of the cost"
        calls = f"{found.calls} {'call' if found.calls == 1 else 'calls'}" if found.calls else "never run"
        lines.append((Span(_BLOCKS[8] + " ", found.model), Span(f"{plain(found.model)}: {calls}{share}")))
    roles = [role for role in NodeRole if any(node.role is role and node.node_id in graph.live for node in graph.nodes)]
    marks = [f"{_MARKS[role]} {role}" for role in roles]
    if len(graph.live) < len(graph.nodes):
        marks.append(f"{_DEAD} never run")
    lines.append((Span("   ".join([*marks, f"{_ARROW} reads"] if graph.edges else marks), faint=True),))
    return lines


def _columns(line: Line) -> int:
    return sum(columns(span.text) for span in line)
