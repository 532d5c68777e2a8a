"""The rows of the fault matrix that concern whole runs, at their full numbers: kills, interruptions, full disks, failing scores, two owners, budgets.

`python benchmarks/fault_matrix_runs.py [--quick] [--rows C1,C4] [--json FILE]`, from the root of the repository. Row C6 mounts a small file system, which takes
root; elsewhere it limits the size of files.
"""

import argparse
import json
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.engine.rows_budgets import many_runs
from tests.runs.driver import Row
from tests.runs.rows_disk import row_disk
from tests.runs.rows_kills import TREES, row_resume, row_tree, row_wide
from tests.runs.rows_owners import row_changes, row_down, row_fetching, row_owners, row_same_moment
from tests.runs.rows_scores import row_scores
from tests.runs.rows_signals import row_cut_off, row_signals

Experiment = Callable[[Path], Row]


def row_budgets(count: int) -> Row:
    """Random runs through the real engine on a virtual clock."""
    seen = many_runs(count)
    ends = ", ".join(f"{reason} {number}" for reason, number in sorted(seen.ended.items()))
    return Row(
        f"Budgets: {count} random runs, up to 64 in flight",
        "no limit exceeded; none stopped with room for the next call",
        f"{seen.calls} calls, {seen.failed_calls} failed, {seen.judge_calls} of judges, {seen.turned_away} turned away; prompts ended: {ends}",
        tuple(seen.wrong[:5]),
    )


def experiments(*, quick: bool) -> Mapping[str, list[Experiment]]:
    """Every experiment, by row."""
    part = 10 if quick else 1
    return {
        "C1": [lambda folder: row_wide(folder, num_prompts=2500 // part, kills_at_random=100 // part, kills_in_traffic=100 // part)],
        "C2": [lambda folder: row_resume(folder, kills=50 // part)],
        "C3": [
            (lambda folder, tree=tree: row_tree(folder, tree, kills=50 // part, num_prompts=40 // (4 if quick else 1)))  # type: ignore[misc]
            for tree in TREES
        ],
        "C4": [lambda folder: row_signals(folder, each=20 // part), row_cut_off],
        "C6": [lambda folder: row_disk(folder, points=20 if not quick else 4)],
        "C18": [lambda folder: row_scores(folder, num_prompts=1000 // part), lambda folder: row_scores(folder, num_prompts=1000 // part, batch=8)],
        "C19": [lambda folder: row_owners(folder, rounds=20 // part), row_same_moment],
        "budgets": [lambda _: row_budgets(1000 // part)],
        "down": [row_down, lambda folder: row_down(folder, "random")],
        "changes": [row_changes],
        "fetching": [lambda folder: row_fetching(folder, "hf"), lambda folder: row_fetching(folder, "pypi")],
    }


def cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--rows", help="only these, separated by commas")
    parser.add_argument("--json", type=Path, help="write the results here as well")
    arguments = parser.parse_args()
    known = experiments(quick=arguments.quick)
    names = arguments.rows.split(",") if arguments.rows else list(known)
    if unknown := sorted(set(names) - set(known)):
        parser.error(f"no row is called {', '.join(unknown)}; there are {', '.join(known)}")
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    results = []
    for name in names:
        for experiment in known[name]:
            began_s, began_cpu_s = time.monotonic(), cpu_s()
            with tempfile.TemporaryDirectory(prefix="fault-matrix-") as folder:
                row = experiment(Path(folder) / "row")
            wall_s, spent_cpu_s = time.monotonic() - began_s, cpu_s() - began_cpu_s
            print(f"{'FAIL' if row.failed else 'ok  '} {row.name}\n     hold: {row.hold}\n     seen: {row.seen}")
            print(f"     took: {wall_s:.0f} s, {spent_cpu_s:.0f} CPU s")
            for failure in row.failed:
                print(f"     NOT HELD: {failure}")
            sys.stdout.flush()
            results.append({"row": name, "ok": not row.failed, "wall_s": round(wall_s, 1), "cpu_s": round(spent_cpu_s, 1), **asdict(row)})
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    held = sum(bool(result["ok"]) for result in results)
    print(f"\n{held} of {len(results)} held")
    return 0 if held == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
