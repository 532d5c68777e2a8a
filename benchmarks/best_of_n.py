"""What multigraft costs on top of the calls themselves: `parallel` best-of-8 on 200 prompts with a remote reward, recorded durably.

Compared in the same run, turn by turn, with a lean client that does nothing but the calls. Client CPU is that of the whole process, and that of the job alone:
less a run with nothing left to do (imports, reading prompts, the summary), and for the lean client less its imports. Needs a server that answers at once:

    python benchmarks/best_of_n.py --server ./fakeserver [--reference "python lean_reference.py calls 256"] [--turns 5] [--json]

`--server` is a program that takes `-p PORT -l LATENCY_MS` and serves /v1/chat/completions and /v1/score. `--reference` is another client to compare with; it
finds the server's address in the environment variable FAKE.
"""

import argparse
import json
import os
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PROMPTS, SAMPLES, IN_FLIGHT = 200, 8, 256
RUN_FILE = """
[strategy]
name = "parallel"
n = {samples}
[sampling]
temperature = 1.0
max_tokens = 512
[[models]]
name = "fake"
kind = "openai"
together = {together}
endpoints = [{{ url = "{url}", max_in_flight = {chat} }}]
[[reward.parts]]
kind = "remote"
endpoints = [{{ url = "{url}", max_in_flight = {score} }}]
max_batch = 1
"""


class Cost(NamedTuple):
    """Of one process."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def measured(command: Sequence[str], environment: dict[str, str] | None = None, folder: Path | None = None) -> Cost:
    began = time.perf_counter()
    process = subprocess.Popen(command, env=os.environ | (environment or {}), cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{shlex.join(command)} ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss / 1024)


def served(program: str, latency_ms: int) -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([program, "-p", str(port), "-l", str(latency_ms)])
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process, f"http://127.0.0.1:{port}"
        time.sleep(0.05)
    sys.exit(f"{program} does not answer")


def compared(server: str, latency_ms: int, turns: int, reference: str | None, folder: Path) -> dict[str, list[Cost]]:
    process, url = served(server, latency_ms)
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": f"#{number} " + ("prompt text 1234 " * 130)[:2040]}) + "\n" for number in range(PROMPTS)))
    costs: dict[str, list[Cost]] = {}
    try:
        for _ in range(turns):
            for name, together in (("multigraft", "false"), ("multigraft, n in one request", "true")):
                run, run_file = folder / "run", folder / "run.toml"
                shutil.rmtree(run, ignore_errors=True)
                run_file.write_text(RUN_FILE.format(samples=SAMPLES, together=together, url=url, chat=IN_FLIGHT // 2, score=IN_FLIGHT // 2))
                command = [sys.executable, "-m", "multigraft", "synth", str(prompts), "-c", str(run_file), "-o", str(run), "-q", "--json"]
                costs.setdefault(name, []).append(measured(command))
                costs.setdefault(f"{name}: nothing to do", []).append(measured(command))
            lean = [sys.executable, str(HERE / "lean_client.py"), url, str(prompts), str(SAMPLES), str(IN_FLIGHT), str(folder / "lean.jsonl")]
            costs.setdefault("lean", []).append(measured(lean))
            costs.setdefault("lean: nothing to do", []).append(measured([sys.executable, "-c", "import aiohttp, orjson, uvloop, json, asyncio"]))
            if reference is not None:
                costs.setdefault("reference", []).append(measured(shlex.split(reference), {"FAKE": url}, folder))
    finally:
        process.kill()
        process.wait()
    return costs


def report(costs: dict[str, list[Cost]]) -> dict[str, float]:
    median = {name: Cost(*(statistics.median(column) for column in zip(*many, strict=True))) for name, many in costs.items()}
    for name, cost in median.items():
        print(f"  {name:<44} {cost.cpu_s:7.3f} CPU s {cost.wall_s:7.2f} s {cost.peak_mb:6.0f} MB")
    job = {name: median[name].cpu_s - median[f"{name}: nothing to do"].cpu_s for name in ("multigraft", "multigraft, n in one request", "lean")}
    facts = {
        "whole_ratio": median["multigraft"].cpu_s / median["lean"].cpu_s,
        "job_ratio": job["multigraft"] / job["lean"],
        "job_ratio_n": job["multigraft, n in one request"] / job["lean"],
        "wall_ratio": median["multigraft"].wall_s / median["lean"].wall_s,
        "job_ms_a_response": job["multigraft"] / (PROMPTS * SAMPLES) * 1000,
        "peak_mb": median["multigraft"].peak_mb,
    }
    print("  " + ", ".join(f"{name} {value:.2f}" for name, value in facts.items()))
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--reference")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {}
    for latency_ms in (0, 100):
        print(f"latency {latency_ms} ms, medians of {options.turns} turns:")
        with tempfile.TemporaryDirectory() as folder:
            found[f"{latency_ms} ms"] = report(compared(options.server, latency_ms, options.turns, options.reference, Path(folder)))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
