"""Search methods compared in the simulated world: `python -m benchmarks.graph_search [--seeds 200] [--methods random,bayes] [--cases math-8] [--processes 2]`.

Every method has the same number of graphs to evaluate, the same questions, and the same seeds. What counts is the true quality of the graph it would return,
which no method sees. Writes benchmarks/results/graph_search.json and .md.
"""

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.graph_search_cases import CASES, Known, Qualities, keep_best, known_best, space_of
from benchmarks.graph_search_methods import COMPARED, consult_of, findings_of, method_of, takes_part
from benchmarks.graph_search_statistics import Searched, curves, described, summaries, table
from multigraft.graphs.graph import Graph
from multigraft.models.simulated.tasks import TASKS, SimulatedTask, varied
from multigraft.models.simulated.world import World
from multigraft.optimize.loop.archive import Archive
from multigraft.optimize.loop.objectives import Quality
from multigraft.optimize.loop.search import SearchEvent, SearchSettings, search
from multigraft.optimize.loop.simulate import drive
from multigraft.optimize.problem import Problem
from multigraft.optimize.simulated import SimulatedEvaluator
from multigraft.types import Json

RESULTS: Final = Path(__file__).parent / "results"


class Job(NamedTuple):
    """One search to be done."""

    case: str
    method: str
    seed: int
    evaluations: int
    train: int
    validation: int
    varied: bool
    """Whether every seed has a task of its own, like the case's."""


class Watched:
    """Notes which graph a search would return after each number of evaluations, and which does best in training."""

    def __init__(self, job: Job, archive: Archive) -> None:
        self.archive = archive
        self.by_validation: list[Graph | None] = [None] * job.evaluations
        self.by_training: list[Graph | None] = [None] * job.evaluations

    def notice(self, event: SearchEvent) -> None:
        """Take note."""
        place = min(event.num_evaluations, len(self.by_validation)) - 1
        if place < 0:
            return
        if event.best is not None and self.archive.incumbent is not None:
            self.by_validation[place] = event.best.graph
        if event.kind == "evaluated":
            trained = [entry for entry in self.archive.entries if entry.trained]
            self.by_training[place] = max(trained, key=lambda entry: (entry.train.mean or 0.0, -entry.number)).graph


@lru_cache(maxsize=16)
def qualities_of(case: str, variant: int | None) -> Qualities:
    """One cache for all searches of a process."""
    return Qualities(task_of(case, variant))


def task_of(case: str, variant: int | None) -> SimulatedTask:
    """Return the task of a case, or one like it."""
    task = TASKS[CASES[case].task]
    return task if variant is None else varied(task, variant)


def searched(job: Job) -> tuple[Searched, Known]:
    """Do a search; says what came of it, and which was the best graph it returned on the way."""
    space, variant = space_of(job.case), job.seed if job.varied else None
    evaluator = SimulatedEvaluator(World(task_of(job.case, variant), job.seed))
    objective = Quality()
    problem = Problem(
        space=space,
        objective=objective,
        seed=job.seed,
        max_evaluations=job.evaluations,
        task=f"Simulated questions of the kind '{CASES[job.case].task}'.",
        findings=findings_of(job.method, job.case, evaluator, job.train),
    )
    settings = SearchSettings(num_train=job.train, num_validation=job.validation, patience=0, compare_singles=False)
    archive = Archive(objective)
    watched = Watched(job, archive)
    began = time.process_time()
    steps = search(method_of(job.method), problem, settings, watched.notice, archive)
    drive(steps, evaluator.evaluate, consult_of(job.method))
    took = time.process_time() - began
    qualities = qualities_of(job.case, variant)
    nothing = space.smallest(space.sinks[0])
    validated = followed(watched.by_validation, nothing)
    run = Searched(
        job.case,
        job.method,
        job.seed,
        tuple(qualities.of(graph) for graph in validated),
        tuple(qualities.of(graph) for graph in followed(watched.by_training, nothing)),
        archive.num_evaluations,
        archive.num_consults,
        archive.spent.calls,
        took,
        dict(archive.notes),
    )
    best = max(validated, key=qualities.of)
    return run, Known(qualities.of(best), best)


def followed(noted: Sequence[Graph | None], first: Graph) -> list[Graph]:
    """Keep each graph until the next; before any, there is the sink alone, for which nobody needs a search."""
    found = []
    for graph in noted:
        first = graph or first
        found.append(first)
    return found


def run_all(jobs: Sequence[Job], processes: int) -> Iterable[tuple[Searched, Known]]:
    """Do the searches, several at a time."""
    if processes == 1:
        yield from map(searched, jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(searched, jobs, chunksize=4)


def best_of(case: str, found: Sequence[tuple[Searched, Known]], *, varied_tasks: bool) -> dict[int, float]:
    """Return the best known quality by seed: of anything ever found, or of what any method found for a seed with a task of its own."""
    if not varied_tasks:
        keep_best({case: max((known for _, known in found), key=lambda known: known.quality)})
        return dict.fromkeys((run.seed for run, _ in found), known_best(case).quality)
    best: dict[int, float] = {}
    for run, known in found:
        best[run.seed] = max(best.get(run.seed, 0.0), known.quality)
    return best


def flags_of() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--methods", default=",".join(COMPARED))
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--evaluations", type=int, default=30)
    parser.add_argument("--train", type=int, default=24)
    parser.add_argument("--validation", type=int, default=50)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--varied", action="store_true", help="give every seed a task of its own, with other parameters")
    parser.add_argument("--name", default="graph_search", help="of the files in benchmarks/results")
    return parser.parse_args()


def main() -> None:
    flags = flags_of()
    report: dict[str, Json] = {"settings": {name: value for name, value in vars(flags).items() if name not in {"processes", "name"}}}
    tables = [f"{flags.seeds} seeds, {flags.evaluations} evaluations of {flags.train} training questions at most, {flags.validation} validation questions.\n"]
    cpu_s = 0.0
    for case in flags.cases.split(","):
        methods = [method for method in flags.methods.split(",") if takes_part(method, case)]
        seeds = range(flags.first_seed, flags.first_seed + flags.seeds)
        jobs = [Job(case, method, seed, flags.evaluations, flags.train, flags.validation, flags.varied) for method in methods for seed in seeds]
        found = list(run_all(jobs, flags.processes))
        runs = [run for run, _ in found]
        best = best_of(case, found, varied_tasks=flags.varied)
        rows = summaries(runs, best)
        about = "tasks like it; best: of any method here" if flags.varied else f"best known {best[flags.first_seed]:.3f}"
        tables.append(table(f"{case}: {about}", rows))
        print(tables[-1], flush=True)
        cpu_s += sum(run.cpu_s for run in runs)
        report[case] = {"best": round(sum(best.values()) / len(best), 4), "methods": {row.method: described(row) for row in rows}, "curves": curves(runs)}
    tables.append(f"{cpu_s:.0f} s of CPU in searches.\n")
    print(tables[-1])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{flags.name}.json").write_text(json.dumps(report, separators=(",", ":")) + "\n", encoding="utf-8")
    (RESULTS / f"{flags.name}.md").write_text("\n".join(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
