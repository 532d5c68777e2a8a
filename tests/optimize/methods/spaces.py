"""Spaces of every kind, and small worlds whose optimum is known."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

from hypothesis import strategies as st

from multigraft.graphs.canonical import graph_id
from multigraft.graphs.costs import Caps, GraphCost
from multigraft.graphs.graph import Graph, Node, NodeRole
from multigraft.optimize.loop.objectives import Quality
from multigraft.optimize.methods.table import method_from
from multigraft.optimize.problem import Evaluation, MethodSearch, Objective, Problem, Proposal, Space, Trial, sink_node
from multigraft.randomness import Draws

NAMES = ("small", "medium", "large", "huge")
WEIGHTS: Mapping[str, float] = {"small": 1.0, "medium": 3.0, "large": 8.0, "huge": 70.0}


class WeighedCosts:
    """A call costs its model's weight, and a tenth of it more for each node it reads."""

    def of(self, graph: Graph) -> GraphCost:
        live = [node for node in graph.live_nodes if not node.selects]
        units = sum(WEIGHTS[node.model] * (1 + 0.1 * len(graph.read_by(node.node_id))) for node in live)
        return GraphCost(len(live), 100.0 * len(live), units=units, latency_s=float(graph.depth_of()[graph.sink] + 1))


def space_for(
    *,
    num_models: int = 3,
    sinks: tuple[Node, ...] = (sink_node("medium"),),
    units: float | None = 20.0,
    latency_s: float | None = None,
    max_agents: int = 6,
    roles: tuple[NodeRole, ...] = (NodeRole.ASSISTANT, NodeRole.FUSER),
    max_in_degree: int = 8,
) -> Space:
    return Space(
        models=NAMES[:num_models],
        sinks=sinks,
        costs=WeighedCosts(),
        caps=Caps(units=units, latency_s=latency_s),
        max_agents=max_agents,
        roles=roles,
        max_in_degree=max_in_degree,
    )


def problem_for(space: Space, *, seed: int = 0, max_evaluations: int = 10, objective: Objective | None = None) -> Problem:
    return Problem(space=space, objective=objective or Quality(), seed=seed, max_evaluations=max_evaluations)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Any space in which something fits: one model or four, sinks that answer or vote, caps of every tightness."""
    num_models = draw(st.integers(1, 4))
    sinks = [sink_node(name) for name in NAMES[:num_models]] + [sink_node("", NodeRole.VOTE), sink_node("", NodeRole.BEST)]
    chosen = draw(st.lists(st.sampled_from(sinks), min_size=1, max_size=3, unique=True))
    max_agents = draw(st.integers(1 if any(sink.selects for sink in chosen) else 0, 7))
    space = space_for(
        num_models=num_models,
        sinks=tuple(chosen),
        max_agents=max_agents,
        roles=draw(st.sampled_from([(NodeRole.ASSISTANT,), (NodeRole.ASSISTANT, NodeRole.FUSER)])),
        max_in_degree=draw(st.integers(1, 6)),
        units=None,
    )
    least = min(space.costs.of(space.smallest(sink)).units or 0.0 for sink in chosen)
    most = draw(st.one_of(st.none(), st.floats(least, least + 40)))
    latency_s = draw(st.sampled_from([None, 2.0, 4.0]))
    return space_for(
        num_models=num_models, sinks=space.sinks, max_agents=max_agents, roles=space.roles, max_in_degree=space.max_in_degree, units=most, latency_s=latency_s
    )


def evaluated(graph: Graph, quality: Callable[[Graph], float], *, num_questions: int = 20, seed: int = 0) -> Evaluation:
    """Right or wrong by chance, each node by the quality of its graph's part; with as many questions as asked."""
    draws = Draws(seed, graph_id(graph))
    chance = quality(graph)
    trials = tuple(
        Trial(question, float(draws.uniform() < chance), None, {node.node_id: float(draws.uniform() < chance) for node in graph.live_nodes}, latency_s=1.0)
        for question in range(num_questions)
    )
    return Evaluation(graph, "train", trials, WeighedCosts().of(graph))


def exact(graph: Graph, quality: Callable[[Graph], float]) -> Evaluation:
    """One question, and the quality itself as its score."""
    return Evaluation(graph, "train", (Trial(0, quality(graph)),), WeighedCosts().of(graph))


def answered(steps: MethodSearch, evaluate: Callable[[Graph], Evaluation], most: int = 400) -> Generator[Proposal, None, None]:
    """Drive a method by itself, yielding what it proposes; ends with it, or where it goes on for ever."""
    answer: Any = None
    for _ in range(most):
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        yield from step.proposals  # type: ignore[union-attr]  # these methods never consult
        answer = tuple(evaluate(proposal.graph) for proposal in step.proposals)  # type: ignore[union-attr]  # as above
    message = "the method does not end"
    raise AssertionError(message)


def proposals(name: str, problem: Problem, evaluate: Callable[[Graph], Evaluation], **settings: object) -> list[Proposal]:
    return list(answered(method_from(name, settings).search(problem), evaluate))


def assert_belongs(graph: Graph, space: Space) -> None:
    """Of the space in every respect: models, sink, roles, agents, in-degree, caps, and nothing that is never run."""
    assert graph.node(graph.sink) in space.sinks
    agents = [node for node in graph.nodes if node.node_id != graph.sink]
    assert len(agents) <= space.max_agents
    assert {node.model for node in agents} <= set(space.models)
    assert {node.role for node in agents} <= set(space.roles)
    assert all(len(graph.read_by(node.node_id)) <= space.max_in_degree for node in graph.nodes)
    assert len(graph.live) == len(graph.nodes)
    for node in graph.nodes:
        if node.role is NodeRole.FUSER:
            assert any(graph.node(source).role is NodeRole.ASSISTANT for source in graph.read_by(node.node_id))
    assert space.caps.exceeded(space.costs.of(graph)) is None
