"""Every draw that a distribution may make, so that expectations are sums and not estimates."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, permutations, product
from math import exp, factorial

from multigraft.graphs.distribution import Distribution
from multigraft.graphs.draw import Draw, NodeBudget
from multigraft.graphs.graph import SINK, Edge, Graph, Node, NodeRole
from multigraft.graphs.layout import Layout
from multigraft.graphs.roles import may_fuse
from multigraft.randomness import Draws

Assignment = tuple[Mapping[str, tuple[str, ...]], Mapping[str, str]]


def subsets(edges: Sequence[Edge]) -> Iterator[tuple[Edge, ...]]:
    return chain.from_iterable(combinations(edges, size) for size in range(len(edges) + 1))


def assignments(layout: Layout, agents: Sequence[str], budget: NodeBudget | None, spent: float = 0.0) -> Iterator[Assignment]:
    """Models of the agents in this order, and what each was drawn from."""
    fitting = layout.models if budget is None else budget.affordable(layout.models, spent)
    if not agents or not fitting:
        yield {}, {}
        return
    for model in fitting:
        for feasible, models in assignments(layout, agents[1:], budget, spent + (budget.costs[model] if budget else 0.0)):
            yield {agents[0]: fitting, **feasible}, {agents[0]: model, **models}


def role_choices(layout: Layout, order: Sequence[str], read: Mapping[str, Sequence[str]]) -> Iterator[tuple[dict[str, NodeRole], frozenset[str]]]:
    if not order:
        yield {}, frozenset()
        return
    for roles, free in role_choices(layout, order[:-1], read):
        if len(layout.roles) > 1 and may_fuse(roles[source] for source in read[order[-1]]):
            for role in layout.roles:
                yield roles | {order[-1]: role}, free | {order[-1]}
        else:
            yield roles | {order[-1]: NodeRole.ASSISTANT}, free


def draws_given(layout: Layout, order: Sequence[str], assignment: Assignment, *, budgeted: bool = False) -> Iterator[Draw]:
    """All draws with an order and models."""
    feasible, models = assignment
    between = [(source, target) for index, target in enumerate(order) for source in order[:index]]
    feeding = [(source, SINK) for source in order]
    for inner, outer, sink_index in product(subsets(between), subsets(feeding), range(len(layout.sinks))):
        if order and not outer:
            continue
        read = {agent: [source for source, target in inner if target == agent] for agent in order}
        for roles, free in role_choices(layout, order, read):
            nodes = tuple(Node(agent, models[agent], roles[agent]) for agent in layout.agents if agent in models)
            yield Draw(Graph((*nodes, layout.sinks[sink_index]), (*inner, *outer), SINK), tuple(order), sink_index, feasible, free, budgeted)


def all_draws(layout: Layout, *, models: Mapping[str, str] | None = None, budget: NodeBudget | None = None) -> list[tuple[float, Draw]]:
    """All draws, each with the share that chance outside the logits (orders) gives it."""
    found: list[tuple[float, Draw]] = []
    num_agents = len(layout.agents)
    outer_orders = list(permutations(layout.agents)) if budget else [layout.agents]
    for outer in outer_orders:
        for assignment in [({}, models)] if models is not None else assignments(layout, outer, budget):
            present = [agent for agent in layout.agents if agent in assignment[1]]
            for order in permutations(present):
                share = 1 / factorial(len(present)) / (factorial(num_agents) if budget else 1)
                found += [(share, draw) for draw in draws_given(layout, order, assignment, budgeted=budget is not None)]
    return found


def weighted(distribution: Distribution, draws: Sequence[tuple[float, Draw]]) -> list[tuple[float, Draw]]:
    """The draws with their probabilities."""
    return [(share * exp(distribution.log_probability(draw)), draw) for share, draw in draws]


def scattered(layout: Layout, seed: int) -> Distribution:
    """A distribution with logits between -1.5 and 1.5."""
    draws = Draws("scattered", seed)
    return Distribution(layout, tuple(3 * draws.uniform() - 1.5 for _ in range(layout.size)))
