"""Which graphs a pilot runs: each model alone and copied, mixes at one budget, and the grid of widths and depths.

Like a search, a pilot is a generator that yields `Evaluate` steps, so the same drivers and the same record serve it. Graphs that begin alike share node
outputs: a sweep over depths costs one long chain and its sinks.

Source: arXiv 2511.00086, section 4 (the three insights) and appendix A.8; the grid follows the swarms of its public code.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast, get_args

from multigraft.errors import InputError
from multigraft.graphs.blocks import grid, parallel, random_graph, single
from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import Graph, Node
from multigraft.optimize.combinations import combos, node_costs
from multigraft.optimize.problem import Evaluate, Evaluation, Run, Space, Split, sink_node
from multigraft.randomness import Draws

Part: TypeAlias = Literal["singles", "replicate", "mix", "width", "depth", "grid"]
PARTS: tuple[str, ...] = get_args(Part)

PilotSteps: TypeAlias = Generator[Evaluate, Any, "PilotRuns"]
"""What `pilot` returns: answered like any search."""


@dataclass(frozen=True, kw_only=True)
class PilotSettings:
    """How much a pilot looks at.

    Args:
        num_questions: of the training split, from its beginning; >= 2.
        parts: which parts are run; single models always are.
        copies: numbers of copies of each model side by side.
        widths: numbers of agents side by side.
        depths: lengths of a chain.
        max_grid: width times depth at most.
        block_model: model of the agents in widths, depths and grid; None: the cheapest.
        mix_nodes: nodes of a mix beside its sink, where a dearer model counts as several of the cheapest; None: what one node of the dearest counts as.
        max_mix_agents: agents of a mix at most; >= 1.
        graphs_per_mix: random graphs run of each mix; >= 1.
        max_mixes: of more mixes, this many are run, spread evenly over all; >= 1.
        edge_probability: of an edge in those graphs; (0, 1).
        seed: of those graphs.

    Raises:
        InputError: a setting out of its range.
    """

    num_questions: int = 100
    parts: tuple[str, ...] = PARTS
    copies: tuple[int, ...] = (1, 2, 4, 8)
    widths: tuple[int, ...] = (1, 2, 4, 8, 16)
    depths: tuple[int, ...] = (1, 2, 4, 8, 16)
    max_grid: int = 24
    block_model: str | None = None
    mix_nodes: int | None = None
    max_mix_agents: int = 16
    graphs_per_mix: int = 10
    max_mixes: int = 12
    edge_probability: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("num_questions", 2), ("max_grid", 1), ("graphs_per_mix", 1), ("max_mixes", 1), ("mix_nodes", 1), ("max_mix_agents", 1)):
            if getattr(self, name) is not None and getattr(self, name) < least:
                message = f"must be at least {least}, not {getattr(self, name)}"
                raise InputError(message, field=name)
        for name in ("copies", "widths", "depths"):
            values: tuple[int, ...] = getattr(self, name)
            if not values or min(values) < 1 or sorted(set(values)) != list(values):
                message = f"must be ascending whole numbers from 1 on, not {','.join(map(str, values))}"
                raise InputError(message, field=name)
        unknown = [part for part in self.parts if part not in PARTS]
        if unknown:
            message = f"there is no part '{unknown[0]}'; known: {', '.join(PARTS)}"
            raise InputError(message, field="parts")
        if not 0 < self.edge_probability < 1:
            message = f"must be between 0 and 1, not {self.edge_probability}"
            raise InputError(message, field="edge_probability")


@dataclass(frozen=True, slots=True)
class MixRuns:
    """One mix of models, in several graphs."""

    counts: Mapping[str, int]
    evaluations: tuple[Evaluation, ...]


@dataclass(slots=True, kw_only=True)
class PilotRuns:
    """Everything a pilot ran."""

    block_model: str
    """Of widths, depths and grid."""
    sink: Node
    singles: dict[str, Evaluation] = field(default_factory=dict)
    copies: dict[tuple[str, int], Evaluation] = field(default_factory=dict)
    """By model and number of copies."""
    mixes: list[MixRuns] = field(default_factory=list)
    mix_nodes: int = 0
    """Nodes of the cheapest model that each mix counts as."""
    num_mixes: int = 0
    """That there are at this budget; more than were run where there are many."""
    grid: dict[tuple[int, int], Evaluation] = field(default_factory=dict)
    """By width and depth; widths alone stand at depth 1, depths alone at width 1."""


def pilot(space: Space, settings: PilotSettings, split: Split = "train") -> PilotSteps:
    """Run a pilot.

    Args:
        space: its pool, its first sink and its costs; its caps do not bind a pilot, whose own settings bound it.
        settings: how much is looked at.
        split: where the questions come from.

    Returns:
        A generator of `Evaluate` steps that ends with all that was run.
    """
    questions = tuple(range(settings.num_questions))
    sink = space.sinks[0]
    block_model = settings.block_model or space.models[0]
    if block_model not in space.models:
        message = f"'{block_model}' is no model of the pool; known: {', '.join(space.models)}"
        raise InputError(message, field="block_model")
    found = PilotRuns(block_model=block_model, sink=sink)

    def run(graphs: Sequence[Graph]) -> Generator[Evaluate, Any, tuple[Evaluation, ...]]:
        return cast("tuple[Evaluation, ...]", (yield Evaluate(tuple(Run(graph, split, questions) for graph in graphs))))

    singles = yield from run([single(sink_node(model)) for model in space.models])
    found.singles.update(zip(space.models, singles, strict=True))
    if "replicate" in settings.parts:
        keys = [(model, count) for model in space.models for count in settings.copies]
        copies = yield from run([parallel([model] * count, sink) for model, count in keys])
        found.copies.update(zip(keys, copies, strict=True))
    if "mix" in settings.parts:
        found.mix_nodes = settings.mix_nodes or node_costs(space)[-1]
        mixes, found.num_mixes = _mixes(space, settings, found.mix_nodes)
        for counts in mixes:
            evaluations = yield from run(_graphs_of_mix(counts, sink, settings))
            found.mixes.append(MixRuns(counts, evaluations))
    cells = _cells(settings)
    if cells:
        evaluations = yield from run([grid(width, depth, [block_model], sink) for width, depth in cells])
        found.grid.update(zip(cells, evaluations, strict=True))
    return found


def _cells(settings: PilotSettings) -> list[tuple[int, int]]:
    cells: set[tuple[int, int]] = set()
    if "width" in settings.parts:
        cells.update((width, 1) for width in settings.widths)
    if "depth" in settings.parts:
        cells.update((1, depth) for depth in settings.depths)
    if "grid" in settings.parts:
        cells.update((width, depth) for width in settings.widths for depth in settings.depths if width * depth <= settings.max_grid)
    return sorted(cells)


def _mixes(space: Space, settings: PilotSettings, nodes: int) -> tuple[list[dict[str, int]], int]:
    """Return the mixes to run, as counts by model, and how many there are."""
    filled = combos(node_costs(space), nodes, most_nodes=settings.max_mix_agents)
    counts = [{model: count for model, count in zip(space.models, combo, strict=True) if count} for combo in filled if any(combo)]
    if len(counts) <= settings.max_mixes:
        return counts, len(counts)
    step = len(counts) / settings.max_mixes
    return [counts[int(index * step)] for index in range(settings.max_mixes)], len(counts)


def _graphs_of_mix(counts: Mapping[str, int], sink: Node, settings: PilotSettings) -> list[Graph]:
    """Return random graphs in which every agent is read; equal ones once."""
    models = [model for model, count in counts.items() for _ in range(count)]
    if len(models) == 1:
        return [parallel(models, sink)]
    key = "+".join(f"{model}*{count}" for model, count in counts.items())
    draws = [Draws(settings.seed, "mix", key, index) for index in range(settings.graphs_per_mix)]
    shapes = [random_graph(models[:1], len(models), sink, each, edge_probability=settings.edge_probability) for each in draws]
    found = [_with_models(shape, models) for shape in shapes]
    return list({graph_id(graph): graph for graph in found}.values())


def _with_models(shape: Graph, models: Sequence[str]) -> Graph:
    agents = [node for node in shape.nodes if node.node_id != shape.sink]
    named = {agent.node_id: replace(agent, model=model) for agent, model in zip(agents, models, strict=True)}
    return replace(shape, nodes=tuple(named.get(node.node_id, node) for node in shape.nodes))
