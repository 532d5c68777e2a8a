"""From the log of a run on disk to datasets, in bounded memory."""

import subprocess
import sys
from pathlib import Path

import polars as pl

from multigraft.budget.amount import Amount
from multigraft.datasets.card import write_card
from multigraft.datasets.everything import AllResponses
from multigraft.datasets.export import Target, export
from multigraft.datasets.preference import PreferencePairs
from multigraft.datasets.sft import BestResponses
from multigraft.records.folder import write_settings
from multigraft.records.log import RunLog
from multigraft.records.reader import RunRecord
from multigraft.records.rows import EndRow, OutcomeRow, PromptRow, ResponseRow, ScoreRow, SentRow
from multigraft.types import Call, Completion, Finish, Json, Message, Prompt, Role, Score, Usage


async def write_run(folder: Path) -> None:
    write_settings(folder, {"strategy": "toa", "seed": 3, "models": {"m1": {"licence": "MIT"}}})
    log = RunLog(folder)
    for number in range(3):
        log.append(PromptRow(number, Prompt(f"{number:032x}-0", (Message("user", f"Q{number}\u2028"),), name=f"n{number}", fields={"topic": [number]})))
        for call_id in range(3):
            call = Call(call_id, f"m{call_id % 2 + 1}", (call_id - 1,) if call_id else (), Role.REFINE if call_id else Role.ANSWER, seed=1)
            log.append(SentRow(number, call, Amount(1.0, 10, 0.1, 1)))
            if (number, call_id) == (2, 2):
                break
            log.append(ResponseRow(number, call, "d", Completion(f"A{call_id}\x00", Finish.STOP, Usage(5, 5)), Amount(1.0, 10, 0.1, 1)))
            log.append(ScoreRow(number, call_id, "rules", "1", Score(call_id / 2)))
            if call_id == 1:
                log.append(ScoreRow(number, call_id, "steps", "2", Score(0.25, answer="42", details={"step 1": 0.5, "step 2": 0.25})))
            log.append(OutcomeRow(number, call_id, call_id / 2, None, call_id + 1))
        if number < 2:
            log.append(EndRow(number, "done"))
    await log.durable()
    log.close()


async def test_a_recorded_run_becomes_datasets(tmp_path: Path) -> None:
    await write_run(tmp_path / "run")
    targets = [
        Target(BestResponses(), tmp_path / "sft.jsonl"),
        Target(PreferencePairs(), tmp_path / "dpo.parquet"),
        Target(AllResponses(guiding=frozenset({"rules"})), tmp_path / "all.parquet"),
        Target(AllResponses(guiding=frozenset({"rules"})), tmp_path / "all.jsonl"),
    ]

    with RunRecord(tmp_path / "run") as run:
        found = export(run.prompts(), targets)
        cards = [write_card(dataset, run.settings) for dataset in found]

    sft, dpo, everything = pl.read_ndjson(targets[0].path), pl.read_parquet(targets[1].path), pl.read_parquet(targets[2].path)
    assert sft.select("name", "model", "reward", "path", "depth").rows() == [
        ("n0", "m1", 1.0, "m1 -> m2 -> m1", 2),
        ("n1", "m1", 1.0, "m1 -> m2 -> m1", 2),
        ("n2", "m2", 0.5, "m1 -> m2", 1),
    ]
    assert dpo["chosen"].to_list()[2] == [{"role": "assistant", "content": "A1\x00"}]
    assert dpo["prompt"].to_list()[2] == [{"role": "user", "content": "Q2\u2028"}]
    assert dpo["topic"].to_list() == [[0], [1], [2]]
    nothing: dict[str, Json] = {"reason": None, "answer": None, "details": [], "truncated": False}
    steps = [{"name": "step 1", "value": 0.5}, {"name": "step 2", "value": 0.25}]
    assert everything["scores"].to_list()[1] == [
        nothing | {"scorer": "rules", "version": "1", "value": 0.5, "external": False},
        nothing | {"scorer": "steps", "version": "2", "value": 0.25, "answer": "42", "details": steps, "external": True},
    ]
    assert pl.read_ndjson(targets[3].path, infer_schema_length=None)["scores"].to_list() == everything["scores"].to_list()
    assert (everything.height, found[0].statistics.unfinished) == (8, 1)
    assert all("strategy toa, seed 3" in card.read_text() for card in cards)


MEASURE = """
import resource, sys
from pathlib import Path
from multigraft.budget.amount import Amount
from multigraft.datasets.everything import AllResponses
from multigraft.datasets.export import Target, export
from multigraft.records.reader import CallRecord, PromptRecord
from multigraft.types import Call, Completion, Finish, Json, Message, Prompt, Role, Usage

def record(number):
    calls = {}
    for index in range(16):
        text = f"{number} {index} " * 500
        calls[index] = CallRecord(index, Call(index, "m", (), Role.ANSWER, 0), Completion(text, Finish.STOP, Usage()), Amount(), (), "", 1.0)
    return PromptRecord(number, Prompt(f"{number}-0", (Message("user", "?"),)), calls, "done")

for prompts in (100, 1000):
    export(map(record, range(prompts)), [Target(AllResponses(), Path(sys.argv[1]) / name) for name in ("a.jsonl", "a.parquet")])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    measured = subprocess.run([sys.executable, "-c", MEASURE, str(tmp_path)], capture_output=True, check=True, text=True)

    few, many = (int(line) for line in measured.stdout.split())
    assert (tmp_path / "a.jsonl").stat().st_size > 50e6
    assert many - few < 25e6
