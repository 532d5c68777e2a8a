"""How much sooner the tree search ends with 32 calls in flight than with one at a time: one prompt, N = 64, four models, a real server of 200 ms.

The whole command is run, records and all, against the fake server of the tests; time is what the run itself says it worked.

    python -m benchmarks.parallel_calls [--turns 3] [--json OUT]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.servers.launch import fake_server

RUN_FILE = """
[strategy]
name = "toa"
n = 64
max_parallel = {in_flight}
[sampling]
max_tokens = 64
[[reward.parts]]
kind = "scripted"
"""
MODEL = """
[[models]]
name = "m{number}"
kind = "openai"
endpoints = [{{ url = "{url}/v1", max_in_flight = 64 }}]
"""


def seconds(url: str, in_flight: int, folder: Path) -> float:
    prompts, run_file, run = folder / "prompts.jsonl", folder / "run.toml", folder / f"run-{in_flight}"
    prompts.write_text('{"prompt": "Describe a harbour at dawn."}\n')
    run_file.write_text(RUN_FILE.format(in_flight=in_flight) + "".join(MODEL.format(number=number, url=url) for number in range(4)))
    command = [sys.executable, "-m", "multigraft", "synth", str(prompts), "-c", str(run_file), "-o", str(run), "-q", "--json"]
    totals = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert totals["responses"] == 64
    return float(totals["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    one_s, many_s = [], []
    with fake_server(latency_s=0.2) as server:
        for _ in range(options.turns):
            with tempfile.TemporaryDirectory() as folder:
                one_s.append(seconds(server.url, 1, Path(folder)))
                many_s.append(seconds(server.url, 32, Path(folder)))
    ratios = [one / many for one, many in zip(one_s, many_s, strict=True)]
    print(f"one at a time: {statistics.median(one_s):.2f} s; 32 in flight: {statistics.median(many_s):.2f} s")
    print(f"sooner: median {statistics.median(ratios):.1f}x, least {min(ratios):.1f}x over {options.turns} turns")
    if options.json:
        options.json.write_text(json.dumps({"one_s": one_s, "many_s": many_s, "ratios": ratios}, indent=1))


if __name__ == "__main__":
    main()
