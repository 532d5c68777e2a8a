import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from multigraft.cli.main import app

GOLDEN = Path(__file__).parents[1] / "golden" / "toa_traces.jsonl"
TRACES = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]


def arguments(trace: dict[str, Any], folder: Path) -> list[str]:
    rewards = folder / "rewards.txt"
    rewards.write_text("".join(f"{call['reward']!r}\n" for call in trace["calls"]), "utf-8")
    settings = [f"--set={name}={trace[name]}" for name in ("tau", "alpha", "width", "topk")]
    return ["dry-run", "--strategy", "toa", "--models", ",".join(trace["models"]), "-n", str(trace["budget"]), *settings, "--rewards", str(rewards)]


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: f"{len(trace['models'])}x{trace['n_per_model']}-tau{trace['tau']}-top{trace['topk']}")
def test_the_published_decisions(trace: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app(arguments(trace, tmp_path), standalone_mode=False)
    decisions = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert decisions == [
        {"index": call["index"], "model": call["model"], "parents": [] if call["parent"] is None else [call["parent"]]} for call in trace["calls"]
    ]


def test_the_command_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "multigraft", *arguments(TRACES[8], tmp_path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ['{"index": 0, "model": "m0", "parents": []}', '{"index": 1, "model": "m0", "parents": []}']


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--strategy", "tao"], "unknown strategy 'tao'. Did you mean 'toa'?"),
        (["--set", "with=3"], "unknown setting of strategy 'toa' 'with'. Did you mean 'width'?"),
        (["--set", "width=wide"], "width"),
        (["--rewards", "nowhere.txt"], "reading nowhere.txt"),
    ],
)
def test_mistakes_are_named_with_a_remedy(change: list[str], message: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "multigraft", *arguments(TRACES[8], tmp_path), *change]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_reward_is_named_by_its_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "multigraft", *arguments(TRACES[8], tmp_path)]
    (tmp_path / "rewards.txt").write_text("0.5\nhalf\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "rewards.txt:2: 'half' is no number" in done.stderr
