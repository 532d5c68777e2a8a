"""Which models, and how many of each: multisets that fill a budget of nodes.

Source: Wang et al., arXiv 2511.00086, section 5.2 (initialisation): models of 1, 3, 8 and 70 billion parameters count as 1, 3, 9 and 81 nodes of the smallest.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from multigraft.graphs.graph import Edge, Graph, Node
from multigraft.optimize.problem import Space
from multigraft.randomness import Draws

Combination: TypeAlias = tuple[int, ...]
"""How many of each model, in the order of the pool."""


def combos(costs: Sequence[int], budget: int, *, most_nodes: int | None = None) -> tuple[Combination, ...]:
    """List the multisets of models that fill a budget with the least left over, those with most of the first model first.

    Args:
        costs: of one node of each model, in nodes of the smallest; >= 1 each.
        budget: in the same unit; >= 0.
        most_nodes: there may be in one multiset; None: any number.

    Returns:
        A count per model; at least one multiset, the empty one where nothing fits.
    """
    table = _Fills(costs, budget, most_nodes)
    return tuple(table.listed())


def num_combos(costs: Sequence[int], budget: int, *, most_nodes: int | None = None) -> int:
    """Count what `combos` lists, without listing it."""
    return _Fills(costs, budget, most_nodes).count


def drawn_combo(costs: Sequence[int], budget: int, draws: Draws, *, most_nodes: int | None = None) -> Combination:
    """Draw one of `combos`, each as probably as any other, without listing them."""
    table = _Fills(costs, budget, most_nodes)
    return table.at(draws.below(table.count))


def node_costs(space: Space) -> tuple[int, ...]:
    """Return what one node of each model of the pool counts as, in whole nodes of the cheapest; >= 1 each.

    In the first kind of cost that is capped; in FLOPs, dollars or one by one, whichever is known, where none is that adds up over nodes.
    """
    kinds = [kind for kind in ("units", "flops", "usd") if getattr(space.caps, kind) is not None] + ["units", "flops", "usd"]
    alone = [space.costs.of(Graph((Node("a1", model),), (), "a1")) for model in space.models]
    for kind in kinds:
        values = [getattr(cost, kind) for cost in alone]
        if all(values):
            return tuple(max(1, round(value / min(values))) for value in values)
    return (1,) * len(space.models)


def sparse_node_budget(space: Space, sink: Node) -> int:
    """Return how many nodes of the cheapest model fit with the fewest edges: no graph that fits has more.

    A chain, whose edges lead to the cheapest model, or a star, whose edges cost nothing where the sink calls no model.
    """
    return max(_largest(space, sink, _chain), star_node_budget(space, sink))


def star_node_budget(space: Space, sink: Node) -> int:
    """Return how many nodes of the cheapest model fit side by side, read by the sink."""
    return _largest(space, sink, _star)


def _largest(space: Space, sink: Node, edges_of: Callable[[Sequence[str], int], list[Edge]]) -> int:
    # More than `max_agents`, as few dear nodes may stand for many cheap ones; but within reason where nothing is capped.
    most = space.max_agents * max(node_costs(space))

    def too_many(size: int) -> bool:
        ids = [*(f"a{number}" for number in range(1, size + 1)), sink.node_id]
        nodes = (*(Node(node_id, space.models[0]) for node_id in ids[:-1]), sink)
        return not space.fits(Graph(nodes, tuple(edges_of(ids, space.max_in_degree)), sink.node_id))

    # More nodes cost more, so what fits and what does not are parted by one number.
    return bisect_left(range(1, most + 1), x=True, key=too_many)


def _chain(ids: Sequence[str], _max_in_degree: int) -> list[Edge]:
    return list(pairwise(ids))


def _star(ids: Sequence[str], max_in_degree: int) -> list[Edge]:
    """As many chains, one step longer or shorter, as the sink may read."""
    agents = ids[:-1]
    wide = agents[:max_in_degree]
    return [(source, ids[-1]) for source in wide] + [(agents[index], agents[index - len(wide)]) for index in range(len(wide), len(agents))]


class _Fills:
    """Number of ways to fill, by model from which on, rest of the budget, and nodes left: what listing and drawing are read off."""

    def __init__(self, costs: Sequence[int], budget: int, most_nodes: int | None) -> None:
        if not costs or min(costs) < 1:
            message = f"costs must be at least 1 each, not {tuple(costs)}; give whole nodes of the cheapest model"
            raise ValueError(message)
        if budget < 0:
            message = f"budget must be at least 0, not {budget}"
            raise ValueError(message)
        self._costs = tuple(costs)
        self._nodes = budget // min(costs) if most_nodes is None else min(most_nodes, budget // min(costs))
        self._ways: dict[tuple[int, int, int], int] = {}
        self._total = next(total for total in range(budget, -1, -1) if self._count(0, total, self._nodes))

    @property
    def count(self) -> int:
        """Number of multisets."""
        return self._count(0, self._total, self._nodes)

    def listed(self) -> Iterator[Combination]:
        """Go through the multisets."""
        return (self.at(index) for index in range(self.count))

    def at(self, index: int) -> Combination:
        """Return the multiset at a place of the list."""
        counts: list[int] = []
        rest, nodes = self._total, self._nodes
        for model, cost in enumerate(self._costs):
            for taken in range(min(nodes, rest // cost), -1, -1):
                ways = self._count(model + 1, rest - taken * cost, nodes - taken)
                if index < ways:
                    counts.append(taken)
                    rest, nodes = rest - taken * cost, nodes - taken
                    break
                index -= ways
        return tuple(counts)

    def _count(self, model: int, rest: int, nodes: int) -> int:
        if model == len(self._costs):
            return int(rest == 0)
        key = (model, rest, nodes)
        if key not in self._ways:
            cost = self._costs[model]
            self._ways[key] = sum(self._count(model + 1, rest - taken * cost, nodes - taken) for taken in range(min(nodes, rest // cost) + 1))
        return self._ways[key]
