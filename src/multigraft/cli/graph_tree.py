"""A prompt of a run with the strategy `graph` for the terminal: its nodes level by level, what each read, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from multigraft.cli.text import shown
from multigraft.graphs.cones import cone_keys, node_seed, shown_order
from multigraft.graphs.graph import Graph, Node
from multigraft.graphs.graph_file import graph_of
from multigraft.records.reader import CallRecord, PromptRecord
from multigraft.types import Completion, Json

_TITLES = ("level", "node", "model", "asked to", "reads", "reward", "response")


@dataclass(frozen=True, slots=True)
class GraphCalls:
    """Which node of a graph each call of a prompt belongs to. The record tells it by the seeds, which are those of the nodes' cones."""

    graph: Graph
    keys: Mapping[str, str]
    """Of the cones, by node."""
    nodes: Mapping[int, str]
    """Node of every call, by call id."""

    def calls_of(self, record: PromptRecord, node_id: str) -> list[CallRecord]:
        """Return the calls of a node, failed ones included, in the order of asking."""
        return [call for call_id, call in record.calls.items() if self.nodes.get(call_id) == node_id]


def graph_calls(record: PromptRecord, settings: Mapping[str, Json]) -> GraphCalls | None:
    """Find the nodes of a prompt's calls; None where the run's strategy is no graph.

    Args:
        record: of the prompt.
        settings: of the run, as its folder keeps them.
    """
    strategy = settings.get("strategy")
    text = strategy.get("graph") if isinstance(strategy, dict) and strategy.get("name") == "graph" else None
    seed = settings.get("seed", 0)
    if not isinstance(text, str) or not isinstance(seed, int):
        return None
    graph = graph_of(text)
    keys = cone_keys(graph)
    calls = [found.call for found in record.calls.values()] + record.interrupted
    by_seed = {node_seed(seed, record.prompt.prompt_id, key, attempt): node_id for node_id, key in keys.items() for attempt in range(len(calls) + 1)}
    return GraphCalls(graph, keys, {call.call_id: by_seed[call.seed] for call in calls if call.seed in by_seed})


def draw_graph(record: PromptRecord, found: GraphCalls, width: int) -> RenderableType:
    """Draw the live nodes, level by level.

    Args:
        record: of the prompt.
        found: which node each call belongs to.
        width: of the terminal, in characters.
    """
    best = record.best()
    levels, before = found.graph.live_part().depth_of(), -1
    rows = [tuple(Text(title, style="dim") for title in _TITLES)]
    for node in sorted(found.graph.live_nodes, key=lambda node: levels[node.node_id]):
        level = levels[node.node_id]
        rows.append((Text(str(level) if level != before else ""), *_row(node, found, record, best)))
        before = level
    # What the other columns leave is for the response.
    left = width - sum(max(len(cell.plain) for cell in column) + 2 for column in list(zip(*rows, strict=True))[:-1])
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for row in rows:
        row[-1].truncate(max(16, left), overflow="ellipsis")
        table.add_row(*row)
    question = Text(shown(record.prompt.messages[-1].content, max(20, width - 4)), style="bold")
    return Group(question, table, *_remarks(record, found))


def _row(node: Node, found: GraphCalls, record: PromptRecord, best: CallRecord | None) -> tuple[Text, ...]:
    calls = found.calls_of(record, node.node_id)
    name, reads = Text(node.node_id, style="bold"), Text(", ".join(shown_order(found.graph, found.keys, node.node_id)), style="dim")
    if node.selects:
        chosen = "" if best is None else f"the response of {found.nodes.get(best.call.call_id, '?')}"
        return name, Text(""), Text(node.role.value), reads, Text(""), Text(chosen or "chose none", style="bold green" if chosen else "yellow")
    asked = Text(calls[-1].call.role.value if calls else "")
    answered = next((call for call in calls if isinstance(call.sample, Completion)), None)
    style = "bold green" if answered is not None and answered is best else ""
    if answered is not None:
        reward = "-" if answered.reward is None else f"{answered.reward:.4g}"
        return name, Text(shown(node.model, 24)), asked, reads, Text(reward), Text(shown(answered.text or "", 400), style=style)
    said = f"failed: {', '.join(str(call.reason) for call in calls)}" if calls else "not asked" if record.ended else "not asked yet"
    return name, Text(shown(node.model, 24)), asked, reads, Text(""), Text(said, style="red" if calls else "yellow")


def _remarks(record: PromptRecord, found: GraphCalls) -> list[Text]:
    """Say what was not as the graph has it: nodes tried again, and readers that went on without one."""
    remarks = []
    for node in found.graph.live_nodes:
        calls = found.calls_of(record, node.node_id)
        failed = [call for call in calls if not isinstance(call.sample, Completion)]
        if failed and len(failed) < len(calls):
            remarks.append(Text(f"{node.node_id} answered at try {len(calls)}", style="yellow"))
        asked = next(iter(reversed(calls)), None)
        if asked is not None:
            there = {found.nodes.get(parent) for parent in asked.call.parents}
            missing = [read for read in shown_order(found.graph, found.keys, node.node_id) if read not in there]
            if missing:
                remarks.append(Text(f"{node.node_id} went on without {', '.join(missing)}, and was asked to {asked.call.role}", style="yellow"))
    if record.ended and record.best() is None:
        remarks.append(Text("the sink gave no answer", style="red"))
    return remarks
