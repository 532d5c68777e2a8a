"""Grades recorded answers of language models and compares with the verdicts recorded beside them.

    python -m benchmarks.grading_agreement FOLDER [--disagreements FILE]

FOLDER holds `inputs/gsm8k_test.jsonl`, `inputs/mmlu_redux.jsonl`, `replay/mmlu_pro_1000_prompts.jsonl` and the four recorded files below `replay/`, one JSON
object a line: `prompt_id`, `model`, `response`, `correct`, and `answer` where one was extracted.
"""

import argparse
import gzip
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypedDict

from multigraft.rewards.rules.choice import Choice
from multigraft.rewards.rules.reference import ExactNumber
from multigraft.rewards.rules.reward import Rules
from multigraft.rewards.rules.rule import Rule
from multigraft.types import Message, Prompt


class Row(TypedDict, total=False):
    """A recorded answer."""

    prompt_id: str
    model: str
    response: str
    correct: bool
    answer: str | None


class Item(TypedDict, total=False):
    """A question."""

    id: str
    prompt_id: str
    prompt: str
    reference: str | int
    choices: list[str]


class Recording(NamedTuple):
    """One recorded file and how it is graded."""

    name: str
    inputs: str
    rule: Rule
    bar: float
    """The least agreement wanted, in [0, 1]."""


class Disagreement(NamedTuple):
    """An answer that is graded otherwise than recorded."""

    cause: str
    row: Row
    ours: str | None
    reference: str


RECORDINGS = (
    Recording("gsm8k_zeroeval", "inputs/gsm8k_test.jsonl", ExactNumber(), 0.995),
    Recording("gsm8k_openai4", "inputs/gsm8k_test.jsonl", ExactNumber(), 0.995),
    # The authors of MMLU-Pro take the first "answer is".
    Recording("mmlu_pro_1000", "replay/mmlu_pro_1000_prompts.jsonl", Choice(several="first"), 0.995),
    Recording("mmlu_helm10", "inputs/mmlu_redux.jsonl", Choice(), 0.995),
)


def main() -> None:
    """Print the agreement of every file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--disagreements", type=Path, help="write all of them into this file, one JSON object a line")
    arguments = parser.parse_args()
    lines: list[str] = []
    for recording in RECORDINGS:
        found = graded(arguments.folder, recording)
        lines += [json.dumps({"file": recording.name, "cause": one.cause, "ours": one.ours, "reference": one.reference, **one.row}) for one in found]
    if arguments.disagreements is not None:
        arguments.disagreements.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def graded(folder: Path, recording: Recording) -> list[Disagreement]:
    """Grade one file, print what came out, and return the disagreements."""
    prompts = dict(_prompts(folder / recording.inputs))
    reward = Rules(rules=[recording.rule], gate=None)
    rows, wrong = Counter[str](), Counter[str]()
    found: list[Disagreement] = []
    began_s = time.process_time()
    for row in _rows(folder / "replay" / f"{recording.name}.jsonl.gz"):
        prompt = prompts[row["prompt_id"]]
        score = reward.score_text(prompt, row["response"])
        rows[row["model"]] += 1
        if (score.value == 1.0) is not row["correct"]:
            wrong[row["model"]] += 1
            found.append(Disagreement(_cause(row, score.answer, correct=score.value == 1.0), row, score.answer, prompt.reference or ""))
    _print(recording, rows, wrong, found, time.process_time() - began_s)
    return found


def _print(recording: Recording, rows: Mapping[str, int], wrong: Mapping[str, int], found: list[Disagreement], cpu_s: float) -> None:
    total = sum(rows.values())
    agreement = 1 - len(found) / total
    print(
        f"{recording.name}: {total - len(found)} of {total} as recorded, {agreement:.4%} ({'holds' if agreement >= recording.bar else 'MISSES'} the bar of",
        end=" ",
    )
    print(f"{recording.bar:.1%}); {cpu_s:.1f} s of processor time")
    for model in sorted(wrong, key=lambda name: -wrong[name] / rows[name])[:3]:
        print(f"  {model}: {1 - wrong[model] / rows[model]:.2%} of {rows[model]}")
    causes = defaultdict[str, list[Disagreement]](list)
    for one in found:
        causes[one.cause].append(one)
    for cause, members in sorted(causes.items(), key=lambda pair: -len(pair[1])):
        example = members[0]
        print(f"  {len(members)} x {cause}; such as {example.row['model']} on {example.row['prompt_id']}: {example.row['response'].strip()[-90:]!r}")


CAUSES: tuple[tuple[str, Callable[[Row, str | None, bool], bool]], ...] = (
    ("the record read no answer, and one is written", lambda row, ours, _: row.get("answer") is None and ours is not None),
    ("the record has an answer, and none is written", lambda row, ours, _: row.get("answer") is not None and ours is None),
    ("the same answer, judged by another key or rounded", lambda row, ours, _: row.get("answer") == ours),
    ("two answers are written, and the right one was read here", lambda _, __, correct: correct),
    ("two answers are written, and the right one was read there", lambda _, __, ___: True),
)
"""What a disagreement is put down to: the first that fits."""


def _cause(row: Row, ours: str | None, *, correct: bool) -> str:
    return next(cause for cause, fits in CAUSES if fits(row, ours, correct))


def _prompts(path: Path) -> Iterator[tuple[str, Prompt]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            item: Item = json.loads(line)
            name = item.get("prompt_id") or item["id"]
            yield name, Prompt(name, (Message("user", item["prompt"]),), reference=str(item["reference"]), fields={"choices": [*item.get("choices", [])]})


def _rows(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row: Row = json.loads(line)
            yield row


if __name__ == "__main__":
    main()
