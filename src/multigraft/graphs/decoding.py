"""The most probable graph of a distribution, found exactly.

Each edge counts its log-odds, log(p / (1 - p)), and the edges of the highest sum that close no cycle are wanted. An order of the agents that is best for a set
of them ends in some agent, before which the order is best for the rest: best[S] = max over v in S of best[S without v] + what v reads of S, each edge counted
where it is likelier there than not. Cycles stay within strongly connected parts of these edges, so each part is solved by itself. Source: arXiv 2511.00086,
appendix A.11 (the most probable graph, then pruned). Departure: exact instead of greedy.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final, TypeVar

from multigraft.graphs.distribution import Distribution
from multigraft.graphs.draw import NodeBudget
from multigraft.graphs.graph import SINK, Edge, Graph, Node, NodeRole
from multigraft.graphs.roles import may_fuse

Name = TypeVar("Name")

LARGEST_EXACT: Final = 16
"""Agents on cycles through each other that are ordered exactly; more are ordered greedily."""


def most_probable(distribution: Distribution, *, models: Mapping[str, str] | None = None, budget: NodeBudget | None = None) -> Graph:
    """Return the graph that a distribution makes most of.

    Edges between agents are the acyclic set of the highest log-odds, exactly for up to 16 agents on cycles through each other; the sink is read by nobody and
    reads all that are likelier than not, or else the likeliest. Roles are the likeliest of each agent in turn, where it may be a fuser at all. Models are the
    likeliest together that the budget allows.

    Args:
        distribution: over at least the agents named.
        models: agents that take part, with the model of each; None: all do.
        budget: what the agents may weigh together; where not even the smallest models of all fit, each gets the lightest, and pruning has to follow.

    Returns:
        A graph of all agents that take part; some may not reach the sink.

    Raises:
        InputError: no agent takes part although the sink needs some to read.
    """
    layout = distribution.layout
    chosen = most_probable_models(distribution, budget) if models is None else models
    agents = [agent for agent in layout.agents if agent in chosen]
    log_odds = {(source, target): distribution.logits[layout.edge_at((source, target))] for source in agents for target in agents if source != target}
    order, read = acyclic(agents, log_odds)
    to_sink = {agent: distribution.logits[layout.edge_at((agent, SINK))] for agent in agents}
    read[SINK] = [agent for agent in agents if to_sink[agent] > 0] or sorted(agents, key=to_sink.__getitem__, reverse=True)[:1]
    roles: dict[str, NodeRole] = {}
    for agent in order:
        free = may_fuse(roles[source] for source in read[agent])
        roles[agent] = _likeliest(distribution.role_probabilities(agent)) if free else NodeRole.ASSISTANT
    sink = max(zip(distribution.sink_probabilities(), layout.sinks, strict=True), key=itemgetter(0))[1]
    nodes = (*(Node(agent, chosen[agent], roles[agent]) for agent in agents), sink)
    return Graph(nodes, tuple((source, target) for target, sources in read.items() for source in sources), SINK)


def acyclic(nodes: Sequence[str], weights: Mapping[Edge, float]) -> tuple[tuple[str, ...], dict[str, list[str]]]:
    """Choose the edges of the highest sum of weights that close no cycle.

    Args:
        nodes: ends of the edges.
        weights: by edge; an edge that is missing or not above 0 is not chosen.

    Returns:
        The nodes, each after those it reads, and what each reads.
    """
    wanted = {node: {source for source in nodes if source != node and weights.get((source, node), 0.0) > 0} for node in nodes}
    order: list[str] = []
    for part in _parts(nodes, wanted):
        order += _ordered(part, weights) if len(part) <= LARGEST_EXACT else _greedily_ordered(part, weights)
    return tuple(order), {target: [source for source in order[:index] if source in wanted[target]] for index, target in enumerate(order)}


def most_probable_models(distribution: Distribution, budget: NodeBudget | None = None) -> Mapping[str, str]:
    """Return the likeliest models of all agents that weigh no more together than they may; the lightest of each where nothing fits.

    Exact: partial choices are kept unless another is both lighter and likelier.
    """
    agents = distribution.layout.agents
    if budget is None:
        return {agent: _likeliest(distribution.model_probabilities(agent)) for agent in agents}
    lightest = min(distribution.layout.models, key=budget.costs.__getitem__, default="")
    # By weight and log-odds: models of the agents so far.
    choices: list[tuple[float, float, tuple[str, ...]]] = [(0.0, 0.0, ())]
    for index, agent in enumerate(agents):
        rest = budget.costs[lightest] * (len(agents) - index - 1)
        logits = [distribution.logits[place] for place in distribution.layout.models_at(agent)]
        longer = [
            (weight + budget.costs[model], value + logit, (*models, model))
            for weight, value, models in choices
            for model, logit in zip(distribution.layout.models, logits, strict=True)
            if budget.affordable((model,), weight + rest)
        ]
        choices = _undominated(longer)
    return dict(zip(agents, choices[-1][2], strict=True)) if choices else dict.fromkeys(agents, lightest)


def _undominated(choices: Iterable[tuple[float, float, tuple[str, ...]]]) -> list[tuple[float, float, tuple[str, ...]]]:
    """Return the choices, ascending in weight and so in value, that no lighter one of at least the value beats."""
    kept: list[tuple[float, float, tuple[str, ...]]] = []
    for choice in sorted(choices, key=lambda found: (found[0], -found[1])):
        if not kept or choice[1] > kept[-1][1]:
            kept.append(choice)
    return kept


def _likeliest(shares: Mapping[Name, float]) -> Name:
    """Return the name with the largest share; the first of equals."""
    return max(shares, key=shares.__getitem__)


def _parts(nodes: Sequence[str], wanted: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected parts of the edges wanted, each after those it reads from."""
    above = {node: _reached(node, wanted) for node in nodes}
    parts: list[list[str]] = []
    for node in sorted(nodes, key=lambda node: len(above[node] | {node})):
        for part in parts:
            if part[0] in above[node] and node in above[part[0]]:
                part.append(node)
                break
        else:
            parts.append([node])
    return parts


def _reached(start: str, wanted: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        fresh = wanted[waiting.pop()] - found
        found |= fresh
        waiting += fresh
    return found


def _ordered(nodes: Sequence[str], weights: Mapping[Edge, float]) -> list[str]:
    """Return the order whose forward edges weigh most."""
    num = len(nodes)
    gains = [[max(0.0, weights.get((source, target), 0.0)) for source in nodes] for target in nodes]
    half = (num + 1) // 2
    low = [_subset_sums(row[:half]) for row in gains]
    high = [_subset_sums(row[half:]) for row in gains]
    mask = (1 << half) - 1
    best = [0.0] * (1 << num)
    last = [0] * (1 << num)
    members = [(node, 1 << node, low[node], high[node]) for node in range(num)]
    for chosen in range(1, 1 << num):
        highest = -1.0
        for node, bit, low_sums, high_sums in members:
            if chosen & bit:
                rest = chosen ^ bit
                value = best[rest] + low_sums[rest & mask] + high_sums[rest >> half]
                if value > highest:
                    highest, last[chosen] = value, node
        best[chosen] = highest
    order: list[str] = []
    chosen = (1 << num) - 1
    while chosen:
        order.append(nodes[last[chosen]])
        chosen ^= 1 << last[chosen]
    return order[::-1]


def _subset_sums(values: Sequence[float]) -> list[float]:
    sums = [0.0]
    for value in values:
        sums += [value + before for before in sums]
    return sums


def _greedily_ordered(nodes: Sequence[str], weights: Mapping[Edge, float]) -> list[str]:
    """Take edges, the heaviest first, as long as they close no cycle."""
    read: dict[str, set[str]] = {node: set() for node in nodes}
    edges = [(source, target) for source in nodes for target in nodes if source != target and weights.get((source, target), 0.0) > 0]
    for source, target in sorted(edges, key=weights.__getitem__, reverse=True):
        if target not in _reached(source, read):
            read[target].add(source)
    return sorted(nodes, key=lambda node: len(_reached(node, read)))
