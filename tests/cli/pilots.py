"""Pilots over scripted models, and searches that share their folders; used by tests."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.reports.command import Done, multigraft

MODELS = """
[[models]]
name = "small"
kind = "scripted"
answers = ["It is 1.", "It is 2.", "It is 3."]
shape = { parameters = 1e9, layers = 16, width = 2048 }
[[models]]
name = "large"
kind = "scripted"
answers = ["It is 2.", "It is 3.", "It is 2 after all."]
shape = { parameters = 3e9, layers = 28, width = 3072 }
[[reward.parts]]
kind = "rules"
gate = false
rules = [{ rule = "exact_number" }]
"""
SMALL_PILOT = ("--copies", "1,2", "--widths", "1,2", "--depths", "1,2", "--graphs-per-mix", "1")


def laid_out(folder: Path) -> Path:
    """Write 18 questions and a run file."""
    rows = [{"prompt": f"Question {number}: what is it?", "reference": str(1 + number % 3)} for number in range(18)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "run.toml").write_text(MODELS)
    return folder


def pilot(folder: Path, *more: str, output: str = "found", settings: Sequence[str] = SMALL_PILOT, prelude: str = "") -> Done:
    return multigraft(folder, "pilot", "questions.jsonl", "-c", "run.toml", "-o", output, *settings, *more, prelude=prelude)


def search(folder: Path, *more: str, output: str = "found") -> Done:
    fixed = ("--method", "random", "--evaluations", "4", "-o", output, "-q")
    return multigraft(folder, "optimize", "questions.jsonl", "-c", "run.toml", *fixed, *more)


def number_of(folder: Path, statement: str, output: str = "found") -> Any:
    with closing(sqlite3.connect(folder / output / "search.db")) as database:
        return database.execute(statement).fetchone()[0]


def found_in(folder: Path, output: str = "found") -> Any:
    return json.loads((folder / output / "pilot.json").read_text())
