"""What a search is told, what it asks, and what it hears.

A search method is a generator: it yields a step and is sent the answer, so that an algorithm reads from top to bottom and does no I/O. Whoever drives it sends
real answers, those of a simulated world, or those of a record; the same answers always lead to the same search, so a record is enough to resume from.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, cast

from multigraft.budget.amount import NOTHING, Amount
from multigraft.errors import BudgetError
from multigraft.graphs.costs import NO_CAPS, Caps, Costs, GraphCost
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.optimize.findings import Findings
from multigraft.types import FailureKind, Message

Split: TypeAlias = Literal["train", "validation", "test"]


@dataclass(frozen=True, kw_only=True)
class Space:
    """Which graphs are searched.

    Args:
        models: names of the pool, cheapest first; distinct, at least one.
        sinks: what the sink may be, each with the id `SINK`; at least one.
        costs: what graphs cost.
        caps: the most one answer may cost.
        max_agents: nodes beside the sink at most; >= 0.
        roles: of the agents.
        max_in_degree: nodes that one node reads at most; >= 1.
    """

    models: tuple[str, ...]
    sinks: tuple[Node, ...]
    costs: Costs
    caps: Caps = NO_CAPS
    max_agents: int = 8
    roles: tuple[NodeRole, ...] = (NodeRole.ASSISTANT, NodeRole.FUSER)
    max_in_degree: int = 8

    @cached_property
    def agent_ids(self) -> tuple[str, ...]:
        """`a1`, `a2`, ..., as many as there may be."""
        return tuple(f"a{number}" for number in range(1, self.max_agents + 1))

    def fits(self, graph: Graph) -> bool:
        """Whether the live part of a graph stays within the caps."""
        return self.caps.exceeded(self.costs.of(graph)) is None

    def check(self) -> None:
        """Refuse caps under which nothing fits.

        Raises:
            BudgetError: names the cheapest graph there is, and what it costs.
        """
        cheapest = [(graph, self.costs.of(graph)) for graph in map(self.smallest, self.sinks)]
        refused = [(graph, cost, kind) for graph, cost in cheapest if (kind := self.caps.exceeded(cost)) is not None]
        if len(refused) < len(cheapest):
            return
        graph, cost, kind = min(refused, key=lambda found: (found[1].units or 0.0, found[1].usd or 0.0))
        value, cap = getattr(cost, kind), getattr(self.caps, kind)
        what = "its cost in them is not known" if value is None else f"it takes {value:.4g}"
        named = " + ".join(f"{node.model or node.role}" for node in graph.live_nodes)
        message = f"no graph fits into {kind}={cap:.4g}: the smallest is {named}, and {what}; raise the budget, or take a smaller sink"
        raise BudgetError(message)

    def smallest(self, sink: Node) -> Graph:
        """Return the cheapest graph with a sink: the sink alone, or one agent of the cheapest model below a selector."""
        if not sink.selects:
            return Graph((sink,), (), sink.node_id)
        return Graph((Node("a1", self.models[0]), sink), (("a1", sink.node_id),), sink.node_id)


@dataclass(frozen=True, slots=True)
class Trial:
    """A graph on one question."""

    question: int
    """Its place in its split, from 0."""
    score: float | None
    """[0, 1]. 0 also where the graph brought no answer through its own doing (an empty answer, a refusal, a context that overflowed): unanswered is wrong. None
    where a server or a scorer failed: then nothing is known."""
    reason: FailureKind | None = None
    node_scores: Mapping[str, float | None] = field(default_factory=dict)
    """What each live node's own output would score, by node id; None where it has none. For credit."""
    spent: Amount = NOTHING
    """Newly paid; node outputs that were there already cost nothing."""
    latency_s: float = 0.0
    """Along the critical path of the nodes' own times."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A graph on some questions of one split."""

    graph: Graph
    split: Split
    trials: tuple[Trial, ...]
    """In ascending order of their questions, each once."""
    cost: GraphCost
    """Expected; with what the trials measured where the world knows better."""

    @property
    def scores(self) -> tuple[float, ...]:
        """Scores of the trials that have one."""
        return tuple(trial.score for trial in self.trials if trial.score is not None)

    @property
    def mean(self) -> float | None:
        """Mean score over the trials that have one; None: none has."""
        scores = self.scores
        return sum(scores) / len(scores) if scores else None

    def with_trials(self, more: Sequence[Trial]) -> "Evaluation":
        """Add trials of other questions."""
        trials = {trial.question: trial for trial in (*self.trials, *more)}
        return Evaluation(self.graph, self.split, tuple(trials[question] for question in sorted(trials)), self.cost)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A graph that a method wants to know of."""

    graph: Graph
    """Within the caps, its role and edges sound."""
    origin: str
    """Where it comes from, in a word or two: `sample`, `model`, `fallback`, ..."""
    notes: tuple[str, ...] = ()
    """What was repaired, fell back or was pruned; each counted by its text up to the first colon."""


@dataclass(frozen=True, slots=True)
class Propose:
    """A method's step: evaluate these on training questions. Answered by an `Evaluation` each, in order; equal graphs cost nothing the second time."""

    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class Consult:
    """A method's step: ask the optimiser model. Answered by a `Reply`."""

    messages: tuple[Message, ...]
    json_schema: str | None = None
    """Schema of the reply, as JSON text."""
    attempt: int = 0
    """Asked again for the same thing, so that a model with another seed answers otherwise; >= 0."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the optimiser model wrote: hostile until validated."""

    text: str | None
    """None: it failed."""
    reason: FailureKind | None = None
    spent: Amount = NOTHING


@dataclass(frozen=True, slots=True)
class Run:
    """A graph to be run on questions of one split."""

    graph: Graph
    split: Split
    questions: tuple[int, ...]
    """Ascending, at least one."""


@dataclass(frozen=True, slots=True)
class Evaluate:
    """A step of the loop around a method: run these, at once where there is room. Answered by an `Evaluation` each, in order."""

    runs: tuple[Run, ...]


MethodSearch: TypeAlias = Generator[Propose | Consult, Any, None]
"""What a method's `search` returns. It ends when it has nothing more to propose."""


class Objective(Protocol):
    """What is maximised."""

    def utility(self, evaluation: Evaluation) -> float | None:
        """Return the utility of a graph; higher is better; None while nothing of it is scored."""
        ...

    def values(self, evaluation: Evaluation) -> tuple[float, ...]:
        """Return the utility of each scored trial, in order, for paired comparisons; their mean is `utility`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What a method is told.

    Args:
        space: which graphs are searched.
        objective: what is maximised.
        seed: of the search.
        max_evaluations: distinct graphs that may be evaluated; >= 1.
        task: what the questions ask for, in a sentence or two, for an optimiser model; the user's own words.
        findings: of a pilot; None: none was made.
    """

    space: Space
    objective: Objective
    seed: int = 0
    max_evaluations: int = 30
    task: str = ""
    findings: Findings | None = None


class Method(Protocol):
    """A search method: frozen settings, and one generator."""

    consults: ClassVar[bool]
    """Whether it asks an optimiser model."""

    def search(self, problem: Problem) -> MethodSearch:
        """Search, until there is nothing more to propose or the caller stops sending answers."""
        ...


def proposed(*proposals: Proposal) -> Generator[Propose | Consult, Any, tuple[Evaluation, ...]]:
    """Have graphs evaluated, an evaluation each; used with `yield from`."""
    return cast("tuple[Evaluation, ...]", (yield Propose(proposals)))


def consulted(consult: Consult) -> Generator[Propose | Consult, Any, Reply]:
    """Ask the optimiser model; used with `yield from`."""
    return cast("Reply", (yield consult))


def sink_node(model: str, role: NodeRole = NodeRole.ASSISTANT) -> Node:
    """Make a sink; `model` is empty for a selector."""
    return Node(SINK, model, role)
