"""How near the wall clock of a graph run comes to what the graph allows, against a real HTTP server.

Free places: every call takes 200 ms, and a graph should take 200 ms for each of its levels. Few places: calls take a start and a time for each token read
and written, the endpoint works on k of them at a time, and a graph should take what a list schedule (`graphs.latency.slots_s`) of the same calls takes. How
well that could be foretold, from mean lengths of texts and seconds fitted on a few logged calls, is told beside.

Prompts go one after the other, each with its record made durable as in any run; the first, which opens the connections, is left out. The clock stops when the
sink's response is told. Intervals are bootstraps over prompts.

    python -m benchmarks.graph_execution [--prompts 12] [--json OUT]
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.servers.launch import Running, fake_server

from multigraft.analysis.intervals import bootstrap_mean
from multigraft.budget.cost import ModelCost
from multigraft.build.run import opened, plan_of
from multigraft.cli.going import in_a_loop
from multigraft.config import checked
from multigraft.engine.campaign import Tally
from multigraft.engine.replay import Resumption
from multigraft.engine.step import Stepped
from multigraft.graphs.blocks import grid, moa
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.graphs.graph import SINK, Graph, Node
from multigraft.graphs.graph_file import text_of
from multigraft.graphs.latency import LatencyModel, fitted, slots_s, span_s
from multigraft.records.folder import write_settings
from multigraft.records.reader import PromptRecord, RunRecord
from multigraft.strategies.graph import Collaboration
from multigraft.tasks.prompts import load_prompts
from multigraft.types import Completion, Prompt, Role, Score

FIXED_S = 0.2
START_S, READ_S, WRITTEN_S = 0.05, 0.0003, 0.01
SHAPES: dict[str, Graph] = {
    "grid (1, 8)": grid(1, 8, ["m"], Node(SINK, "m")),
    "grid (8, 1)": grid(8, 1, ["m"], Node(SINK, "m")),
    "grid (3, 4)": grid(3, 4, ["m"], Node(SINK, "m")),
    "moa 3 x 3": moa([["m"] * 3] * 3, Node(SINK, "m")),
}
FREE = 64


@dataclass(frozen=True)
class Timed:
    """One prompt."""

    wall_s: float
    times: dict[str, float]
    """Seconds of each node's call, from sending to its last byte."""


@dataclass(frozen=True)
class Row:
    """A graph on some places."""

    graph: str
    slots: int
    wall_s: float
    """Mean over prompts."""
    expected_s: float
    ratio: float
    low: float
    high: float
    foretold_s: float | None = None


class Watch(Tally):
    """When the latest response was told: of the last node, that is when the answer is there."""

    told_s = 0.0

    def notice(self, step: Stepped, score: Score | None) -> None:
        """Look at the clock."""
        super().notice(step, score)
        self.told_s = time.monotonic()


def run(servers: Mapping[str, Running], graph: Graph, prompts: Sequence[Prompt], folder: Path, slots: int = FREE) -> list[tuple[Timed, PromptRecord]]:
    """Run a graph over prompts, one after the other; the first is left out. Each model has a server of its own."""
    settings = {
        "strategy": {"name": "graph", "graph": text_of(graph)},
        "models": [{"name": name, "kind": "openai", "endpoints": [{"url": f"{server.url}/v1", "max_in_flight": slots}]} for name, server in servers.items()],
        "sampling": {"max_tokens": 64},
        "reward": {"parts": [{"kind": "final_answer"}]},
    }
    run_file = checked(settings)
    write_settings(folder, {"seed": 0})
    plan = plan_of(run_file)
    assert isinstance(plan.strategy, Collaboration)
    walls: dict[str, float] = {}

    async def work() -> None:
        async with opened(plan, folder) as ready:
            watch = ready.campaign.tally = Watch()
            for prompt in prompts:
                began = time.monotonic()
                await ready.campaign.run([prompt])
                walls[prompt.prompt_id] = watch.told_s - began
                ready.campaign.resumption = Resumption(session=ready.campaign.resumption.session, num_prompts=len(walls))

    in_a_loop(work())
    found = []
    with RunRecord(folder) as record:
        for prompt_record in record.prompts():
            nodes = plan.strategy.nodes_by_seed(0, prompt_record.prompt.prompt_id)
            times = {nodes[call.call.seed][0]: call.sample.latency_s for call in prompt_record.calls.values()}
            found.append((Timed(walls[prompt_record.prompt.prompt_id], times), prompt_record))
    return found[1:]


def prompts_of(count: int) -> list[Prompt]:
    """Make prompts, and one more for the start."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "prompts.jsonl"
        path.write_text("".join(json.dumps({"prompt": f"Describe harbour number {number} at dawn."}) + "\n" for number in range(1 + count)))
        return list(load_prompts(path, None, lambda _constraints: None, print))


def row(name: str, slots: int, walls: Sequence[float], expected: Sequence[float], foretold_s: float | None = None) -> Row:
    ratios = [wall / wanted for wall, wanted in zip(walls, expected, strict=True)]
    estimate = bootstrap_mean(ratios)
    assert estimate is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return Row(name, slots, statistics.fmean(walls), statistics.fmean(expected), estimate.value, estimate.low, estimate.high, foretold_s)


def free_places(prompts: Sequence[Prompt]) -> list[Row]:
    """Every call takes as long; nothing waits for a place."""
    rows = []
    with fake_server(latency_s=FIXED_S) as server:
        for name, graph in SHAPES.items():
            with tempfile.TemporaryDirectory() as folder:
                found = run({"m": server}, graph, prompts, Path(folder))
            levels = 1 + max(graph.depth_of().values())
            rows.append(row(name, FREE, [timed.wall_s for timed, _ in found], [levels * FIXED_S] * len(found)))
    return rows


def measured(found: Sequence[tuple[Timed, PromptRecord]]) -> tuple[Workload, LatencyModel]:
    """What a few logged calls tell of lengths and seconds."""
    samples, answers = [], []
    for _, record in found:
        for call in record.calls.values():
            assert isinstance(call.sample, Completion)
            usage = call.sample.usage
            samples.append((float(usage.prompt_tokens), float(usage.completion_tokens), call.sample.latency_s))
            if call.call.role is Role.ANSWER:
                answers.append((usage.prompt_tokens, usage.completion_tokens))
    means = [statistics.fmean(column) for column in zip(*answers, strict=True)]
    return Workload(means[0], means[1]), fitted(samples)


def few_places(prompts: Sequence[Prompt], slots: Sequence[int]) -> list[Row]:
    """Calls take a start and a time for each token; k places."""
    rows = []
    with fake_server(latency_s=START_S, per_prompt_token_s=READ_S, per_completion_token_s=WRITTEN_S) as server:
        with tempfile.TemporaryDirectory() as folder:
            workload, latency = measured(run({"m": server}, SHAPES["grid (3, 4)"], prompts[:4], Path(folder)))
        for name, graph in SHAPES.items():
            for places in slots:
                with tempfile.TemporaryDirectory() as folder:
                    found = run({"m": server}, graph, prompts, Path(folder), places)
                walls = [timed.wall_s for timed, _ in found]
                expected = [span_s(graph, timed.times) if places == FREE else slots_s(graph, timed.times, places) for timed, _ in found]
                costs = KnownCosts({"m": ModelCost()}, workload, latency={"m": latency}, max_parallel=None if places == FREE else places)
                rows.append(row(name, places, walls, expected, costs.of(graph).latency_s))
    return rows


def print_rows(title: str, rows: Sequence[Row]) -> None:
    print(f"\n{title}\n")
    print("| graph | places | wall, s | allowed, s | wall / allowed | 95% interval | foretold, s | wall / foretold |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for found in rows:
        places = "free" if found.slots == FREE else str(found.slots)
        foretold = "|  |  |" if found.foretold_s is None else f"| {found.foretold_s:.3f} | {found.wall_s / found.foretold_s:.3f} |"
        print(f"| {found.graph} | {places} | {found.wall_s:.3f} | {found.expected_s:.3f} | {found.ratio:.3f} | {found.low:.3f} to {found.high:.3f} {foretold}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--free-only", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    prompts = prompts_of(options.prompts)
    free = free_places(prompts)
    print_rows(f"Free places, {FIXED_S:.1f} s a call; allowed: {FIXED_S:.1f} s for each level", free)
    few = [] if options.free_only else few_places(prompts, (FREE, 4, 2, 1))
    print_rows("Calls of 0.05 s + 0.3 ms a token read + 10 ms a token written; allowed: the schedule of the calls as they were logged", few)
    if options.json:
        options.json.write_text(json.dumps({"free": [asdict(found) for found in free], "few": [asdict(found) for found in few]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
