"""Fit the simulated tasks to the figures reported in arXiv 2511.00086: `python -m benchmarks.graph_search_fit math [--tries 400] [--steps 400]`.

Least squares in units of the standard error of 100 questions, on the same luck for every set of parameters: random search, then Nelder and Mead from the best.
It looks at reported figures alone; no search method is run. Prints the parameters and, figure by figure, what comes out. Takes minutes of CPU.
"""

import argparse
import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import Final, NamedTuple

from scipy.optimize import minimize

from multigraft.graphs.blocks import grid, parallel
from multigraft.graphs.graph import SINK, Edge, Graph, Node
from multigraft.models.simulated.tasks import LARGE, MEDIUM, SMALL, TASKS, SimulatedTask
from multigraft.models.simulated.world import World
from multigraft.randomness import Draws

RANDOM_GRAPHS: Final = 10
"""Over how many random graphs the published code averages a mix."""
EDGE_CHANCE: Final = 0.119
"""Of an edge in the published code's random graphs."""
CLEARLY: Final = 0.01
"""By how much a reported optimum is to beat the settings around it."""
STARTS: Final = 2
"""Best of the random search that are improved on."""
WIDTH: Final = 1.1
BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "difficulty": (0.5, 4.0),
    "taste": (0.1, 3.0),
    "independence": (0.1, 1.2),
    "right_pull": (0.3, 6.0),
    "wrong_pull": (0.3, 6.0),
    "saturation": (0.2, 1.0),
    "copying": (0.0, 1.0),
    "persuasion": (0.0, 1.0),
    "capacity": (2.0, 16.0),
    "growth": (0.05, 0.6),
    "overload": (0.1, 4.0),
    "heritage": (0.3, 1.0),
}


FITTED: Final[Mapping[str, tuple[str, ...]]] = {
    "math": tuple(BOUNDS),
    "mmlu": ("taste", "right_pull", "wrong_pull", "persuasion"),
    "humaneval": ("wrong_pull",),
}
"""Where width and depth are reported, all; elsewhere no more than the figures can tell, the others as on mathematics."""


def chains(width: int, depth: int, model: str) -> Graph:
    """Chains side by side, read by the sink of the paper."""
    return grid(width, depth, (model,), Node(SINK, MEDIUM))


def random_graphs(models: Sequence[str], sink: str = MEDIUM) -> Iterator[Graph]:
    """Graphs of a mix as the published random search makes them: few edges, and what nobody reads is read by somebody later."""
    for index in range(RANDOM_GRAPHS):
        draws = Draws("random graph", index, *models)
        order = draws.shuffled(models)
        ids = [*(f"a{place}" for place in range(len(order))), SINK]
        edges: list[Edge] = []
        for place, source in enumerate(ids[:-1]):
            found = [(source, target) for target in ids[place + 1 :] if draws.uniform() < EDGE_CHANCE]
            edges += found or [(source, ids[place + 1 + draws.below(len(ids) - place - 1)])]
        yield Graph((*(Node(f"a{place}", model) for place, model in enumerate(order)), Node(SINK, sink)), tuple(edges))


class Figure(NamedTuple):
    """A reported accuracy and the graphs whose mean it is."""

    name: str
    graphs: tuple[Graph, ...]
    reported: float


def mix(reported: float, **counts: int) -> Figure:
    """A reported mean over random graphs; b1, b3 and b8 count models."""
    models = {"b1": SMALL, "b3": MEDIUM, "b8": LARGE}
    name = " + ".join(f"{count} x {size[1:]}B" for size, count in counts.items())
    return Figure(name, tuple(random_graphs([models[size] for size, count in counts.items() for _ in range(count)])), reported)


def replicas(reported: float, model: str, count: int) -> Figure:
    """A reported accuracy of equal agents side by side."""
    return Figure(f"{count} x {model} side by side", (chains(count, 1, model),), reported)


def shape(reported: float, width: int, depth: int) -> Figure:
    """A reported accuracy of chains of the smallest model."""
    return Figure(f"width {width}, depth {depth}", (chains(width, depth, SMALL),), reported)


FIGURES: Final[Mapping[str, tuple[Figure, ...]]] = {
    "math": (
        replicas(0.39, MEDIUM, 1),
        replicas(0.46, MEDIUM, 2),
        mix(0.39, b1=9),
        mix(0.45, b3=2, b1=3),
        mix(0.44, b3=1, b1=6),
        mix(0.54, b3=3),
        mix(0.49, b8=1),
        shape(0.38, 1, 8),
        shape(0.47, 3, 4),
    ),
    "mmlu": (
        replicas(0.41, MEDIUM, 1),
        replicas(0.45, MEDIUM, 2),
        mix(0.30, b1=9),
        mix(0.45, b3=2, b1=3),
        mix(0.39, b3=1, b1=6),
        mix(0.41, b3=3),
        mix(0.64, b8=1),
    ),
    "humaneval": (mix(0.38, b1=7), mix(0.48, b3=1, b1=3), mix(0.60, b8=1)),
}
OPTIMA: Final[Mapping[str, tuple[tuple[tuple[int, int], tuple[tuple[int, int], ...]], ...]]] = {
    "math": (
        ((1, 8), ((1, 1), (1, 2), (1, 4), (1, 12), (1, 16))),
        ((3, 4), ((3, 1), (3, 2), (3, 3), (3, 6), (3, 8), (1, 8), (2, 4), (2, 6), (4, 2), (4, 3), (4, 4), (8, 1), (8, 2))),
        ((8, 1), ((1, 1), (2, 1), (4, 1), (16, 1), (24, 1))),
    ),
    "mmlu": (),
    "humaneval": (),
}
"""Reported optima, and the settings they beat; (width, depth) of the smallest model."""
PLATEAUS: Final = ((1, 16), (3, 8), (16, 1))
"""Twice the optima: reported as plateaus and decline, so no more than `FALL` below."""
FALL: Final = 0.06
ORDERS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "math": (("3 x 3B", "1 x 8B"),),
    "mmlu": (("1 x 8B", "3 x 3B"),),
    "humaneval": (("1 x 8B", "1 x 3B + 3 x 1B"),),
}
"""Which mix is better: small ones together on mathematics, a large one alone elsewhere."""
CEILINGS: Final[Mapping[str, tuple[tuple[tuple[str, ...], float], ...]]] = {
    "math": (((LARGE, MEDIUM), 0.54), ((LARGE,) * 2, 0.56), ((LARGE,) * 4, 0.60)),
    "mmlu": (),
    "humaneval": (),
}
"""Agents side by side, and what nothing was reported to exceed at their cost: 54 at 18 units (three of 3 billion), 56 at any budget; with some room."""
WIDE: Final = tuple((4, depth) for depth in range(1, 7)), 0.45
"""Width 4, at its best depth within 24 agents, on mathematics."""


SHOWN: Final = (
    (1, (1, 2, 4, 6, 8, 12, 16, 24)),
    (2, (1, 2, 4, 6, 8, 12)),
    (3, (1, 2, 3, 4, 5, 6, 7, 8)),
    (4, (1, 2, 3, 4, 5, 6)),
    (8, (1, 2, 3)),
    (16, (1,)),
    (24, (1,)),
)
"""Widths, and depths of each, that are printed."""


class Loss:
    """How far parameters are from what is reported."""

    def __init__(self, name: str, questions: int) -> None:
        self.name = name
        self.questions = tuple(range(questions))
        self.shapes = {cell: chains(*cell, SMALL) for best, others in OPTIMA[name] for cell in (best, *others)}
        if name == "math":
            self.shapes |= {cell: chains(*cell, SMALL) for cell in WIDE[0]}

    def quality(self, world: World, graph: Graph) -> float:
        """Mean score of a graph."""
        return float(world.play(graph, "fit", self.questions).chance.mean())

    def figures(self, task: SimulatedTask) -> Iterator[tuple[str, float, float]]:
        """Name, reported, simulated."""
        world = World(task, 7)
        for figure in FIGURES[self.name]:
            yield figure.name, figure.reported, sum(self.quality(world, graph) for graph in figure.graphs) / len(figure.graphs)

    def of(self, task: SimulatedTask) -> float:
        """Sum of squares: of residuals in standard errors, and of what optima lack."""
        figures = list(self.figures(task))
        total = sum(((reported - found) / sqrt(reported * (1 - reported) / 100)) ** 2 for _, reported, found in figures)
        by_name = {name: value for name, _, value in figures}
        total += sum((max(0.0, by_name[worse] + CLEARLY - by_name[better]) / 0.005) ** 2 for better, worse in ORDERS[self.name])
        world = World(task, 7)
        found = {cell: self.quality(world, graph) for cell, graph in self.shapes.items()}
        for best, others in OPTIMA[self.name]:
            total += sum((max(0.0, found[other] + CLEARLY - found[best]) / 0.01) ** 2 for other in others)
            total += sum((max(0.0, found[best] - FALL - found[other]) / 0.01) ** 2 for other in others if other in PLATEAUS)
        for models, ceiling in CEILINGS[self.name]:
            total += (max(0.0, self.quality(world, parallel(models, Node(SINK, MEDIUM))) - ceiling) / 0.03) ** 2
        if self.name == "math":
            cells, reported = WIDE
            total += ((max(found[cell] for cell in cells) - reported) / 0.05) ** 2
        return total


def fit(task: SimulatedTask, names: Sequence[str], tries: int, steps: int, questions: int) -> SimulatedTask:
    """Search the parameters named."""
    loss = Loss(task.name, questions)
    draws = Draws("fit", task.name)

    def with_values(values: Sequence[float]) -> SimulatedTask:
        inside = {name: float(min(max(value, BOUNDS[name][0]), BOUNDS[name][1])) for name, value in zip(names, values, strict=True)}
        return dataclasses.replace(task, **inside)  # type: ignore[arg-type]  # all of them are floats

    def penalised(values: Sequence[float]) -> float:
        outside = sum(max(0.0, BOUNDS[name][0] - value, value - BOUNDS[name][1]) for name, value in zip(names, values, strict=True))
        return loss.of(with_values(values)) + 100 * outside

    start = [float(getattr(task, name)) for name in names]
    found = [(penalised(start), start)]
    for _ in range(tries):
        values = [BOUNDS[name][0] + draws.uniform() * (BOUNDS[name][1] - BOUNDS[name][0]) for name in names]
        found.append((penalised(values), values))
    found.sort()
    print("random search:", [round(value, 2) for value, _ in found[:6]], flush=True)
    finals = []
    for _, values in found[:STARTS]:
        # The library's own first simplex is a twentieth wide, less than the noise of what is reported.
        simplex = [values] + [[value * (WIDTH if index == place else 1) for index, value in enumerate(values)] for place in range(len(values))]
        finals.append(minimize(penalised, values, method="Nelder-Mead", options={"maxfev": steps, "initial_simplex": simplex, "xatol": 1e-3, "fatol": 1e-3}))
        print(f"after Nelder and Mead: {finals[-1].fun:.2f}", flush=True)
    return with_values(min(finals, key=lambda final: float(final.fun)).x)


def report(task: SimulatedTask, questions: int) -> None:
    """Print what comes out."""
    loss = Loss(task.name, questions)
    print(f"loss {loss.of(task):.2f}")
    for name, reported, found in loss.figures(task):
        print(f"{name:40} reported {reported:.3f} simulated {found:.3f} residual {found - reported:+.3f}")
    world = World(task, 7)
    for width, depths in SHOWN:
        row = " ".join(f"{depth}:{loss.quality(world, chains(width, depth, SMALL)):.3f}" for depth in depths)
        print(f"width {width:2}  {row}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=sorted(FIGURES))
    parser.add_argument("--tries", type=int, default=400, help="of the random search, beside the present parameters")
    parser.add_argument("--steps", type=int, default=400, help="of Nelder and Mead; 0: only say how well the present parameters fit")
    parser.add_argument("--questions", type=int, default=1000)
    flags = parser.parse_args()
    task = TASKS[flags.task]
    if flags.steps:
        task = fit(task, FITTED[flags.task], flags.tries, flags.steps, flags.questions)
        print(", ".join(f"{name}={getattr(task, name):.3f}" for name in BOUNDS))
    report(task, 4 * flags.questions)
    print(f"{time.process_time():.0f} s of CPU")


if __name__ == "__main__":
    main()
