"""What a graph costs: FLOPs and their units, dollars and seconds, of the live nodes alone.

A node with d nodes to read has a prompt of `Np = A + d B` tokens and writes `Nd = B`, where A and B are the mean tokens of the task's questions and answers.
In the paper's form its FLOPs are a polynomial in d, `alpha d^2 + beta d + gamma` (`coefficients`).

Source: Wang et al., "Generalizing Test-time Compute-optimal Scaling as an Optimizable Graph" (arXiv 2511.00086), appendices A.7, A.8 and A.10. Tokens by model,
the exact form and the price of prompt tokens apart are ours.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import floor, isfinite
from typing import Final, NamedTuple

from multigraft.budget.cost import ModelCost
from multigraft.budget.flops import Form, ModelShape, call_flops
from multigraft.errors import InputError
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.graph import SINK, Graph, Node
from multigraft.graphs.latency import LatencyModel, slots_s, span_s, sum_s
from multigraft.types import Json

WORKLOAD: Final = "workload"
"""Under which name the `about` of a graph file keeps the lengths its costs were computed from."""

_UNPRICED: Final = "no price (dollars a million tokens)"
_UNSIZED: Final = "no size (the name of a known model, or parameters, layers and width)"


class Tokens(NamedTuple):
    """Mean tokens of one call."""

    prompt: float
    """Of the question, with everything around it (`A`); >= 0."""
    completion: float
    """Of the answer (`B`); >= 0."""


@dataclass(frozen=True, slots=True)
class Workload:
    """How long the questions and answers of a task are, in tokens. Numbers are finite and >= 0."""

    prompt_tokens: float
    """Mean of a question (`A`), read by every node."""
    completion_tokens: float
    """Mean of an answer (`B`), read by every node it leads to."""
    by_model: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """A and B of the models that were measured; all others take the two above. A node then reads the B of each model that it reads."""

    def __post_init__(self) -> None:
        for name, pair in {"the task": (self.prompt_tokens, self.completion_tokens), **self.by_model}.items():
            if any(not isfinite(value) or value < 0 for value in pair):
                message = f"the tokens of {name} are {tuple(pair)}; give the mean of a prompt and of a completion, each at least 0"
                raise InputError(message)

    def of(self, model: str) -> Tokens:
        """Return A and B of a model."""
        return Tokens(*self.by_model.get(model, (self.prompt_tokens, self.completion_tokens)))


def workload_json(workload: Workload, unit_flops: float | None = None) -> dict[str, Json]:
    """Write lengths as the `about` of a graph file has them, under `WORKLOAD`, so that the costs of the graph can be told again.

    Args:
        workload: of the task.
        unit_flops: FLOPs of a unit of the search; None: not known.
    """
    by_model: dict[str, Json] = {name: list(pair) for name, pair in sorted(workload.by_model.items())}
    return {"prompt_tokens": workload.prompt_tokens, "completion_tokens": workload.completion_tokens, "by_model": by_model, "unit_flops": unit_flops}


def workload_of(told: Json) -> tuple[Workload, float | None] | None:
    """Read what `workload_json` wrote.

    Args:
        told: whatever a file says.

    Returns:
        The lengths, and the FLOPs of a unit where they are told; None: it is something else.
    """
    if not isinstance(told, dict):
        return None
    unit_flops, by_model = told.get("unit_flops"), told.get("by_model", {})
    both = _pair([told.get("prompt_tokens"), told.get("completion_tokens")])
    pairs = {name: _pair(pair) for name, pair in by_model.items()} if isinstance(by_model, dict) else {"": None}
    known = {name: pair for name, pair in pairs.items() if pair is not None}
    if both is None or len(known) < len(pairs):
        return None
    unit = _number(unit_flops)
    return Workload(*both, known), unit or None


def _pair(told: Json) -> tuple[float, float] | None:
    if not isinstance(told, list) or len(told) != 2:
        return None
    values = [value for item in told if (value := _number(item)) is not None]
    return (values[0], values[1]) if len(values) == 2 else None


def _number(told: Json) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float) or not 0 <= told <= 1e30:
        return None
    return float(told)


class Coefficients(NamedTuple):
    """FLOPs of a node that reads d others: `alpha d^2 + beta d + gamma`."""

    alpha: float
    beta: float
    gamma: float

    def flops(self, num_read: int) -> float:
        """Return the FLOPs at an in-degree."""
        return (self.alpha * num_read + self.beta) * num_read + self.gamma


class NodeCost(NamedTuple):
    """Expected cost of one live node for one question. None: not known."""

    node_id: str
    model: str
    """Empty where the node calls none; it then costs nothing."""
    num_read: int
    """In-degree."""
    prompt_tokens: float
    completion_tokens: float
    flops: float | None
    usd: float | None
    seconds: float | None


def coefficients(shape: ModelShape, workload: Workload) -> Coefficients:
    """Return the polynomial of a model's FLOPs in the number of nodes it reads, in the paper's form.

    Args:
        shape: of the model (M, L and D).
        workload: of the task (A and B).

    Source:
        arXiv 2511.00086, appendix A.7: alpha = 2 L D B^2, beta = 2 M B + 2 L D B (2 A + 2 B + 1), gamma = 2 (M + L D) (A + B) + 2 L D (A + B)^2.
    """
    attention = shape.layers * shape.width
    read, written = workload.prompt_tokens, workload.completion_tokens
    both = read + written
    return Coefficients(
        alpha=2 * attention * written**2,
        beta=2 * shape.parameters * written + 2 * attention * written * (2 * both + 1),
        gamma=2 * (shape.parameters + attention) * both + 2 * attention * both**2,
    )


class KnownCosts:
    """Costs from the sizes and prices of models, and the lengths of a task's texts. Implements `costs.Costs`.

    Args:
        models: size, price and form of FLOPs by name. A model of a graph that is not here has no size and no price.
        workload: of the task.
        latency: seconds of a call, by name of model; None: no seconds are known.
        max_parallel: calls at a time; None: as many as a graph is wide. With a number, `GraphCost.latency_s` is that of a list schedule, which, unlike all
            other costs, may now and then fall when an edge is added (see `latency.slots_s`).
        base_flops: FLOPs of one unit; None: one call of the smallest sized model that reads no other node.

    Raises:
        InputError: a number out of range.
    """

    def __init__(
        self,
        models: Mapping[str, ModelCost],
        workload: Workload,
        *,
        latency: Mapping[str, LatencyModel] | None = None,
        max_parallel: int | None = None,
        base_flops: float | None = None,
    ) -> None:
        if max_parallel is not None and max_parallel < 1:
            message = f"max_parallel is {max_parallel}; give at least 1 call at a time, or none for no limit"
            raise InputError(message)
        if base_flops is not None and not (isfinite(base_flops) and base_flops > 0):
            message = f"base_flops is {base_flops}; give a number above 0"
            raise InputError(message)
        self.models = dict(models)
        self.workload = workload
        self.latency = dict(latency or {})
        self.max_parallel = max_parallel
        self._flops_by_tokens: dict[tuple[str, float, float], float | None] = {}
        self.base_flops = base_flops if base_flops is not None else self._smallest_flops()

    def of(self, graph: Graph) -> GraphCost:
        """Return the expected cost of one question."""
        nodes = self.nodes_of(graph)
        flops, usd = _sum(node.flops for node in nodes), _sum(node.usd for node in nodes)
        latency_s = latency_sum_s = None
        times = {node.node_id: node.seconds for node in nodes if node.seconds is not None}
        if len(times) == len(nodes):
            latency_sum_s = sum_s(graph, times)
            latency_s = span_s(graph, times) if self.max_parallel is None else slots_s(graph, times, self.max_parallel)
        return GraphCost(
            calls=sum(bool(node.model) for node in nodes),
            tokens=sum(node.prompt_tokens + node.completion_tokens for node in nodes),
            flops=flops,
            units=self.units(flops),
            usd=usd,
            latency_s=latency_s,
            latency_sum_s=latency_sum_s,
        )

    def nodes_of(self, graph: Graph) -> tuple[NodeCost, ...]:
        """Return the expected cost of every live node, each after those it reads."""
        live = graph.live_nodes
        written = {node.node_id: 0.0 if node.selects else self.workload.of(node.model).completion for node in live}
        return tuple(self._node(node, [written[source] for source in graph.read_by(node.node_id)]) for node in live)

    def units(self, flops: float | None) -> float | None:
        """Convert FLOPs to units; None: they, or the unit, are not known."""
        return None if flops is None or not self.base_flops else flops / self.base_flops

    def dense_cap(self, num_agents: int, model: str, sink: str) -> float:
        """Return the units of the dearest graph of some equal agents and a sink: everyone reads all who come before.

        Args:
            num_agents: >= 0; the sink is not counted.
            model: of the agents, usually the smallest.
            sink: model of the sink.

        Returns:
            Units: the most a search over this many agents can spend, which the paper takes for its budgets.

        Raises:
            InputError: the size of a model is not known.

        Source:
            arXiv 2511.00086, appendix A.8, and its public code.
        """
        units = self.of(dense(num_agents, model, sink)).units
        if units is None:
            message = f"units need the size of every model: {'; '.join(self.lacking((model, sink)))}"
            raise InputError(message)
        return units

    def lacking(self, models: Iterable[str], *, prices: bool = False, seconds: bool = False) -> tuple[str, ...]:
        """Say which models lack what, for a cost that came out as None.

        Args:
            models: names, as in a graph; an empty one, of a node that calls none, lacks nothing.
            prices: whether prices are needed.
            seconds: whether times are needed. Sizes are needed when neither is.

        Returns:
            One line for each model that lacks something.
        """
        lines = []
        for model in dict.fromkeys(name for name in models if name):
            cost = self.models.get(model, ModelCost())
            missing = [_UNPRICED] if prices and cost.price is None else []
            if seconds and model not in self.latency:
                missing.append("no logged call to fit its seconds on")
            if not prices and not seconds and cost.shape is None:
                missing.append(_UNSIZED)
            if missing:
                lines.append(f"'{model}' has {' and '.join(missing)}")
        return tuple(lines)

    def _node(self, node: Node, read_tokens: list[float]) -> NodeCost:
        if node.selects:
            return NodeCost(node.node_id, "", len(read_tokens), 0.0, 0.0, 0.0, 0.0, 0.0)
        prompt, completion = self.workload.of(node.model)
        prompt += sum(read_tokens)
        price = self.models.get(node.model, ModelCost()).price
        usd = None
        if price is not None:
            usd = (price.usd_per_million_prompt * prompt + price.usd_per_million_completion * completion) / 1e6
        latency = self.latency.get(node.model)
        seconds = None if latency is None else latency.seconds(prompt, completion)
        return NodeCost(node.node_id, node.model, len(read_tokens), prompt, completion, self._flops(node.model, prompt, completion), usd, seconds)

    def _flops(self, model: str, prompt_tokens: float, completion_tokens: float) -> float | None:
        key = (model, prompt_tokens, completion_tokens)
        if key not in self._flops_by_tokens:
            cost = self.models.get(model, ModelCost())
            self._flops_by_tokens[key] = None if cost.shape is None else _mean_flops(cost.shape, prompt_tokens, completion_tokens, cost.form)
        return self._flops_by_tokens[key]

    def _smallest_flops(self) -> float | None:
        alone = [flops for name in self.models if (flops := self._flops(name, *self.workload.of(name))) is not None]
        return min(alone, default=None)


def dense(num_agents: int, model: str, sink: str) -> Graph:
    """Make the densest graph of equal agents: each reads all before it, the sink reads all.

    Args:
        num_agents: >= 0; the sink is not counted.
        model: of the agents.
        sink: model of the sink.
    """
    if num_agents < 0:
        message = f"{num_agents} is no number of agents; give at least 0"
        raise InputError(message)
    ids = [f"a{number}" for number in range(1, num_agents + 1)]
    nodes = (*(Node(node_id, model) for node_id in ids), Node(SINK, sink))
    edges = [(source, target) for place, target in enumerate([*ids, SINK]) for source in ids[:place]]
    return Graph(nodes, tuple(edges))


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _mean_flops(shape: ModelShape, prompt_tokens: float, completion_tokens: float, form: Form) -> float:
    """Count the FLOPs of mean lengths, which need not be whole: in between, along a line."""
    read, written = floor(prompt_tokens), floor(completion_tokens)
    more_read, more_written = prompt_tokens - read, completion_tokens - written
    flops = 0.0
    for extra_read, weight_read in ((0, 1 - more_read), (1, more_read)):
        for extra_written, weight_written in ((0, 1 - more_written), (1, more_written)):
            if weight := weight_read * weight_written:
                flops += weight * call_flops(shape, read + extra_read, written + extra_written, form)
    return flops
