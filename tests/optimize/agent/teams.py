"""A small space, and what stands in it."""

from collections.abc import Iterable

from multigraft.graphs.costs import Caps, GraphCost
from multigraft.graphs.graph import Edge, Graph, Node, NodeRole
from multigraft.optimize.agent.team import Team, team_of
from multigraft.optimize.agent.validator import Standing
from multigraft.optimize.fitting import Fitted, fitted
from multigraft.optimize.loop.objectives import Quality
from multigraft.optimize.problem import Problem, Space, sink_node
from multigraft.randomness import Draws

PRICES = {"small": 1.0, "large": 4.0}


class Prices:
    """A call costs its model's price, and a tenth of that more for each output it reads."""

    def of(self, graph: Graph) -> GraphCost:
        units = sum(PRICES[node.model] * (1 + 0.1 * len(graph.read_by(node.node_id))) for node in graph.live_nodes if node.model)
        calls = sum(1 for node in graph.live_nodes if node.model)
        return GraphCost(calls=calls, tokens=100.0 * calls, units=units, latency_s=1.0 + graph.depth_of()[graph.sink])


def space_of(units: float | None = 12.0, *, max_agents: int = 6, max_in_degree: int = 4, role: NodeRole = NodeRole.ASSISTANT) -> Space:
    sink = sink_node("" if role is NodeRole.VOTE else "small", role)
    return Space(models=("small", "large"), sinks=(sink,), costs=Prices(), caps=Caps(units=units), max_agents=max_agents, max_in_degree=max_in_degree)


def problem_of(space: Space | None = None, **settings: object) -> Problem:
    return Problem(space=space or space_of(), objective=Quality(), task="Add the numbers.", **settings)  # type: ignore[arg-type]  # as the test gives them


def team_in(space: Space, small: int = 4, large: int = 1) -> Team:
    return team_of(space, {"small": small, "large": large}, space.sinks[0])


def standing_of(team: Team, *, sampled: Iterable[Edge] = (), known: Iterable[str] = (), p: float = 0.3, whole: bool = True) -> Standing:
    draws = Draws("standing")

    def sample(table: object) -> Fitted:
        agent = Node("a1", "small")
        return fitted((agent, team.sink), [("a1", "sink")], "sink", team.space, draws=draws)

    return Standing(
        team=team,
        table=dict.fromkeys(team.candidates, p),
        draws=draws,
        sample=sample,
        sampled=frozenset(sampled),
        known=frozenset(known),
        whole=whole,
    )
