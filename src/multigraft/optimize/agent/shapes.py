"""Graphs by their shape: rows of agents, and what one of a shape would cost, as far as the feedback tells."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple


class Features(NamedTuple):
    """What the list of all that was tried says of a graph."""

    counts: tuple[tuple[str, int], ...]
    """Agents by model, by name."""
    width: int
    depth: int
    edges: int
    fusers: int


class Shape(NamedTuple):
    """A graph in a few words."""

    width: int
    """Agents side by side."""
    depth: int
    """Agents in a row."""
    dense: bool = False
    """Every agent reads the whole row before, in place of one agent of it."""
    fused: bool = False
    """The last row fuses."""
    cheap: bool = False
    """The cheapest agents of the team act, in place of the dearest."""


class Agent(NamedTuple):
    """One of a team."""

    agent_id: str
    model: str
    price: float
    """Of one call."""


class Planned(NamedTuple):
    """A graph of a shape."""

    shape: Shape
    agents: tuple[Agent, ...]
    edges: tuple[tuple[str, str], ...]
    fusers: tuple[str, ...]


def features(agents: Sequence[Agent], edges: Sequence[tuple[str, str]], fusers: int) -> Features:
    """Say what the list of all that was tried would say of a graph.

    Args:
        agents: those that act.
        edges: those among them and to the sink; without a cycle.
        fusers: how many of them fuse.
    """
    counts: dict[str, int] = {}
    for agent in agents:
        counts[agent.model] = counts.get(agent.model, 0) + 1
    levels = {agent.agent_id: 0 for agent in agents}
    for _ in agents:
        for source, target in edges:
            if target in levels and source in levels:
                levels[target] = max(levels[target], levels[source] + 1)
    rows = list(levels.values())
    return Features(tuple(sorted(counts.items())), max((rows.count(row) for row in rows), default=0), max(rows, default=-1) + 1, len(edges), fusers)


def planned(shape: Shape, team: Sequence[Agent], sink: str) -> Planned | None:
    """Make a graph of a shape; None: the team has not as many agents.

    Args:
        shape: of it.
        team: in any order.
        sink: its id.
    """
    size = shape.width * shape.depth
    if size > len(team) or size < 1 or (shape.fused and shape.depth < 2) or (shape.dense and (shape.depth < 2 or shape.width < 2)):
        return None
    dear_first = sorted(team, key=lambda agent: -agent.price)
    acting = list(reversed(dear_first))[:size] if shape.cheap else dear_first[:size]
    # Cheap ones draft, dear ones read.
    acting.sort(key=lambda agent: agent.price)
    rows = [acting[row * shape.width : (row + 1) * shape.width] for row in range(shape.depth)]
    edges: list[tuple[str, str]] = []
    for above, below in pairwise(rows):
        for place, reader in enumerate(below):
            edges += [(agent.agent_id, reader.agent_id) for agent in (above if shape.dense else (above[place],))]
    edges += [(agent.agent_id, sink) for agent in rows[-1]]
    fusers = tuple(agent.agent_id for agent in rows[-1]) if shape.fused else ()
    return Planned(shape, tuple(acting), tuple(edges), fusers)


def cost_of(prices: Mapping[str, float], edges: Sequence[tuple[str, str]], per_read: float) -> float:
    """Estimate what a graph costs: a call of each node, and a share of one for each output it reads.

    Args:
        prices: of one call of each acting node, the sink among them.
        edges: who reads whom.
        per_read: that share.
    """
    return sum(prices.values()) + per_read * sum(prices.get(target, 0.0) for _, target in edges)


def longest_s(takes: Mapping[str, float], edges: Sequence[tuple[str, str]]) -> float:
    """Return what the longest way takes.

    Args:
        takes: seconds of each acting node, the sink among them.
        edges: who reads whom; without a cycle.
    """
    ends = dict(takes)
    for _ in takes:
        for source, target in edges:
            if source in ends and target in ends:
                ends[target] = max(ends[target], ends[source] + takes[target])
    return max(ends.values(), default=0.0)


def neighbours(shape: Shape) -> Iterator[Shape]:
    """Yield what to try next to a shape, the boldest first: twice and half of one, trades of one for the other, then single steps and other wirings."""
    width, depth = shape.width, shape.depth
    for other in (
        (2 * width, depth),
        (width, 2 * depth),
        (2 * width, depth // 2),
        (width // 2, 2 * depth),
        (width + 1, depth),
        (width, depth + 1),
        (width // 2, depth),
        (width, depth // 2),
        (width - 1, depth),
        (width, depth - 1),
        (width + 1, depth - 1),
        (width - 1, depth + 1),
        (width + 2, depth),
        (width, depth + 2),
    ):
        if min(other) >= 1 and other != (width, depth):
            yield shape._replace(width=other[0], depth=other[1])
    for change in ({"cheap": not shape.cheap}, {"fused": not shape.fused}, {"dense": not shape.dense}):
        yield shape._replace(**change)
