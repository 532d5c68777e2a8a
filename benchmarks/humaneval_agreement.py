"""Grade recorded samples of HumanEval again, and list every one that grades otherwise: python -m benchmarks.humaneval_agreement SAMPLES... --problems FILE."""

import argparse
import asyncio
import gzip
import json
import random
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multigraft.rewards.unit_tests import UnitTests
from multigraft.sandbox.sandbox import Sandbox
from multigraft.types import Call, Candidate, Completion, Finish, Message, Prompt, Role, Score, Usage

LEAST_AGREEMENT = 0.995


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines, compressed or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def candidate_of(problem: dict[str, Any], sample: dict[str, Any]) -> Candidate:
    """Make a response of a recorded sample."""
    fields = {"code": problem["prompt"], "test": problem["test"], "entry_point": problem["entry_point"]}
    prompt = Prompt(problem["id"], (Message("user", problem["prompt"]),), name=problem["id"], fields=fields)
    call = Call(int(sample.get("sample_index", 0)), str(sample.get("model", "recorded")), (), Role.ANSWER, 0)
    return Candidate(prompt, call, Completion(sample["response"], Finish.STOP, Usage()))


async def graded(candidates: Sequence[Candidate], slots: int, wall_s: float) -> list[Score]:
    """Grade them all."""
    reward = UnitTests(sandbox=Sandbox(slots=slots), where="completion", wall_s=wall_s)
    await reward.start()
    try:
        return list(await reward.score(candidates))
    finally:
        await reward.close()


def cpu_s() -> float:
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", nargs="+", type=Path, help="JSON lines with prompt_id, response and correct")
    parser.add_argument("--problems", type=Path, required=True, help="the problems: id, prompt, entry_point and test")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--wall-s", type=float, default=6.0, help="of each check; the recorded labels were made with 6")
    arguments = parser.parse_args()
    problems = {row["id"]: row for row in rows_of(arguments.problems)}
    recorded = [row for path in arguments.samples for row in rows_of(path)]
    chosen = random.Random(arguments.seed).sample(recorded, min(arguments.count, len(recorded)))
    began_s, cpu_before_s = time.monotonic(), cpu_s()
    scores = asyncio.run(graded([candidate_of(problems[row["prompt_id"]], row) for row in chosen], arguments.slots, arguments.wall_s))
    wall_s, used_s = time.monotonic() - began_s, cpu_s() - cpu_before_s
    differ = [(row, score) for row, score in zip(chosen, scores, strict=True) if score.value != float(row["correct"])]
    for row, score in differ:
        print(f"{row['prompt_id']} sample {row['sample_index']}: recorded {'pass' if row['correct'] else 'fail'}, here {score.value}: {score.message}")
    agreement = 1 - len(differ) / len(chosen)
    passed = sum(score.value == 1.0 for score in scores)
    print(f"{len(chosen)} samples, {passed} pass; {len(differ)} differ; agreement {agreement:.2%} (at least {LEAST_AGREEMENT:.1%})")
    print(f"{len(chosen) / wall_s:.1f} checks a second, {1000 * used_s / len(chosen):.1f} ms of CPU time a check")
    return 0 if agreement >= LEAST_AGREEMENT else 1


if __name__ == "__main__":
    sys.exit(main())
