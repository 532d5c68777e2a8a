"""A pilot and two searches with real embedded models: `python -m benchmarks.graph_real_models FOLDER`.

Fetches two models once (1.5 GB) and takes about an hour on two cores. It can be stopped at any time; the same command goes on, and nothing is computed
twice: the second search starts with all that the pilot and the first search have paid for. Writes benchmarks/results/graph_real_models.json and .md.
"""

import argparse
import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

RUN_FILE: Final = Path(__file__).with_suffix(".toml")
RESULTS: Final = Path(__file__).parent / "results"
PILOT: Final = (
    "-n 30 --parts singles,replicate,mix,width,depth --copies 1,2,3 --widths 1,2,4 --depths 1,2,3 --mix-nodes 4 --graphs-per-mix 2 --sink best".split()  # noqa: SIM905 - as it is typed
)
EVALUATIONS: Final = ("--evaluations", "12", "--patience", "8")
SEARCHES: Final = (("agent_reinforce", ("-s", "style=compact")), ("surrogate", ()))
"""Both are given the same number of graphs, questions and seeds."""


def multigraft(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "multigraft", *arguments], check=True)


def with_what_is_paid(source: Path, target: Path) -> None:
    """Begin a search with the answers of another one."""
    if (target / "search.db").is_file():
        return
    target.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(source / "search.db") as known, sqlite3.connect(target / "search.db") as copy:
        known.backup(copy)
    (target / "pilot.json").write_bytes((source / "pilot.json").read_bytes())


def written(score: dict[str, Any]) -> str:
    return f"{score['mean']:.1%} ({score['low']:.1%} to {score['high']:.1%})"


def lines_of(method: str, report: dict[str, Any]) -> list[str]:
    """Say what a search found, and how it does on the questions that it never saw."""
    lines = [f"\n### {method}\n", f"On {report['estimate']['questions']} validation questions {written(report['estimate'])}.\n"]
    lines += ["| graph | test score, 95% interval | units | best graph less this one, paired |", "| --- | --- | --- | --- |"]
    for row in report["test"]:
        less, cost = row["best_less_this"], row["cost"]
        paired = "" if less is None else f"{less['difference']:+.1%} ({less['low']:+.1%} to {less['high']:+.1%}), {less['decided']}"
        lines.append(f"| {row['name']} | {written(row['score'])} | {cost['units']:.3g} | {paired} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of the pilot and the searches")
    folder: Path = parser.parse_args(arguments).folder
    first = folder / SEARCHES[0][0]
    multigraft("pilot", "-c", str(RUN_FILE), *PILOT, "-o", str(first))
    reports = {}
    for method, settings in SEARCHES:
        place = folder / method
        with_what_is_paid(first, place)
        multigraft("optimize", "-c", str(RUN_FILE), "--method", method, *settings, *EVALUATIONS, "-o", str(place))
        reports[method] = json.loads((place / "report.json").read_text("utf-8"))
    pilot = json.loads((first / "pilot.json").read_text("utf-8"))
    (RESULTS / "graph_real_models.json").write_text(json.dumps({"pilot": pilot, "searches": reports}, separators=(",", ":")) + "\n", "utf-8")
    singles = [f"- {single['model']} alone: {written(single)} at {single['units']:.3g} units" for single in pilot["singles"]]
    lines = [f"Pilot, {pilot['singles'][0]['questions']} training questions:\n", *singles]
    lines += [line for method, report in reports.items() for line in lines_of(method, report)]
    (RESULTS / "graph_real_models.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
