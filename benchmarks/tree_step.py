"""CPU time of one step of the tree search, that is one `ask` and one `tell`, in trees of 100, 1,000 and 10,000 responses.

The settings give trees of every size the same shape, so that only the size differs. Measured is the last third of a search, where the tree is largest and
deepest; the table has the median of several searches. Making up rewards and outcomes is not counted.
"""

import argparse
import json
import statistics
import time
from collections import deque
from dataclasses import asdict, dataclass, replace

from multigraft.knowledge import REWARD, Knowledge
from multigraft.randomness import Draws
from multigraft.strategies.base import Signal
from multigraft.strategies.toa import Toa
from multigraft.types import Outcome

NUM_MODELS = 4
SIZES = (100, 1_000, 10_000)
SEARCHES = {
    "published": Toa(max_parallel=1, tau=0.1, alpha=0.01),
    "automatic scale": Toa(max_parallel=1),
    "exploring, 3 in play": Toa(max_parallel=1, tau=0.1, alpha=0.3, topk=3),
    "32 calls in flight": Toa(max_parallel=32, tau=0.1, alpha=0.01),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One search at one size."""

    search: str
    responses: int
    nodes: int
    """Nodes kept, arms and responses, when the search ended."""
    layers: int
    """Layers of responses, when the search ended."""
    step_us: float
    """Microseconds of CPU a step, median of the runs."""


def measure(strategy: Toa, luck: int) -> tuple[float, int, int]:
    """Search once; return microseconds a step, and the nodes and layers of the tree."""
    draws = Draws("tree step", luck)
    outcomes = [Outcome(0.05 + 0.2 * draws.uniform()) for _ in range(strategy.num_responses)]
    knowledge = Knowledge()
    for outcome in outcomes:
        knowledge.add(REWARD, outcome.reward or 0.0)
    state = strategy.init("prompt", [f"model {index}" for index in range(NUM_MODELS)], 0)
    start = 2 * len(outcomes) // 3
    start_ns = 0
    in_flight: deque[int] = deque()
    for step, outcome in enumerate(outcomes):
        if step == start:
            start_ns = time.process_time_ns()
        while not isinstance(call := strategy.ask(state), Signal):
            in_flight.append(call.call_id)
            if len(in_flight) == strategy.max_parallel:
                break
        strategy.tell(state, in_flight.popleft(), outcome, knowledge)
    step_us = (time.process_time_ns() - start_ns) / (len(outcomes) - start) / 1e3
    return step_us, len(state.tree.nodes), len(state.tree.responses_in_layer) - 1


def row_of(name: str, num_responses: int, runs: int) -> Row:
    """Measure one search several times."""
    strategy = replace(SEARCHES[name], num_responses=num_responses)
    measured = [measure(strategy, luck) for luck in range(runs)]
    _, nodes, layers = measured[0]
    return Row(name, num_responses, nodes, layers, statistics.median(step_us for step_us, _, _ in measured))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    rows = [row_of(name, size, arguments.runs) for name in SEARCHES for size in SIZES]
    if arguments.json:
        print(json.dumps({"models": NUM_MODELS, "runs": arguments.runs, "rows": [asdict(row) for row in rows]}, indent=1))
        return
    print(f"microseconds of CPU a step (one ask and one tell), K = {NUM_MODELS}, median of {arguments.runs} runs; in brackets the layers of the tree")
    print(f"{'search':24}" + "".join(f"{size:>12,}" for size in SIZES))
    for name in SEARCHES:
        print(f"{name:24}" + "".join(f"{row.step_us:8.1f} ({row.layers})" for row in rows if row.search == name))


if __name__ == "__main__":
    main()
