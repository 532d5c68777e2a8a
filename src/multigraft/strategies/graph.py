"""A collaboration graph (Wang et al., arXiv 2511.00086): every live node is asked once, with the responses of the nodes it reads in sight.

A node is asked as soon as all that it reads is settled: has a response, or was given up. A failed node is tried again, with the next seed of its own; after
`tries` it is given up, and its readers go on with what is left. With fewer responses to read a node is asked for less: to answer afresh where none is left, to
refine where one is. The record shows all of it: the failed calls, and the roles and parents of those that followed.

A node's seed is that of its cone (`graphs.cones`), so that two graphs that begin alike ask the same of the same models.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from multigraft.graphs.cones import call_role, cone_keys, node_seed, shown_order
from multigraft.graphs.graph import Graph, Node, NodeRole
from multigraft.graphs.graph_file import graph_of
from multigraft.knowledge import Knowledge
from multigraft.strategies.base import Plan, PlannedStrategy, State
from multigraft.types import Call, FailureKind, Outcome, Role

_HOPELESS: Final = frozenset({FailureKind.CONTEXT, FailureKind.PROMPT_TRUNCATED, FailureKind.BAD_REQUEST})
"""Failures that the same messages would meet again."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A live node that calls a model, with what depends on the graph alone."""

    node: Node
    key: str
    """Of its cone."""
    read: tuple[str, ...]
    """The nodes it reads, in the order it is shown them."""
    role: Role
    """What it is asked when all of these have responses."""


@dataclass(slots=True, kw_only=True)
class CollaborationState(State):
    """Which nodes have responses, which were given up."""

    node_of: dict[int, str] = field(default_factory=dict)
    """Node of every call in flight, by call id."""
    responses: dict[str, int] = field(default_factory=dict)
    """Call id of the response of every node that has one."""
    given_up: set[str] = field(default_factory=set)
    """Nodes that will have none."""
    attempts: dict[str, int] = field(default_factory=dict)
    """Failed calls of every node."""
    in_a_row: dict[str, int] = field(default_factory=dict)
    """Failed calls of every model since its last response."""
    answers: dict[int, str] = field(default_factory=dict)
    """What a scorer read as the final answer, by call id."""


@dataclass(frozen=True, kw_only=True)
class Collaboration(PlannedStrategy[CollaborationState]):
    """Runs a graph; the answer of a prompt is the sink's: its own response, or of a sink that chooses, the response it chose.

    A sink that votes takes the answer that most of the nodes it reads agree on, as a scorer read it: the reward must be one that reads answers, such as
    `final_answer`. Ties go to the node shown first; where no answer could be read at all, its response is taken. A sink `best` takes the highest reward. Where
    the sink fails, the prompt has no answer, whatever the other nodes said.

    A prompt gets one response for each live node that calls a model, whatever `n` says.

    Args:
        graph: a graph file, or its text; nodes name models of the run.
        tries: calls of one node at most; >= 1.
        max_parallel: calls in flight for one prompt at most; >= 1. Wide graphs are held up by a small number.
        max_failures: failures of one model on one prompt, with no response of it between them, after which it is given up for the rest of the prompt; >= 1.
            Nodes are given up by `tries` already, so this only spares calls to a model that is down; scattered failures never add up to it.

    Raises:
        ValueError: a setting out of its range, or no graph.
        InputError: the text is no graph.
    """

    concludes: ClassVar[bool] = True

    graph: str = ""
    tries: int = 3
    max_parallel: int = 64
    max_failures: int = 24
    _graph: Graph = field(init=False, repr=False, compare=False)
    _agents: tuple[Agent, ...] = field(init=False, repr=False, compare=False)
    _chosen_from: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.graph.strip():
            message = 'it runs a graph, and none is given: --graph FILE on the command line, or graph = "FILE" in [strategy]'
            raise ValueError(message)
        if self.tries < 1:
            message = f"tries must be at least 1, not {self.tries}"
            raise ValueError(message)
        graph = graph_of(self.graph, file="strategy.graph")
        object.__setattr__(self, "_agents", _agents_of(graph))
        object.__setattr__(self, "_graph", graph)
        object.__setattr__(self, "_chosen_from", shown_order(graph, cone_keys(graph), graph.sink))
        object.__setattr__(self, "num_responses", len(self._agents))
        super().__post_init__()

    @property
    def agents(self) -> Sequence[Agent]:
        """The live nodes that call models, each after those it reads; those first that the most levels wait for, so that few places are used well."""
        return self._agents

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models the graph calls, each once."""
        return tuple(dict.fromkeys(agent.node.model for agent in self._agents))

    def nodes_by_seed(self, seed: int, prompt_id: str) -> Mapping[int, tuple[str, int]]:
        """Return the node and the try (from 0) of every call that a prompt may lead to, by the call's seed.

        Args:
            seed: of the run.
            prompt_id: identity of the prompt.
        """
        tries = [(agent, attempt) for agent in self._agents for attempt in range(self.tries)]
        return {node_seed(seed, prompt_id, agent.key, attempt): (agent.node.node_id, attempt) for agent, attempt in tries}

    @property
    def calls_at_once(self) -> int:
        """The mean width of the graph, where `max_parallel` allows it."""
        levels = self._graph.live_part().depth_of()
        return max(1, min(self.max_parallel, len(self._agents) // (1 + max(levels[agent.node.node_id] for agent in self._agents))))

    @property
    def waits_for_rewards(self) -> bool:
        """Whether the sink chooses by reward."""
        return self._sink.role is NodeRole.BEST

    @property
    def counts_answers(self) -> bool:
        """Whether the sink votes."""
        return self._sink.role is NodeRole.VOTE

    @property
    def _sink(self) -> Node:
        return self._graph.node(self._graph.sink)

    def start(self, prompt_id: str, models: tuple[str, ...], seed: int) -> CollaborationState:
        """Start with no node settled.

        Raises:
            ValueError: the graph names a model that is not there.
        """
        missing = [name for name in self.models if name not in models]
        if missing:
            message = f"the graph calls {', '.join(missing)}, and the models are {', '.join(models)}"
            raise ValueError(message)
        return CollaborationState(prompt_id, models, seed)

    def plan(self, state: CollaborationState) -> Plan | None:
        """Offer the first node that may be asked now."""
        busy = set(state.node_of.values())
        for place, agent in enumerate(self._agents):
            node = agent.node
            if node.node_id in state.responses or node.node_id in state.given_up or node.node_id in busy:
                continue
            if self.usable(state, node.model) and all(_is_settled(state, read) for read in agent.read):
                parents = tuple(state.responses[read] for read in agent.read if read in state.responses)
                seed = node_seed(state.seed, state.prompt_id, agent.key, state.attempts.get(node.node_id, 0))
                return Plan(node.model, parents, _fitting(agent.role, len(parents)), place, seed)
        return None

    def asked(self, state: CollaborationState, call: Call, plan: Plan) -> None:
        """Note which node is in flight."""
        state.node_of[call.call_id] = self._agents[plan.place].node.node_id

    def told(self, state: CollaborationState, call: Call, outcome: Outcome, knowledge: Knowledge) -> None:
        """Settle the node or leave it to be tried again; give up the nodes of a model that is down."""
        node_id = state.node_of.pop(call.call_id)
        if outcome.failure is None:
            state.responses[node_id] = call.call_id
            state.in_a_row[call.model] = 0
            if outcome.answer is not None:
                state.answers[call.call_id] = outcome.answer
        else:
            state.attempts[node_id] = state.attempts.get(node_id, 0) + 1
            state.in_a_row[call.model] = state.in_a_row.get(call.model, 0) + 1
            if state.attempts[node_id] >= self.tries or outcome.failure in _HOPELESS:
                state.given_up.add(node_id)
        # While calls of a model are in flight, one of them may still show that it is up.
        if not self.usable(state, call.model) and all(state.calls[call_id].model != call.model for call_id in state.node_of):
            state.given_up.update(agent.node.node_id for agent in self._agents if agent.node.model == call.model and agent.node.node_id not in state.responses)

    def usable(self, state: CollaborationState, model: str) -> bool:
        """Whether the model may still be asked on this prompt."""
        return state.in_a_row.get(model, 0) < self.max_failures

    def best(self, state: CollaborationState) -> int | None:
        """Return the call id of the answer: the sink's response, or the one it chose; None when there is none, or none yet."""
        if not self._sink.selects:
            return state.responses.get(self._graph.sink)
        if not all(_is_settled(state, node_id) for node_id in self._chosen_from):
            return None
        shown = [state.responses[node_id] for node_id in self._chosen_from if node_id in state.responses]
        return _voted(shown, state) if self.counts_answers else _rewarded(shown, state)


def _agents_of(graph: Graph) -> tuple[Agent, ...]:
    keys = cone_keys(graph)
    height: dict[str, int] = {}
    for node_id in reversed(graph.order):
        height[node_id] = max((height[reader] + 1 for reader in graph.readers_of(node_id) if reader in graph.live), default=0)
    callers = sorted((node for node in graph.live_nodes if not node.selects), key=lambda node: -height[node.node_id])
    return tuple(Agent(node, keys[node.node_id], shown_order(graph, keys, node.node_id), call_role(graph, node.node_id)) for node in callers)


def _is_settled(state: CollaborationState, node_id: str) -> bool:
    return node_id in state.responses or node_id in state.given_up


def _fitting(role: Role, num_parents: int) -> Role:
    """Fit what a node is asked to the responses that are left to read."""
    if num_parents == 0:
        return Role.ANSWER
    return Role.REFINE if role is Role.AGGREGATE and num_parents == 1 else role


def _voted(shown: Sequence[int], state: CollaborationState) -> int | None:
    votes = Counter(state.answers[call_id] for call_id in shown if call_id in state.answers)
    if not votes:
        return shown[0] if shown else None
    return max((call_id for call_id in shown if call_id in state.answers), key=lambda call_id: votes[state.answers[call_id]])


def _rewarded(shown: Sequence[int], state: CollaborationState) -> int | None:
    scored = [(reward, call_id) for call_id in shown if (reward := state.rewards[call_id]) is not None]
    return max(scored, key=lambda pair: pair[0])[1] if scored else None
