"""A graph search killed at 20 random points: nothing that was paid is paid again, and it finds what it finds undisturbed.

`python benchmarks/optimize_kills.py [--kills 20] [--methods random,agent_reinforce] [--json FILE]`, from the root of the repository.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.optimize.rows_kills import row_search_kills


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--methods", default="random,agent_reinforce")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for method in arguments.methods.split(","):
        with tempfile.TemporaryDirectory() as folder:
            row = row_search_kills(Path(folder), method, kills=arguments.kills, latency_s=0.15)
        rows.append(row)
        print(f"{row.name}: {'holds' if not row.failed else 'FAILS'}\n  {row.seen}")
        for failed in row.failed:
            print(f"  does not hold: {failed}")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    sys.exit(any(row.failed for row in rows))


if __name__ == "__main__":
    main()
