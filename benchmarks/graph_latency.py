"""Whether an objective that weighs time brings faster graphs at equal cost: `python -m benchmarks.graph_latency [--seeds 12] [--run-seeds 6] [--questions 6]`.

Searched in the simulated world: equal spaces, caps in units, seeds, questions and evaluations; only what is maximised differs. Each aim's graphs are compared
with those of the search for quality alone, paired by seed: true quality, seconds along the critical path, units, and what the aim itself makes of both. As who
weighs time may take smaller graphs, they are also compared with those of a search for quality that may spend no more units than they do.

Run for real: graphs that were returned go through the engine against one fake server a model, whose calls take what the world says that calls of this size
take, divided by `SPEED_UP`. What is measured is the time from a prompt to the sink's answer, paired by question. Writes benchmarks/results/graph_latency.json
and .md.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Final, NamedTuple

from tests.servers.launch import Running, fake_server

from benchmarks.graph_execution import prompts_of, run
from benchmarks.graph_search import RESULTS, qualities_of, task_of
from benchmarks.graph_search_cases import known_best, space_of
from benchmarks.graph_search_methods import consult_of, method_of
from benchmarks.graph_search_statistics import estimate, rounded, shown
from multigraft.analysis.intervals import Estimate, mean
from multigraft.graphs.canonical import canonical, graph_id
from multigraft.graphs.graph import Graph
from multigraft.graphs.graph_file import graph_of, text_of
from multigraft.graphs.latency import span_s
from multigraft.models.simulated.tasks import MATH, MODELS
from multigraft.models.simulated.world import World
from multigraft.optimize.loop.archive import Archive
from multigraft.optimize.loop.objectives import parse_objective
from multigraft.optimize.loop.search import SearchSettings, search
from multigraft.optimize.loop.simulate import drive
from multigraft.optimize.problem import Problem, Space
from multigraft.optimize.simulated import SimulatedEvaluator
from multigraft.types import Json, Prompt

SPEED_UP: Final = 8.0
WORDS: Final = 10.5
"""Mean length of the fake server's answers; one word stands for as many tokens as make an answer of the task."""
CASES: Final = ("math-8", "math-8-small")
METHODS: Final = ("agent_reinforce", "surrogate")


class Aim(NamedTuple):
    """What a search is told to maximise. Seconds are those of the best known graph of the case, which no search for quality alone need be slower than."""

    weight: float = 0.0
    """Score that so many seconds are worth."""
    cap_s: float | None = None
    """Most seconds there may be."""


AIMS: Final[Mapping[str, Aim]] = {"quality": Aim(), "weight 0.1": Aim(0.1), "weight 0.3": Aim(0.3), "cap 4 s": Aim(cap_s=4.0)}
BASELINE: Final = "quality"
RUN_AIMS: Final = ("weight 0.1", "weight 0.3", "cap 4 s")
"""Those whose graphs are compared at equal units and run for real."""


class Job(NamedTuple):
    """A search to be done."""

    case: str
    method: str
    aim: str
    seed: int
    evaluations: int
    units: float | None = None
    """Cap; None: the case's."""


class Returned(NamedTuple):
    """The graph that a search returned."""

    job: Job
    graph: str
    """Its file."""
    quality: float
    latency_s: float
    units: float
    reference_s: float
    evaluations: int
    """Graphs evaluated until the search ended."""


class Compared(NamedTuple):
    """An aim's graphs beside those of the search for quality alone, paired by seed."""

    quality: Estimate
    latency_s: Estimate
    units: Estimate
    quality_gain: Estimate
    latency_ratio: Estimate
    """Geometric mean."""
    units_ratio: Estimate
    """Geometric mean."""
    aim_gain: Estimate
    """Of what the aim maximises: quality less weighted seconds."""
    keeps_cap: float
    """Share of the aim's graphs that are as fast as the cap wants."""
    baseline_keeps_cap: float


class Row(NamedTuple):
    """An aim on a case."""

    aim: str
    mine: Sequence[Returned]
    base: Sequence[Returned]
    """Of the searches for quality, by seed."""
    equal: Sequence[Returned]
    """Of those within the units of each of `mine`; empty: not searched."""


class Walls(NamedTuple):
    """A graph run for real."""

    wall_s: tuple[float, ...]
    """Of each question."""
    path_s: tuple[float, ...]
    """Of its calls as they were logged, along the critical path."""


def reference_s(case: str) -> float:
    """Return the seconds of the best known graph of a case."""
    seconds = space_of(case).costs.of(known_best(case).graph).latency_s
    assert seconds is not None
    return seconds


def space_for(job: Job) -> Space:
    """Return the graphs that a search may return."""
    space = space_of(job.case)
    units = space.caps.units if job.units is None else job.units
    return replace(space, caps=space.caps._replace(units=units, latency_s=AIMS[job.aim].cap_s))


def searched(job: Job) -> Returned:
    """Do a search; `benchmarks.graph_search` says how."""
    aim, seconds = AIMS[job.aim], reference_s(job.case)
    space, evaluator = space_for(job), SimulatedEvaluator(World(task_of(job.case, None), job.seed))
    objective = parse_objective(f"latency:{aim.weight}:{seconds}" if aim.weight else "quality")
    task = f"Simulated questions of the kind '{task_of(job.case, None).name}'."
    problem = Problem(space=space, objective=objective, seed=job.seed, max_evaluations=job.evaluations, task=task)
    archive = Archive(objective)
    settings = SearchSettings(num_train=24, num_validation=50, patience=0, compare_singles=False)
    found = drive(search(method_of(job.method), problem, settings, archive=archive), evaluator.evaluate, consult_of(job.method))
    graph = canonical(found.best.graph if found.best is not None else space.smallest(space.sinks[0]))
    cost = space.costs.of(graph)
    assert cost.latency_s is not None
    assert cost.units is not None
    return Returned(job, text_of(graph), qualities_of(job.case, None).of(graph), cost.latency_s, cost.units, seconds, archive.num_evaluations)


def compared(mine: Sequence[Returned], base: Sequence[Returned]) -> Compared:
    """Compare an aim's graphs with others.

    Args:
        mine: of one aim, case and method.
        base: of the same seeds, in the same order.
    """
    aim = AIMS[mine[0].job.aim]
    pairs = list(zip(mine, base, strict=True))
    assert all(one.job.seed == other.job.seed for one, other in pairs)

    def loss(found: Returned) -> float:
        return aim.weight * found.latency_s / found.reference_s

    def kept(found: Sequence[Returned]) -> float:
        return mean([float(aim.cap_s is None or one.latency_s <= aim.cap_s * (1 + 1e-9)) for one in found])

    return Compared(
        estimate([one.quality for one in mine]),
        estimate([one.latency_s for one in mine]),
        estimate([one.units for one in mine]),
        estimate([one.quality - other.quality for one, other in pairs]),
        geometric([one.latency_s / other.latency_s for one, other in pairs]),
        geometric([one.units / other.units for one, other in pairs]),
        estimate([one.quality - loss(one) - other.quality + loss(other) for one, other in pairs]),
        kept(mine),
        kept(base),
    )


def geometric(ratios: Sequence[float]) -> Estimate:
    """Estimate the geometric mean of ratios."""
    found = estimate([log(ratio) for ratio in ratios])
    low, high = (None if end is None else exp(end) for end in (found.low, found.high))
    return Estimate(exp(found.value), low, high, found.count)


def faster_by_question(mine: Sequence[Walls], base: Sequence[Walls]) -> Estimate:
    """Estimate the ratio of the time a question takes: the geometric mean over pairs of graphs, its interval over questions.

    Args:
        mine: a graph each.
        base: what each is compared with, in the same order, on the same questions.
    """
    by_question = list(zip(*[[log(one / other) for one, other in zip(a.wall_s, b.wall_s, strict=True)] for a, b in zip(mine, base, strict=True)], strict=True))
    return geometric([exp(mean(logs)) for logs in by_question])


def faster_by_seed(mine: Sequence[Walls], base: Sequence[Walls]) -> Estimate:
    """Estimate the same ratio, its interval over pairs of graphs."""
    return geometric([mean(a.wall_s) / mean(b.wall_s) for a, b in zip(mine, base, strict=True)])


def timed(graphs: Mapping[str, Graph], prompts: Sequence[Prompt]) -> Iterator[tuple[str, Walls]]:
    """Run graphs for real, one after the other, each on all prompts."""
    with ExitStack() as stack:
        servers: dict[str, Running] = {}
        models = dict.fromkeys(node.model for graph in graphs.values() for node in graph.nodes)
        for model in models:
            speed = MODELS[model]
            servers[model] = stack.enter_context(
                fake_server(
                    latency_s=speed.start_s / SPEED_UP,
                    per_prompt_token_s=speed.prefill_s / SPEED_UP,
                    per_completion_token_s=speed.decode_s * MATH.answer_tokens / WORDS / SPEED_UP,
                )
            )
        for key, graph in graphs.items():
            with tempfile.TemporaryDirectory() as folder:
                found = run(servers, graph, prompts, Path(folder))
            yield key, Walls(tuple(times.wall_s for times, _ in found), tuple(span_s(graph, times.times) for times, _ in found))


def search_table(case: str, method: str, rows: Sequence[Row]) -> tuple[str, dict[str, Json]]:
    """Write what searches for each aim came to."""
    cap = space_of(case).caps.units or 0.0
    lines = [
        f"### {case}, {method}: searches within {cap:.1f} units; a reference of {reference_s(case):.2f} s\n",
        "| aim | quality | path, s | units | gain in quality | seconds, ratio | units, ratio | gain in aim | keep cap | tried | equal units: gain | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    told: dict[str, Json] = {}
    for row in rows:
        found = compared(row.mine, row.base)
        tried = mean([float(one.evaluations) for one in row.mine])
        keeps = f"{found.keeps_cap:.0%}, of the search for quality {found.baseline_keeps_cap:.0%}" if AIMS[row.aim].cap_s is not None else ""
        equal = compared(row.mine, row.equal) if row.equal else None
        at_equal = "|  |  |" if equal is None else f"| {shown(equal.quality_gain, sign=True)} | {shown(equal.latency_ratio, digits=2)} |"
        lines.append(
            f"| {row.aim} | {shown(found.quality)} | {shown(found.latency_s, digits=2)} | {shown(found.units, digits=1)} "
            f"| {shown(found.quality_gain, sign=True)} | {shown(found.latency_ratio, digits=2)} | {shown(found.units_ratio, digits=2)} "
            f"| {shown(found.aim_gain, sign=True)} | {keeps} | {tried:.1f} {at_equal}"
        )
        told[row.aim] = {"graphs_tried": tried, "to_quality": described(found), "to_quality_at_equal_units": None if equal is None else described(equal)}
    return "\n".join(lines) + "\n", told


def described(found: Compared) -> dict[str, Json]:
    """Return a comparison as JSON."""
    return {name: rounded(value) if isinstance(value, Estimate) else value for name, value in found._asdict().items()}


def run_table(case: str, method: str, rows: Sequence[Row], walls: Mapping[str, Walls]) -> tuple[str, dict[str, Json]]:
    """Write how long the returned graphs took for real."""
    lines = [
        f"### {case}, {method}: graphs of {len(rows[0].mine)} seeds run for real\n",
        "| aim | against quality within | units of both | quality of both | wall of both, s | wall, ratio: over questions | over seeds | wall / logged path |",
        "|---|---|---|---|---|---|---|---|",
    ]
    told: dict[str, Json] = {}
    for row in rows:
        taken = [walls[key_of(one)] for one in row.mine]
        over_path = geometric([mean(one.wall_s) / mean(one.path_s) for one in taken])
        for within, base in (("the case's units", row.base), ("the same units", row.equal)):
            if not base:
                continue
            other = [walls[key_of(one)] for one in base]
            by_question, by_seed = faster_by_question(taken, other), faster_by_seed(taken, other)
            pairs = [
                [mean([one.units for one in found]), mean([one.quality for one in found]), mean([mean(wall.wall_s) for wall in run])]
                for found, run in ((row.mine, taken), (base, other))
            ]
            both = [" and ".join(f"{pair[place]:.{digits}f}" for pair in pairs) for place, digits in ((0, 1), (1, 3), (2, 3))]
            lines.append(f"| {row.aim} | {within} | {' | '.join(both)} | {shown(by_question)} | {shown(by_seed)} | {shown(over_path)} |")
            told[f"{row.aim}, {within}"] = {
                "units": [pair[0] for pair in pairs],
                "quality": [pair[1] for pair in pairs],
                "wall_s": [pair[2] for pair in pairs],
                "ratio_by_question": rounded(by_question),
                "ratio_by_seed": rounded(by_seed),
                "wall_to_path": rounded(over_path),
            }
    return "\n".join(lines) + "\n", told


def key_of(found: Returned) -> str:
    """Name a graph by what it is."""
    return graph_id(graph_of(found.graph))


def rows_of(case: str, method: str, flags: argparse.Namespace) -> list[Row]:
    """Do the searches of a case by a method."""
    seeds = range(flags.seeds)
    jobs = [Job(case, method, aim, seed, flags.evaluations) for aim in AIMS for seed in seeds]
    found = dict(zip(jobs, run_all(jobs, flags.processes), strict=True))
    by_aim = {aim: [found[Job(case, method, aim, seed, flags.evaluations)] for seed in seeds] for aim in AIMS}
    equal_jobs = [Job(case, method, BASELINE, one.job.seed, flags.evaluations, one.units) for aim in RUN_AIMS for one in by_aim[aim]]
    equal = run_all(equal_jobs, flags.processes)
    at_equal = {aim: equal[place * flags.seeds : (place + 1) * flags.seeds] for place, aim in enumerate(RUN_AIMS)}
    return [Row(aim, mine, by_aim[BASELINE], at_equal.get(aim, [])) for aim, mine in by_aim.items()]


def run_all(jobs: Sequence[Job], processes: int) -> list[Returned]:
    """Do the searches, several at a time."""
    if processes == 1:
        return [searched(job) for job in jobs]
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(searched, jobs))


def flags_of() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--evaluations", type=int, default=30)
    parser.add_argument("--run-seeds", type=int, default=6, help="of these, so many have their graphs run for real")
    parser.add_argument("--questions", type=int, default=6, help="that each graph is run on")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--name", default="graph_latency", help="of the files in benchmarks/results")
    return parser.parse_args()


def main() -> None:
    flags = flags_of()
    groups = [(case, method) for case in flags.cases.split(",") for method in flags.methods.split(",")]
    told: dict[str, Json] = {"settings": {name: value for name, value in vars(flags).items() if name not in {"processes", "name"}}}
    tables = [f"{flags.seeds} seeds, {flags.evaluations} graphs evaluated at most; {flags.run_seeds} seeds run for real, {SPEED_UP:g} times as fast.\n"]
    by_group = {group: rows_of(*group, flags) for group in groups}
    most = flags.run_seeds
    to_run = {
        group: [Row(row.aim, row.mine[:most], row.base[:most], row.equal[:most]) for row in rows if row.aim in RUN_AIMS] for group, rows in by_group.items()
    }
    every = [one for rows in to_run.values() for row in rows for found in row[1:] for one in found]
    graphs = {key_of(one): graph_of(one.graph) for one in every}
    walls = dict(timed(graphs, prompts_of(flags.questions))) if graphs else {}
    for case, method in groups:
        text, searches = search_table(case, method, by_group[case, method])
        tables.append(text)
        entry: dict[str, Json] = {"searches": searches}
        if walls:
            text, entry["runs"] = run_table(case, method, to_run[case, method], walls)
            tables.append(text)
        told[f"{case}, {method}"] = entry
    tables.append(f"{len(graphs)} different graphs were run.\n")
    print("\n".join(tables))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{flags.name}.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    (RESULTS / f"{flags.name}.md").write_text("\n".join(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
