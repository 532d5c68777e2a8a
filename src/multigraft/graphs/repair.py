"""A sound graph out of whatever nodes and edges somebody came up with: what does not fit is left out or mended, and each time it is said.

Source: arXiv 2511.00086, appendix A.11 (edges are added as long as they close no cycle). Departures: likelier edges come first, so that a cycle loses its least
likely edge, and the sink is fed again instead of the graph being thrown away.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from operator import itemgetter
from typing import NamedTuple

from multigraft.errors import InputError
from multigraft.graphs.graph import NODE_ID, Edge, Graph, Node, NodeRole
from multigraft.graphs.roles import sound_roles

_SHOWN_CHARACTERS = 40


class Repaired(NamedTuple):
    """What came of it."""

    graph: Graph
    notes: tuple[str, ...]
    """One a repair; its kind is the text up to the first colon: `node`, `edge`, `in-degree`, `cycle`, `sink`, `useless`, `dead` or `role`."""


def repaired(
    nodes: Sequence[Node],
    edges: Iterable[Edge],
    sink: Node | str,
    probabilities: Mapping[Edge, float] | None = None,
    *,
    max_in_degree: int = 8,
    connect_useless: bool = False,
    min_probability: float = 0.2,
    keep_dead: bool = False,
) -> Repaired:
    """Make a sound graph of any nodes and edges.

    Nodes that cannot be are left out; then edges are added, the likeliest first, as long as both ends are there, nobody reads the sink or itself, the target
    has room, and no cycle closes; a sink that reads nothing is given the agent likeliest to feed it; agents that reach no sink are connected or left out;
    fusers that read no assistant become assistants.

    Args:
        nodes: agents, and the sink or not; of several with one id the first counts.
        edges: pairs of anything.
        sink: the sink as it must be, or its id among the nodes.
        probabilities: how likely each edge is; one that is missing or not finite counts as 0. None: edges as likely as each other, in the order given.
        max_in_degree: nodes that one node reads at most; >= 1.
        connect_useless: connect an agent that does not reach the sink to its likeliest successor that does, in up to three rounds.
        min_probability: of such an edge; in [0, 1].
        keep_dead: keep agents that do not reach the sink in the graph, as nodes that are never run.

    Returns:
        A graph that has the sink given, reads within `max_in_degree`, and fits the roles; all of it is live unless `keep_dead`.

    Raises:
        InputError: there is no node with the id of the sink, the sink itself is malformed, or it selects and no agent is left.
    """
    notes: list[str] = []
    agents, sink = _sound_nodes(nodes, sink, notes)
    draft = _Draft([agent.node_id for agent in agents], sink.node_id, probabilities, max_in_degree)
    _add_edges(draft, edges, notes)
    if agents and not draft.read[sink.node_id]:
        feeder = draft.likeliest_feeder()
        draft.add((feeder, sink.node_id))
        notes.append(f"sink: it read nothing, {feeder} -> {sink.node_id} added")
    if connect_useless:
        _connect_useless(draft, min_probability, notes)
    live = draft.ancestors(sink.node_id) | {sink.node_id}
    if not keep_dead:
        notes += [f"dead: {agent.node_id} reaches no sink, left out" for agent in agents if agent.node_id not in live]
        agents = [agent for agent in agents if agent.node_id in live]
    kept = [agent.node_id for agent in agents] + [sink.node_id]
    read_by = {node_id: draft.read[node_id] for node_id in kept}
    sound, role_notes = sound_roles((*agents, sink), read_by, draft.order(kept), sink.node_id)
    edges_kept = tuple((source, target) for target, sources in read_by.items() for source in sources)
    return Repaired(Graph(sound, edges_kept, sink.node_id), (*notes, *role_notes))


class _Draft:
    """Edges without a cycle that grow one by one."""

    def __init__(self, agents: Sequence[str], sink: str, probabilities: Mapping[Edge, float] | None, max_in_degree: int) -> None:
        if max_in_degree < 1:
            message = f"nodes that read at most {max_in_degree} others make no graph; give at least 1"
            raise InputError(message, field="max_in_degree")
        self.agents = tuple(agents)
        self.sink = sink
        self.read: dict[str, list[str]] = {node_id: [] for node_id in (*agents, sink)}
        self._probabilities = probabilities
        self._max_in_degree = max_in_degree

    def probability(self, edge: Edge) -> float:
        """Return how likely an edge is: 1 where nothing is said of any."""
        if self._probabilities is None:
            return 1.0
        value = self._probabilities.get(edge, 0.0)
        return value if isfinite(value) else 0.0

    def add(self, edge: Edge) -> None:
        self.read[edge[1]].append(edge[0])

    def full(self, node_id: str) -> bool:
        return len(self.read[node_id]) >= self._max_in_degree

    def ancestors(self, node_id: str) -> set[str]:
        """Return all that lead to a node, without itself."""
        found: set[str] = set()
        waiting = [node_id]
        while waiting:
            fresh = [source for source in self.read[waiting.pop()] if source not in found]
            found.update(fresh)
            waiting += fresh
        return found

    def likeliest_feeder(self) -> str:
        """Return the agent likeliest to feed the sink; of equals the one with most leading to it."""
        return max(self.agents, key=lambda agent: (self.probability((agent, self.sink)), len(self.ancestors(agent))))

    def order(self, node_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the nodes, each after those it reads: a node has more leading to it than any of those has."""
        return tuple(sorted(node_ids, key=lambda node_id: len(self.ancestors(node_id))))


def _sound_nodes(nodes: Sequence[Node], sink: Node | str, notes: list[str]) -> tuple[list[Node], Node]:
    if isinstance(sink, str):
        found = next((node for node in nodes if node.node_id == sink), None)
        if found is None:
            message = f"there is no node '{sink[:_SHOWN_CHARACTERS]}' to be the sink"
            raise InputError(message, field="sink")
        sink = found
    agents = _sound_agents(nodes, sink, notes)
    if sink.selects and not agents:
        message = f"no agent is left for the sink '{sink.role}' to choose from; give at least one"
        raise InputError(message, field="nodes")
    return list(agents.values()), sink


def _sound_agents(nodes: Sequence[Node], sink: Node, notes: list[str]) -> dict[str, Node]:
    agents: dict[str, Node] = {}
    for node in nodes:
        name = node.node_id[:_SHOWN_CHARACTERS]
        if node.node_id == sink.node_id:
            if node != sink:
                notes.append(f"sink: {name} kept as it was")
        elif not NODE_ID.fullmatch(node.node_id):
            notes.append(f"node: {name!r} is no id, left out")
        elif node.node_id in agents:
            notes.append(f"node: {name} is there twice, the second left out")
        elif not node.model:
            notes.append(f"node: {name} names no model, left out")
        elif node.selects:
            agents[node.node_id] = Node(node.node_id, node.model, NodeRole.ASSISTANT)
            notes.append(f"role: {name} made an assistant, since only the sink selects")
        else:
            agents[node.node_id] = node
    return agents


def _add_edges(draft: _Draft, edges: Iterable[Edge], notes: list[str]) -> None:
    for edge in sorted(edges, key=draft.probability, reverse=True):
        source, target = edge
        shown = f"{source[:_SHOWN_CHARACTERS]} -> {target[:_SHOWN_CHARACTERS]}"
        if source not in draft.read or target not in draft.read:
            notes.append(f"edge: {shown} left out, there is no such node")
        elif source == target:
            notes.append(f"edge: {shown} left out, a node cannot read itself")
        elif source == draft.sink:
            notes.append(f"edge: {shown} left out, nobody reads the sink")
        elif source in draft.read[target]:
            notes.append(f"edge: {shown} left out, it is there twice")
        elif target in draft.ancestors(source):
            notes.append(f"cycle: {shown} left out")
        elif draft.full(target):
            notes.append(f"in-degree: {shown} left out, {target} reads {len(draft.read[target])} others already")
        else:
            draft.add(edge)


def _connect_useless(draft: _Draft, min_probability: float, notes: list[str]) -> None:
    for _ in range(3):
        useful = draft.ancestors(draft.sink)
        useless = [agent for agent in draft.agents if agent not in useful]
        num_before = len(notes)
        for agent in useless:
            # A node that it leads to may have been connected in this round.
            if agent in useful:
                continue
            above = draft.ancestors(agent)
            open_ones = [target for target in (draft.sink, *draft.agents) if target in useful | {draft.sink} and target not in above and not draft.full(target)]
            likeliest = sorted(((draft.probability((agent, target)), target) for target in open_ones), key=itemgetter(0), reverse=True)[:1]
            for probability, target in likeliest:
                if probability >= min_probability:
                    draft.add((agent, target))
                    useful |= {agent} | above
                    notes.append(f"useless: {agent} -> {target} added")
        if len(notes) == num_before:
            return
