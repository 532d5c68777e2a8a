"""Which combinations of models a team may have: what the optimiser chooses from at the start.

Source: Wang et al., arXiv 2511.00086, section 5.2: multisets that fill the budget. Ours: also as many as fit of each model alone, since where the number of
agents is limited, filling the budget means dear ones.
"""

from collections.abc import Sequence

from multigraft.graphs.graph import Graph, Node
from multigraft.optimize.agent.team import Team, team_of
from multigraft.optimize.combinations import Combination, combos, drawn_combo, node_costs, num_combos, star_node_budget
from multigraft.optimize.problem import Space
from multigraft.randomness import Draws

MOST_OPTIONS = 40


def options_of(space: Space, sink: Node, most: int = MOST_OPTIONS) -> tuple[Combination, ...]:
    """List combinations, those of one model first, then mixtures from many small to few large.

    Args:
        space: with the budget.
        sink: which takes its share of it.
        most: to list; where there are more mixtures, some are drawn, the same each time.

    Returns:
        Counts in the order of the pool, at least one agent each; empty where the sink leaves no room for any.
    """
    costs, budget = node_costs(space), star_node_budget(space, sink)
    alone = [_filled_up(space, sink, _one_hot(index, len(costs)), only=index) for index in range(len(costs))]
    if num_combos(costs, budget, most_nodes=space.max_agents) <= most:
        mixed = list(combos(costs, budget, most_nodes=space.max_agents))
    else:
        draws = Draws("options")
        mixed = sorted({drawn_combo(costs, budget, draws, most_nodes=space.max_agents) for _ in range(4 * most)}, reverse=True)
        mixed = [mixed[place * len(mixed) // most] for place in range(most)] if len(mixed) > most else mixed
    # What the sink reads costs, so that fewer, dearer agents leave something over.
    filled = [_filled_up(space, sink, option) for option in mixed]
    return tuple(dict.fromkeys(option for option in (*alone, *filled) if option is not None and any(option)))[:most]


def _one_hot(index: int, count: int) -> Combination:
    return tuple(int(place == index) for place in range(count))


def _filled_up(space: Space, sink: Node, option: Combination, only: int | None = None) -> Combination | None:
    """Add agents while there is room for them side by side, the dearest that fits first; None: the option itself has no room."""
    counts = list(option)
    if sum(counts) > space.max_agents or (any(counts) and not space.fits(side_by_side(team_of(space, counted(space, counts), sink)))):
        return None
    for index in reversed(range(len(counts))) if only is None else (only,):
        while sum(counts) < space.max_agents:
            more = [count + (place == index) for place, count in enumerate(counts)]
            if not space.fits(side_by_side(team_of(space, counted(space, more), sink))):
                break
            counts = more
    return tuple(counts)


def counted(space: Space, combination: Sequence[int]) -> dict[str, int]:
    """Return how many agents of each model a combination has."""
    return dict(zip(space.models, combination, strict=True))


def side_by_side(team: Team, combination: Combination | None = None) -> Graph:
    """Return the graph in which the sink reads a team's agents, and they read nobody.

    Args:
        team: whose.
        combination: how many of each model take part, the last of each first; None: all.
    """
    left = counted(team.space, combination) if combination is not None else None
    acting: list[Node] = []
    for node in reversed(team.nodes):
        if left is None or left[node.model] > 0:
            acting.append(node)
        if left is not None:
            left[node.model] -= 1
    acting.reverse()
    sink = team.sink.node_id
    return Graph((*acting, team.sink), tuple((node.node_id, sink) for node in acting), sink)


def halved(combination: Combination) -> Combination:
    """Take away half of the agents, those of the smallest models first; at least one stays."""
    counts = list(combination)
    excess = sum(counts) // 2
    for place, count in enumerate(counts):
        taken = min(count, excess)
        counts[place] -= taken
        excess -= taken
    return tuple(counts)
