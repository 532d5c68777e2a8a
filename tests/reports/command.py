"""The command line as a process of its own, and what is seen of it from outside."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multigraft.records.reader import PromptRecord, RunRecord

_PRELUDE = "import atexit, re; from pathlib import Path; from multigraft.cli.main import main; "
_PEAK = "atexit.register(lambda: Path({place!r}).write_text(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])); "


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str
    peak_mb: float
    """The most memory it held at once."""


def multigraft(folder: Path, *arguments: str | Path, prelude: str = "", environment: Mapping[str, str] | None = None) -> Done:
    """Run a command in a folder."""
    place = folder / "peak_kb"
    code = f"{_PRELUDE}{_PEAK.format(place=str(place))}{prelude}main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        cwd=folder,
        check=False,
        env={**os.environ, "COLUMNS": "100", **(environment or {})},
    )
    return Done(done.returncode, done.stdout, done.stderr, int(place.read_text()) / 1024 if place.is_file() else 0.0)


def laid_out(folder: Path, run_file: str, *prompts: str | Mapping[str, Any]) -> Path:
    """Write prompts and a run file.

    Returns:
        The folder of the run that `synth` is to make.
    """
    rows = [{"prompt": prompt} if isinstance(prompt, str) else prompt for prompt in prompts]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "run.toml").write_text(run_file)
    return folder / "run"


def synth(folder: Path, *arguments: str | Path, output: str = "run", prelude: str = "", environment: Mapping[str, str] | None = None) -> Done:
    """Make the run that was laid out."""
    command = ("synth", "prompts.jsonl", "-c", "run.toml", "-o", output, "-q", *arguments)
    return multigraft(folder, *command, prelude=prelude, environment=environment)


def records_of(run: Path) -> list[PromptRecord]:
    """Read all prompts of a run."""
    with RunRecord(run) as record:
        return list(record.prompts())


def openai(url: str, name: str = "m", **settings: object) -> str:
    """A model of a run file behind an endpoint."""
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    return f'[[models]]\nname = {json.dumps(name)}\nkind = "openai"\nendpoints = [{{ url = "{url}/v1" }}]\n{lines}'


def one_each(n: int = 1) -> str:
    """A strategy that asks for so many responses, and again for none that failed."""
    return f'[strategy]\nname = "parallel"\nn = {n}\nmax_failures = 1\n'
