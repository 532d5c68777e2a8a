"""What a search with an optimiser model goes through: a team, a distribution over its graphs, and all that was tried.

Source: Wang et al., arXiv 2511.00086, section 5. The step that needs no model is REINFORCE (Williams, 1992) with the mean of all earlier utilities as baseline.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Any

from multigraft.errors import InputError
from multigraft.graphs.canonical import graph_id
from multigraft.graphs.distribution import Distribution
from multigraft.graphs.graph import Edge, Graph, NodeRole
from multigraft.graphs.layout import Layout
from multigraft.optimize.agent.asking import Asked
from multigraft.optimize.agent.feedback import Situation, Tried
from multigraft.optimize.agent.team import Team, team_of
from multigraft.optimize.agent.validator import Sound, Standing
from multigraft.optimize.combinations import drawn_combo, node_costs, sparse_node_budget
from multigraft.optimize.fitting import Fitted, affordable_sinks, fitted
from multigraft.optimize.problem import Consult, Problem, Proposal, Propose, proposed
from multigraft.randomness import Draws

_MOST_IN_VAIN = 20
"""Graphs proposed one after another that were all known, after which the space counts as used up."""
_MOST_DRAWS = 20
"""Graphs drawn until one is not known yet; then the last is taken, and costs nothing."""


class Trail:
    """One search under way.

    Args:
        problem: what is searched for.
        team: the first.
        edge_probability: of each edge at the start; (0, 1).
        learning_rate: of a REINFORCE step: logits per unit of utility; > 0.
        name: of the search, for its draws.
    """

    def __init__(self, problem: Problem, team: Team, *, edge_probability: float, learning_rate: float, name: str) -> None:
        self.problem = problem
        self.draws = Draws(problem.seed, name)
        self.tried: list[Tried] = []
        self.team = team
        self._edge_probability = edge_probability
        self._learning_rate = learning_rate
        self._known: set[str] = set()
        self._since_start = 0
        self._in_vain = 0
        self.repeats = 0
        """Replies one after another that held a known graph: the model has no new idea."""
        self.distribution = self._fresh(team)

    @property
    def left(self) -> int:
        """Evaluations of the budget that are left."""
        return self.problem.max_evaluations - len(self._known)

    @property
    def since_better(self) -> int:
        """Graphs tried since the best, or since the last start."""
        best = max(range(len(self.tried)), key=lambda place: self.tried[place].utility, default=0)
        return len(self.tried) - max(best + 1, self._since_start)

    @property
    def best(self) -> Tried:
        """The graph of highest utility so far; of equals the first."""
        return max(self.tried, key=lambda tried: tried.utility)

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up, or nothing new has been found for long."""
        return self.left <= 0 or self._in_vain >= _MOST_IN_VAIN

    def start_from(self, team: Team, start: Tried) -> None:
        """Go on from a graph that was tried before; with other agents, nothing is believed of their graphs yet."""
        if team.sink != self.team.sink or sorted(node.model for node in team.nodes) != sorted(node.model for node in self.team.nodes):
            self.distribution = self._fresh(team)
        self.team = team.with_nodes_of(start.graph)
        self.tried.append(start)
        self._since_start = len(self.tried)
        self.repeats = 0

    def situation(self, *, tables: bool, roles: bool = False) -> Situation:
        """Return where the search stands.

        Args:
            tables: whether the probabilities of edges belong to it.
            roles: whether those of roles do.
        """
        table = self.distribution.edge_probabilities() if tables else {}
        return Situation(
            problem=self.problem,
            team=self.team,
            tried=self.tried,
            left=max(0, self.left),
            table=table,
            fuser_probabilities=self.fuser_probabilities() if roles else {},
        )

    def fuser_probabilities(self) -> dict[str, float]:
        """Return how likely each agent is a fuser where it may be; empty where there are no fusers."""
        roles = [role for role in self.distribution.layout.roles if role.value == "fuser"]
        return {agent: self.distribution.role_probabilities(agent)[roles[0]] for agent in self.team.ids} if roles else {}

    def standing(self, *, whole: bool, tables: bool = True) -> Standing:
        """Return what a reply with a graph is held against."""
        return Standing(
            team=self.team,
            table=self.distribution.edge_probabilities() if tables else {},
            sampled=frozenset(self.tried[-1].graph.edges) if self.tried else frozenset(),
            known=self._known,
            draws=self.draws,
            sample=lambda table: self.sample(self.distribution.with_edge_probabilities(table)),
            whole=whole,
        )

    def believe(self, table: Mapping[Edge, float]) -> None:
        """Write probabilities of edges into the distribution."""
        self.distribution = self.distribution.with_edge_probabilities(table)

    def sample(self, distribution: Distribution | None = None) -> Fitted:
        """Draw a graph that was not tried yet, where there is one to be found."""
        source = distribution or self.distribution
        probabilities = source.edge_probabilities()
        models = {node.node_id: node.model for node in self.team.nodes}
        for _ in range(_MOST_DRAWS):
            graph = source.sample(self.draws, models=models).graph.live_part()
            found = fitted(graph.nodes, graph.edges, graph.sink, self.problem.space, probabilities=probabilities, draws=self.draws)
            if graph_id(found.graph) not in self._known:
                break
        return found

    def learn(self) -> None:
        """Take a REINFORCE step for the graph tried last."""
        scored = [tried for tried in self.tried if isfinite(tried.utility)]
        if not scored or scored[-1] is not self.tried[-1]:
            return
        *before, last = scored
        baseline = sum(tried.utility for tried in before) / len(before) if before else last.utility
        # Agents that rested are part of the draw: that nobody read them is what happened to do well or badly.
        acting = {node.node_id for node in last.graph.nodes}
        resting = tuple(replace(node, role=NodeRole.ASSISTANT) for node in self.team.nodes if node.node_id not in acting)
        try:
            draw = self.distribution.draw_of(Graph((*resting, *last.graph.nodes), last.graph.edges, last.graph.sink))
        except InputError:
            # Of a team before this one.
            return
        step = self.distribution.gradient(draw, live_only=True)
        self.distribution = self.distribution.moved(step, self._learning_rate * (last.utility - baseline))

    def follow(self, answer: Asked[Sound]) -> Generator[Propose | Consult, Any, tuple[Tried, ...]]:
        """Try the graph of a reply; without one, take a REINFORCE step and draw a graph in its place; used with `yield from`."""
        reply = answer.read
        if reply is None:
            self.learn()
            found = self.sample()
            self.team = self.team.with_nodes_of(found.graph)
            notes = (*answer.notes, f"fallback=reinforce: {len(answer.notes)} replies of no use", *found.notes)
            return (yield from self.try_all((Proposal(found.graph, "fallback", notes),)))
        self.repeats = self.repeats + 1 if reply.sampled else 0
        self.believe(reply.table)
        self.team = reply.team
        origin = "sample" if reply.sampled else "model"
        return (yield from self.try_all((Proposal(reply.graph, origin, (*answer.notes, *reply.notes)),), reply.why))

    def try_all(self, proposals: Sequence[Proposal], why: str = "") -> Generator[Propose | Consult, Any, tuple[Tried, ...]]:
        """Have graphs evaluated, and remember what came of it; used with `yield from`."""
        evaluations = yield from proposed(*proposals)
        num_known = len(self._known)
        for proposal, evaluation in zip(proposals, evaluations, strict=True):
            if evaluation.trials:
                self._known.add(graph_id(proposal.graph))
            utility = self.problem.objective.utility(evaluation) if evaluation.scores else None
            self.tried.append(Tried(proposal.graph, evaluation, -inf if utility is None else utility, why))
        self._in_vain = 0 if len(self._known) > num_known else self._in_vain + 1
        return tuple(self.tried[-len(proposals) :])

    def _fresh(self, team: Team) -> Distribution:
        layout = Layout(agents=team.ids, models=self.problem.space.models, sinks=(team.sink,), roles=self.problem.space.roles)
        return Distribution.uniform(layout, edge_probability=self._edge_probability)


def random_team(problem: Problem, name: str) -> Team | None:
    """Draw a team whose models fill the budget.

    Args:
        problem: with the space and the seed.
        name: of the search, for the draws.

    Returns:
        The team; None where the budget has no room for any agent.
    """
    space, draws = problem.space, Draws(problem.seed, name, "team")
    allowed = affordable_sinks(space)
    sink = allowed[draws.below(len(allowed))]
    counts = drawn_combo(node_costs(space), sparse_node_budget(space, sink), draws, most_nodes=space.max_agents)
    return team_of(space, dict(zip(space.models, counts, strict=True)), sink) if any(counts) else None
