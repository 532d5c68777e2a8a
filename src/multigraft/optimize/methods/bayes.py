"""Bayesian optimisation of graphs: Parzen estimators over the parts of a graph (optuna), or a Gaussian process with a graph kernel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias

from multigraft.errors import MultigraftError
from multigraft.graphs.canonical import canonical, graph_id
from multigraft.graphs.graph import SINK, Graph, Node, NodeRole
from multigraft.optimize.fitting import Fitted, affordable_sinks, fitted
from multigraft.optimize.methods.random_graphs import GraphDrawer, distinct
from multigraft.optimize.problem import MethodSearch, Problem, Proposal, Space, proposed
from multigraft.randomness import Draws, seed_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

Parameters: TypeAlias = dict[str, str | int]

_ABSENT = "none"
_MOST_IN_VAIN = 50
"""Points in a row whose graphs were all evaluated before."""
EDGE_PROBABILITY = 0.119
FUSER_PROBABILITY = 0.5


@dataclass(frozen=True, kw_only=True)
class Bayes:
    """Random graphs first; then graphs that a model of the utilities so far expects to improve on the best.

    A point that is no sound and affordable graph is repaired before it is evaluated, and the repaired point is what the model learns from. Needs
    `multigraft[optimize]`.

    Args:
        model: `tpe`: tree-structured Parzen estimators over the model of each agent, each edge under a fixed order, the roles and the sink. `kernel`: a
            Gaussian process whose kernel counts the nodes that two graphs have in common, each with what leads to it (Weisfeiler-Lehman).
        warm_up: random graphs first; >= 1.
        xi: by how much `kernel` wants the best exceeded; >= 0.
        pool: graphs that `kernel` chooses from each time; >= 1.

    Raises:
        ValueError: a setting out of its range.

    Source: arXiv 2511.00086, appendix A.13 (optuna's TPE over edges and roles; models fixed to one random mix there). Bergstra et al., "Algorithms for
    Hyper-Parameter Optimization" (NeurIPS 2011). Ru et al., "Interpretable Neural Architecture Search via Bayesian Optimisation with Weisfeiler-Lehman
    Kernels" (arXiv 2006.07556).
    """

    consults: ClassVar[bool] = False

    model: Literal["tpe", "kernel"] = "tpe"
    warm_up: int = 5
    xi: float = 0.01
    pool: int = 200

    def __post_init__(self) -> None:
        for name in ("warm_up", "pool"):
            if getattr(self, name) < 1:
                message = f"{name} must be at least 1, not {getattr(self, name)}"
                raise ValueError(message)
        if not self.xi >= 0:
            message = f"xi must be at least 0, not {self.xi}"
            raise ValueError(message)

    def search(self, problem: Problem) -> MethodSearch:
        """Propose one graph after the other.

        Raises:
            MultigraftError: optuna or numpy is not installed; says how to have it.
        """
        draws = Draws(problem.seed, "bayes")
        drawer = GraphDrawer(problem.space, draws, edge_probability=EDGE_PROBABILITY, fuser_probability=FUSER_PROBABILITY)
        learner = self._learner(problem, draws, drawer)
        seen: set[str] = set()
        warm = islice(distinct(drawer.endless()), min(self.warm_up, problem.max_evaluations))
        for origin, found in _in_turn(warm, learner):
            (evaluation,) = yield from proposed(Proposal(found.graph, origin, found.notes))
            seen.add(graph_id(found.graph))
            utility = problem.objective.utility(evaluation)
            if utility is not None:
                learner.learn(found.graph, utility)
            if len(seen) >= problem.max_evaluations:
                return

    def _learner(self, problem: Problem, draws: Draws, drawer: GraphDrawer) -> "Learner":
        try:
            if self.model == "tpe":
                return _Parzen(problem, draws)
            from multigraft.optimize.methods.graph_kernel import KernelLearner  # noqa: PLC0415 - needs numpy, which comes with an extra

            return KernelLearner(problem.space, draws, drawer, xi=self.xi, pool=self.pool)
        except ModuleNotFoundError as error:
            message = f"method 'bayes' needs {error.name}: pip install 'multigraft[optimize]'"
            raise MultigraftError(message) from error


class Learner(Protocol):
    """Proposes graphs by what it learnt."""

    def learn(self, graph: Graph, utility: float) -> None:
        """Take note of a graph evaluated."""
        ...

    def propose(self) -> Fitted | None:
        """Return a graph not learnt of; None: it has no other."""
        ...


def _in_turn(warm: Iterator[Fitted], learner: Learner) -> Iterator[tuple[str, Fitted]]:
    for found in warm:
        yield "warm-up", found
    while (learnt := learner.propose()) is not None:
        yield "model", learnt


class _Parzen:
    """Optuna's sampler, told of repaired points alone."""

    def __init__(self, problem: Problem, draws: Draws) -> None:
        import optuna  # noqa: PLC0415 - takes a second, and comes with an extra

        self._optuna = optuna
        self._space = problem.space
        self._draws = draws
        self._coding = Coding(problem.space)
        # The verbosity is the whole process's: put back as it was.
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            # Random points come from elsewhere; from the first on, the sampler estimates.
            sampler = optuna.samplers.TPESampler(seed=seed_of(problem.seed, "bayes", "tpe"), n_startup_trials=1)
            self._study: Study = optuna.create_study(direction="maximize", sampler=sampler)
        finally:
            optuna.logging.set_verbosity(verbosity)
        categorical = optuna.distributions.CategoricalDistribution
        self._distributions: dict[str, BaseDistribution] = {name: categorical(choices) for name, choices in self._coding.choices.items()}
        self._seen: set[str] = set()

    def learn(self, graph: Graph, utility: float) -> None:
        self._seen.add(graph_id(graph))
        trial = self._optuna.trial.create_trial(params=dict(self._coding.encoded(graph)), distributions=self._distributions, value=utility)
        self._study.add_trial(trial)

    def propose(self) -> Fitted | None:
        for _ in range(_MOST_IN_VAIN):
            trial = self._study.ask(self._distributions)
            # What is asked for is not what is run: the repaired point is added in its place.
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            found = self._coding.decoded(trial.params, self._draws)
            if graph_id(found.graph) not in self._seen:
                return found
        return None


class Coding:
    """Graphs as parameters, and back: agents in a fixed order, which edges run along."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._sinks = affordable_sinks(space)
        ids = space.agent_ids
        self._edges = {f"{source}>{target}": (source, target) for place, target in enumerate((*ids, SINK)) for source in ids[:place]}
        self.choices: dict[str, tuple[str | int, ...]] = {"sink": tuple(range(len(self._sinks)))}
        """What each parameter may be."""
        self.choices |= {f"model {name}": (_ABSENT, *space.models) for name in ids}
        self.choices |= {f"role {name}": tuple(role.value for role in space.roles) for name in ids}
        self.choices |= dict.fromkeys(self._edges, (0, 1))

    def encoded(self, graph: Graph) -> Parameters:
        """Return the parameters of a graph, the same for all that are equal up to names; agents it does not have are absent."""
        form = canonical(graph)
        agents = {node.node_id: node for node in form.nodes if node.node_id != form.sink}
        edges = set(form.edges)
        found: Parameters = {"sink": self._sinks.index(form.node(form.sink))}
        for name in self._space.agent_ids:
            found[f"model {name}"] = agents[name].model if name in agents else _ABSENT
            role = agents[name].role.value if name in agents else self._space.roles[0].value
            found[f"role {name}"] = role if role in self.choices[f"role {name}"] else self._space.roles[0].value
        return found | {name: int(edge in edges) for name, edge in self._edges.items()}

    def decoded(self, parameters: Mapping[str, object], draws: Draws) -> Fitted:
        """Return the graph of some parameters, repaired and pruned."""
        nodes = [
            Node(name, str(parameters[f"model {name}"]), NodeRole(str(parameters[f"role {name}"])))
            for name in self._space.agent_ids
            if parameters[f"model {name}"] != _ABSENT
        ]
        sink = self._sinks[int(str(parameters["sink"]))]
        edges = [edge for name, edge in self._edges.items() if parameters[name]]
        return fitted((*nodes, sink), edges, SINK, self._space, draws=draws, connect_useless=True)
