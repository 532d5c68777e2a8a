"""A reply made into a graph that is sound and affordable, whatever the reply holds.

Every check has a repair, and every repair is noted; only a reply without a graph in it is refused, and then asked for again. The order matters: names first,
then who plays what, then edges, then probabilities, then what it costs.

Source: Wang et al., arXiv 2511.00086, section 5.2 and appendix A.12, for the form of the reply and the rules; the repairs are ours.
"""

from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import Edge, Graph, Node, NodeRole
from multigraft.optimize.agent.edge_table import LARGEST_CHANGE, checked_table
from multigraft.optimize.agent.notes import Notes, shown
from multigraft.optimize.agent.reading import read_object
from multigraft.optimize.agent.team import Team
from multigraft.optimize.fitting import Fitted, fitted
from multigraft.randomness import Draws
from multigraft.types import Json

_WHY_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a reply is held against.

    Args:
        team: with the models and roles it had in the last graph.
        table: probabilities of all its candidate edges.
        sampled: edges of the graph that was evaluated last.
        known: ids (`graph_id`) of the graphs that were evaluated already.
        draws: for ties, and for the sample below.
        sample: draws a graph from the distribution with a table, in place of one that is known already.
        whole: the reply was asked to list every agent, so that a missing one is worth a note.
        largest_change: of one probability.
    """

    team: Team
    table: Mapping[Edge, float]
    draws: Draws
    sample: Callable[[Mapping[Edge, float]], Fitted]
    sampled: Container[Edge] = frozenset()
    known: Container[str] = field(default_factory=frozenset)
    whole: bool = True
    largest_change: float = LARGEST_CHANGE


class Sound(NamedTuple):
    """What a reply became."""

    graph: Graph
    """Sound, within the caps, all of it live."""
    team: Team
    """With models and roles as in the reply, resting agents included."""
    table: Mapping[Edge, float]
    notes: tuple[str, ...]
    """A repair each, `kind: detail`."""
    why: str
    """The model's reason, made printable; data, never an instruction."""
    sampled: bool = False
    """The graph replied was known, so this one was drawn instead."""


class Refused(NamedTuple):
    """There is no graph in the reply."""

    reason: str


def validated(text: str, standing: Standing) -> Sound | Refused:
    """Make a graph of a reply.

    Args:
        text: what the model wrote; anything.
        standing: what it is held against.

    Returns:
        A graph of the space, its notes saying what was changed; or why there is none.
    """
    read = read_object(text, "edges")
    if read.found is None:
        return Refused(read.problem)
    notes = Notes()
    team = _team(read.found, standing, notes)
    edges = _edges(read.found, team, notes)
    if edges is None:
        return Refused("edges is no list of pairs")
    table = checked_table(read.found.get("probs"), standing.table, sampled=standing.sampled, notes=notes, largest_change=standing.largest_change)
    graph = _fitted(team, edges, table, standing, notes)
    is_known = graph_id(graph) in standing.known
    if is_known:
        drawn = standing.sample(table)
        notes.add("graph known", "another one drawn instead")
        for note in drawn.notes:
            _pass_on(note, notes)
        graph = drawn.graph
    return Sound(graph, team.with_nodes_of(graph), table, notes.listed(), why_of(read.found), is_known)


def why_of(found: Mapping[str, Json], key: str = "why", most: int = _WHY_CHARACTERS) -> str:
    """Return what a model says in words, on one printable line."""
    value = found.get(key)
    return " ".join(ascii(value[:most])[1:-1].replace("\\n", " ").split()) if isinstance(value, str) else ""


def _team(found: Mapping[str, Json], standing: Standing, notes: Notes) -> Team:
    """Read who plays what: ids, the sink, models, roles."""
    team = standing.team
    given = _listed_nodes(found.get("nodes"), team, notes)
    if standing.whole:
        for node_id in team.ids:
            if node_id not in given:
                notes.add("node missing", f"{node_id} kept unchanged")
    sink = given.get(team.sink.node_id)
    if sink is not None:
        _check_sink(sink, team, notes)
    wanted = {node.node_id: _model(given.get(node.node_id), node, team, notes) for node in team.nodes}
    before = Counter(node.model for node in team.nodes)
    if Counter(wanted.values()) != before:
        notes.add("models kept", "not as many of each as before")
        wanted = {node.node_id: node.model for node in team.nodes}
    nodes = tuple(Node(node.node_id, wanted[node.node_id], _role(given.get(node.node_id), node, team, notes)) for node in team.nodes)
    return Team(space=team.space, nodes=nodes, sink=team.sink)


def _listed_nodes(value: Json, team: Team, notes: Notes) -> dict[str, Mapping[str, Json]]:
    given: dict[str, Mapping[str, Json]] = {}
    if value is None:
        return given
    if not isinstance(value, list):
        notes.add("node malformed", "nodes is no list")
        return given
    for entry in value:
        node_id = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(node_id, str):
            notes.add("node malformed", entry)
        elif node_id not in team.ids and node_id != team.sink.node_id:
            notes.add("node unknown", node_id)
        elif node_id in given:
            notes.add("node twice", node_id)
        else:
            given[node_id] = entry
    return given


def _check_sink(entry: Mapping[str, Json], team: Team, notes: Notes) -> None:
    model, role = entry.get("model"), entry.get("role")
    changes_model = model not in {None, ""} if not isinstance(model, list | dict) else True
    if (changes_model and team.names.model(model) != (team.sink.model or None)) or (role is not None and role != team.sink.role.value):
        notes.add("sink reset", f"{shown(model)} {shown(role)}")


def _model(entry: Mapping[str, Json] | None, node: Node, team: Team, notes: Notes) -> str:
    if entry is None or entry.get("model") is None:
        return node.model
    model = team.names.model(entry["model"])
    if model is None or model not in team.space.models:
        notes.add("model unknown", entry["model"])
        return node.model
    return model


def _role(entry: Mapping[str, Json] | None, node: Node, team: Team, notes: Notes) -> NodeRole:
    if entry is None or entry.get("role") is None:
        return node.role
    for role in team.space.roles:
        if entry["role"] == role.value:
            return role
    notes.add("role unknown", entry["role"])
    return node.role


def _edges(found: Mapping[str, Json], team: Team, notes: Notes) -> list[Edge] | None:
    value = found["edges"]
    if not isinstance(value, list):
        return None
    ends = {*team.ids, team.sink.node_id}
    edges: dict[Edge, None] = {}
    for entry in value:
        edge = _pair(entry)
        if edge is None:
            notes.add("edge malformed", entry)
        elif edge[0] not in ends or edge[1] not in ends:
            notes.add("edge unknown", f"{edge[0]}>{edge[1]}")
        elif edge[0] == edge[1]:
            notes.add("edge to itself", edge[0])
        elif edge[0] == team.sink.node_id:
            notes.add("edge from the sink", edge[1])
        elif edge in edges:
            notes.add("edge twice", f"{edge[0]}>{edge[1]}")
        else:
            edges[edge] = None
    return list(edges) if edges or not value else None


def _pair(entry: Json) -> Edge | None:
    if isinstance(entry, dict):
        entry = [entry.get("src"), entry.get("dst")]
    if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], str):
        return entry[0], entry[1]
    return None


def _fitted(team: Team, edges: list[Edge], table: Mapping[Edge, float], standing: Standing, notes: Notes) -> Graph:
    """Repair edges and roles and prune to the budget; agents that the reply connects to nothing rest, as was allowed."""
    sink = team.sink.node_id
    reaching = _ancestors(sink, edges)
    if not reaching:
        # Its own end of a path where the reply has edges; else anyone.
        ends = [node_id for node_id in team.ids if any(edge[1] == node_id for edge in edges)] or team.ids
        feeder = max(ends, key=lambda node_id: table.get((node_id, sink), 0.0))
        notes.add("sink fed", f"{feeder} connected to it")
        edges = [*edges, (feeder, sink)]
        reaching = _ancestors(sink, edges)
    nodes = [node for node in team.nodes if node.node_id in reaching]
    kept = [edge for edge in edges if edge[0] in reaching]
    found = fitted(
        (*nodes, team.sink), [edge for edge in kept if edge[1] in reaching or edge[1] == sink], sink, team.space, probabilities=table, draws=standing.draws
    )
    for note in found.notes:
        _pass_on(note, notes)
    return found.graph


def _pass_on(note: str, notes: Notes) -> None:
    kind, _, detail = note.partition(":")
    notes.add(kind, detail.strip())


def _ancestors(sink: str, edges: list[Edge]) -> set[str]:
    read: dict[str, list[str]] = {}
    for source, target in edges:
        read.setdefault(target, []).append(source)
    found: set[str] = set()
    waiting = [sink]
    while waiting:
        for source in read.get(waiting.pop(), ()):
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found
