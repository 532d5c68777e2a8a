"""A collaboration graph: agents, who reads whose output, and the sink, which gives the answer.

Source: Wang et al., "Generalizing Test-time Compute-optimal Scaling as an Optimizable Graph" (arXiv 2511.00086), section 3 and appendix A.2.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

from multigraft.errors import InputError

Edge: TypeAlias = tuple[str, str]
"""From the node that writes to the node that reads."""

NODE_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}")
SINK: Final = "sink"
"""What the sink is called in the graphs made here."""


class NodeRole(StrEnum):
    """What a node does with what it reads."""

    ASSISTANT = "assistant"
    """Answers the question; improves on the answers it reads, where it reads any."""
    FUSER = "fuser"
    """Condenses the answers it reads into one, for a next agent."""
    VOTE = "vote"
    """Sink only, calls no model: the answer most of the nodes it reads agree on; ties go to the one whose node comes first."""
    BEST = "best"
    """Sink only, calls no model: the answer with the highest reward of those it reads."""


SELECTORS: Final = frozenset({NodeRole.VOTE, NodeRole.BEST})
"""Roles that choose an answer and write none."""


@dataclass(frozen=True, slots=True)
class Node:
    """One agent."""

    node_id: str
    """1 to 40 letters, digits, `_`, `-` or `.`; unique in its graph."""
    model: str
    """Name of a model; empty for a selector."""
    role: NodeRole = NodeRole.ASSISTANT

    @property
    def selects(self) -> bool:
        """Whether the node chooses among answers without calling a model."""
        return self.role in SELECTORS


@dataclass(frozen=True, slots=True)
class Graph:
    """A directed graph without cycles, and with one sink. Equal nodes and edges make equal graphs; see `canonical` for equality up to names.

    Args:
        nodes: at least one; the sink is one of them.
        edges: pairs of node ids, in any order.
        sink: id of the node whose output is the answer.

    Raises:
        InputError: names the node or edge that does not fit: an id twice or malformed, a missing model, an unknown end, a loop, an edge twice, an edge out of
            the sink, a cycle, a selector that is not the sink, a fuser or selector that reads nothing, or a sink that reads nothing although there are other
            nodes.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    sink: str = SINK
    _readers: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _read: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _order: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _live: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ids = [node.node_id for node in self.nodes]
        _check_nodes(self.nodes, ids, self.sink)
        position = {node_id: index for index, node_id in enumerate(ids)}
        _check_edges(self.edges, position, self.sink)
        edges = sorted(self.edges, key=lambda edge: (position[edge[0]], position[edge[1]]))
        read: dict[str, list[str]] = {node_id: [] for node_id in ids}
        readers: dict[str, list[str]] = {node_id: [] for node_id in ids}
        for source, target in edges:
            readers[source].append(target)
            read[target].append(source)
        for node in self.nodes:
            if not read[node.node_id] and (node.selects or node.role is NodeRole.FUSER or (node.node_id == self.sink and len(ids) > 1)):
                message = f"node '{node.node_id}' ({node.role}) reads no other node; add an edge to it"
                raise InputError(message, field="edges")
        object.__setattr__(self, "edges", tuple(edges))
        object.__setattr__(self, "_read", {node_id: tuple(sources) for node_id, sources in read.items()})
        object.__setattr__(self, "_readers", {node_id: tuple(targets) for node_id, targets in readers.items()})
        object.__setattr__(self, "_order", _topological(ids, read, readers))
        object.__setattr__(self, "_live", _ancestors(self.sink, read))

    @property
    def order(self) -> tuple[str, ...]:
        """All node ids, every node after those it reads; where there is a choice, in the order of `nodes`."""
        return self._order

    @property
    def live(self) -> frozenset[str]:
        """Ids of the nodes that can reach the sink, itself included: only these are run and paid for."""
        return self._live

    @property
    def live_nodes(self) -> tuple[Node, ...]:
        """The live nodes, every node after those it reads."""
        by_id = {node.node_id: node for node in self.nodes}
        return tuple(by_id[node_id] for node_id in self._order if node_id in self._live)

    def node(self, node_id: str) -> Node:
        """Return a node by its id.

        Raises:
            KeyError: there is none.
        """
        for node in self.nodes:
            if node.node_id == node_id:
                return node
        raise KeyError(node_id)

    def read_by(self, node_id: str) -> tuple[str, ...]:
        """Ids of the nodes that a node reads (its predecessors), in the order of `nodes`."""
        return self._read[node_id]

    def readers_of(self, node_id: str) -> tuple[str, ...]:
        """Ids of the nodes that read a node (its successors), in the order of `nodes`."""
        return self._readers[node_id]

    def live_part(self) -> "Graph":
        """Return the graph without the nodes that do not reach the sink."""
        if len(self._live) == len(self.nodes):
            return self
        nodes = tuple(node for node in self.nodes if node.node_id in self._live)
        return Graph(nodes, tuple(edge for edge in self.edges if edge[0] in self._live and edge[1] in self._live), self.sink)

    def depth_of(self) -> Mapping[str, int]:
        """Return the level of every node: 0 where it reads nothing, else one more than the highest level it reads."""
        levels: dict[str, int] = {}
        for node_id in self._order:
            levels[node_id] = max((levels[source] + 1 for source in self._read[node_id]), default=0)
        return levels


def _check_nodes(nodes: tuple[Node, ...], ids: list[str], sink: str) -> None:
    if sink not in ids:
        message = f"the sink '{sink}' is no node of the graph; nodes: {', '.join(map(repr, ids)) or 'none'}"
        raise InputError(message, field="sink")
    seen: set[str] = set()
    for index, node in enumerate(nodes):
        place = f"nodes[{index}]"
        if not NODE_ID.fullmatch(node.node_id):
            message = f"{node.node_id!r} is no node id; take 1 to 40 letters, digits, '_', '-' or '.'"
            raise InputError(message, field=f"{place}.id")
        if node.node_id in seen:
            message = f"the id '{node.node_id}' is taken; give every node one of its own"
            raise InputError(message, field=f"{place}.id")
        seen.add(node.node_id)
        if node.selects and node.node_id != sink:
            message = f"only the sink may have the role '{node.role}', not '{node.node_id}'"
            raise InputError(message, field=f"{place}.role")
        if node.selects == bool(node.model):
            message = f"a sink with the role '{node.role}' calls no model; leave it out" if node.selects else f"node '{node.node_id}' names no model"
            raise InputError(message, field=f"{place}.model")


def _check_edges(edges: Iterable[Edge], position: Mapping[str, int], sink: str) -> None:
    seen: set[Edge] = set()
    for index, (source, target) in enumerate(edges):
        problem = None
        if source not in position or target not in position:
            problem = f"there is no node '{target if source in position else source}'"
        elif source == target:
            problem = "a node cannot read itself"
        elif source == sink:
            problem = f"nobody reads the sink '{sink}'"
        elif (source, target) in seen:
            problem = "the edge is there twice"
        if problem:
            message = f"{source} -> {target}: {problem}"
            raise InputError(message, field=f"edges[{index}]")
        seen.add((source, target))


def _topological(ids: list[str], read: Mapping[str, list[str]], readers: Mapping[str, list[str]]) -> tuple[str, ...]:
    position = {node_id: index for index, node_id in enumerate(ids)}
    missing = {node_id: len(read[node_id]) for node_id in ids}
    ready = [position[node_id] for node_id in ids if not missing[node_id]]
    heapify(ready)
    order: list[str] = []
    while ready:
        node_id = ids[heappop(ready)]
        order.append(node_id)
        for target in readers[node_id]:
            missing[target] -= 1
            if not missing[target]:
                heappush(ready, position[target])
    if len(order) < len(ids):
        message = f"the edges close a cycle among {', '.join(node_id for node_id in ids if node_id not in order)}"
        raise InputError(message, field="edges")
    return tuple(order)


def _ancestors(sink: str, read: Mapping[str, list[str]]) -> frozenset[str]:
    found = {sink}
    waiting = [sink]
    while waiting:
        for source in read[waiting.pop()]:
            if source not in found:
                found.add(source)
                waiting.append(source)
    return frozenset(found)
