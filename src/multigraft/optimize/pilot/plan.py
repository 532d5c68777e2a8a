"""Which graphs a pilot runs: each model alone and copied, the grid of widths and depths, and mixes at one budget.

All of them are known before anything is asked, and so is how many calls they take: graphs that begin alike share node outputs, so a sweep over depths costs one
long chain and its sinks.

Source: arXiv 2511.00086, section 4 (the three insights) and appendix A.8; the grid follows the swarms of its public code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from multigraft.errors import InputError
from multigraft.graphs.blocks import grid, parallel, random_graph, single
from multigraft.graphs.canonical import graph_id
from multigraft.graphs.cones import cone_keys
from multigraft.graphs.cost import KnownCosts, NodeCost
from multigraft.graphs.graph import Graph, Node
from multigraft.optimize.combinations import combos, node_costs
from multigraft.optimize.pilot.settings import PilotSettings
from multigraft.optimize.problem import Space, sink_node
from multigraft.randomness import Draws


class MixPlan(NamedTuple):
    """One mix of models, in several graphs."""

    counts: Mapping[str, int]
    """Agents by model; >= 1 each."""
    graphs: tuple[Graph, ...]


class Expense(NamedTuple):
    """What a pilot costs in all, where nothing of it is known yet and no call has to be repeated."""

    calls: int
    flops: float | None
    """None: the size of a model is not known."""
    usd: float | None
    """None: the price of a model is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotPlan:
    """Every graph of a pilot."""

    num_questions: int
    block_model: str
    """Of widths, depths and grid."""
    sink: Node
    singles: Mapping[str, Graph]
    """By model, cheapest first."""
    copies: Mapping[tuple[str, int], Graph] = field(default_factory=dict)
    """By model and number of copies."""
    grid: Mapping[tuple[int, int], Graph] = field(default_factory=dict)
    """By width and depth; widths alone stand at depth 1, depths alone at width 1."""
    mixes: tuple[MixPlan, ...] = ()
    mix_nodes: int = 0
    """Nodes of the cheapest model that each mix counts as."""
    num_mixes: int = 0
    """That there are at this budget; more than are run where there are many."""

    @property
    def steps(self) -> tuple[tuple[Graph, ...], ...]:
        """The graphs in the order they are run, those of a step at once; the dearest part comes last."""
        parts = (tuple(self.singles.values()), tuple(self.copies.values()), tuple(self.grid.values()), *(mix.graphs for mix in self.mixes))
        return tuple(part for part in parts if part)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """All of them, in this order; equal ones as often as they are planned."""
        return tuple(graph for step in self.steps for graph in step)

    @property
    def calls(self) -> Mapping[str, int]:
        """Calls that each part adds to those before it, on all questions, where nothing is known yet and no call has to be repeated."""
        parts: Mapping[str, Sequence[Graph]] = {
            "singles": tuple(self.singles.values()),
            "replicate": tuple(self.copies.values()),
            "grid": tuple(self.grid.values()),
            "mix": tuple(graph for mix in self.mixes for graph in mix.graphs),
        }
        met: set[str] = set()
        added: dict[str, int] = {}
        for part, graphs in parts.items():
            before = len(met)
            for graph in graphs:
                met.update(key for node_id, key in cone_keys(graph).items() if not graph.node(node_id).selects)
            if graphs:
                added[part] = (len(met) - before) * self.num_questions
        return added

    def expense(self, costs: KnownCosts) -> Expense:
        """Add up what all graphs cost, equal nodes of them once.

        Args:
            costs: of the models, with the lengths that are expected.
        """
        nodes: dict[str, NodeCost] = {}
        for graph in self.graphs:
            keys = cone_keys(graph)
            nodes.update((keys[node.node_id], node) for node in costs.nodes_of(graph) if node.model)
        flops = [node.flops for node in nodes.values() if node.flops is not None]
        usd = [node.usd for node in nodes.values() if node.usd is not None]
        return Expense(
            calls=len(nodes) * self.num_questions,
            flops=sum(flops) * self.num_questions if len(flops) == len(nodes) else None,
            usd=sum(usd) * self.num_questions if len(usd) == len(nodes) else None,
        )


def planned(space: Space, settings: PilotSettings) -> PilotPlan:
    """Plan a pilot.

    Args:
        space: its pool, its first sink and its costs; its caps do not bind a pilot, whose own settings bound it.
        settings: how much is looked at.

    Raises:
        InputError: the model of widths and depths is none of the pool.
    """
    sink, block_model = space.sinks[0], settings.block_model or space.models[0]
    if block_model not in space.models:
        message = f"'{block_model}' is no model of the pool; known: {', '.join(space.models)}"
        raise InputError(message, field="block_model")
    keys = [(model, count) for model in space.models for count in settings.copies] if "replicate" in settings.parts else []
    nodes = (settings.mix_nodes or node_costs(space)[-1]) if "mix" in settings.parts else 0
    mixes, num_mixes = _mixes(space, settings, nodes) if nodes else ([], 0)
    return PilotPlan(
        num_questions=settings.num_questions,
        block_model=block_model,
        sink=sink,
        singles={model: single(sink_node(model)) for model in space.models},
        copies={(model, count): parallel([model] * count, sink) for model, count in keys},
        grid={(width, depth): grid(width, depth, [block_model], sink) for width, depth in _cells(settings)},
        mixes=tuple(MixPlan(counts, tuple(_graphs_of_mix(counts, sink, settings))) for counts in mixes),
        mix_nodes=nodes,
        num_mixes=num_mixes,
    )


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
