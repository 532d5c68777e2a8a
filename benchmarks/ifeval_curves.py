"""Does a judge's reward help what it does not see? Real IFEval prompts that short answers can satisfy, small embedded models, strict accuracy from outside.

A pool of embedded models answers under a tree search that a small judge guides. The strict checkers of IFEval (arXiv 2311.07911) score every response apart
from the search; a third scorer is added to the finished run. Both curves are printed against the number of responses.

    python -m benchmarks.ifeval_curves ITEMS [--prompts 30] [--responses 8] [--output FOLDER]

ITEMS are IFEval's prompts as JSONL, such as tests/data/ifeval/items.jsonl. About half an hour on two cores with the defaults.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

RUN_FILE = """
[strategy]
name = "toa"
n = {responses}
[sampling]
max_tokens = 64
[[models]]
name = "smollm2-135m"
[[models]]
name = "gemma3-270m"
[[models]]
name = "qwen2.5-coder-0.5b"
answers_too = true
[[reward.parts]]
kind = "judge"
model = "qwen2.5-coder-0.5b"
"""
NEVER_SHORT = frozenset(
    {
        "combination:repeat_prompt",
        "combination:two_responses",
        "detectable_format:multiple_sections",
        "length_constraints:nth_paragraph_first_word",
        "language:response_language",
    }
)
MOST = {
    "num_words": 35,
    "num_sentences": 3,
    "num_paragraphs": 2,
    "num_bullets": 3,
    "num_highlights": 3,
    "num_placeholders": 3,
    "frequency": 4,
    "let_frequency": 6,
}
"""Demands that 64 tokens have room for; each is the name of an argument and the most it may ask for."""


def is_short(item: dict[str, Any]) -> bool:
    """Whether 64 tokens can satisfy every constraint of an item."""
    for kind, given in zip(item["instruction_id_list"], item["kwargs"], strict=True):
        at_least = given.get("relation", "at least") == "at least" and given.get("let_relation", "at least") == "at least"
        if kind in NEVER_SHORT or (at_least and any(given.get(name) is not None and given[name] > most for name, most in MOST.items())):
            return False
        if len(given.get("end_phrase") or "") > 60:
            return False
    return len(item["prompt"]) < 600


def multigraft(*arguments: object) -> str:
    command = [sys.executable, "-m", "multigraft", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", type=Path)
    parser.add_argument("--prompts", type=int, default=30)
    parser.add_argument("--responses", type=int, default=8)
    parser.add_argument("--output", type=Path, help="folder for the run; default: a temporary one")
    chosen = parser.parse_args()
    lines = [line for line in chosen.items.read_text("utf-8").split("\n") if line]
    every = [line for line in lines if is_short(json.loads(line))]
    short = every[:: max(1, len(every) // chosen.prompts)][: chosen.prompts]
    print(f"{len(short)} of the {len(every)} items, of {len(lines)}, that short answers can satisfy; evenly spaced")
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.output or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        items, run_file, run = folder / "items.jsonl", folder / "run.toml", folder / "run"
        items.write_text("".join(f"{line}\n" for line in short), "utf-8")
        run_file.write_text(RUN_FILE.format(responses=chosen.responses), "utf-8")
        print(multigraft("synth", items, "--task", "ifeval", "-c", run_file, "-o", run))
        print(multigraft("score", run, "--with", "rules", "--name", "partial-credit"))
        print(multigraft("curve", run))


if __name__ == "__main__":
    main()
