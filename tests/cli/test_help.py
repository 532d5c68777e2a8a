"""What the command line says of itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.reference import commands
from typer.testing import CliRunner, Result

import multigraft
from multigraft.cli.main import app

COMMANDS = ["synth", "pilot", "optimize", "resume", "score", "show", "curve", "win-rate", "export", "init", "dry-run", "graph", "models", "task", "reward"]
COMMAND = Path(sys.executable).with_name("multigraft")
NAMES = [name for name, _ in commands(app, "multigraft")]


def said(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="multigraft", env={"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"})


@pytest.mark.parametrize(
    ("group", "wanted"),
    [
        ((), COMMANDS),
        (("graph",), ["show", "cost", "draw", "count", "make", "run"]),
        (("models",), ["list", "pull", "check"]),
        (("task",), ["list", "show", "check"]),
        (("reward",), ["serve"]),
    ],
)
def test_the_list_of_commands_is_not_cut_off(group: tuple[str, ...], wanted: list[str]) -> None:
    lines = said(*group, "--help").stdout.splitlines()
    listed = lines[lines.index("Commands:") + 1 :]
    assert [line.split()[0] for line in listed] == wanted
    assert not [line for line in listed if line.endswith("...")]


@pytest.mark.parametrize("name", [*NAMES, "multigraft graph", "multigraft models", "multigraft task", "multigraft reward"])
def test_every_command_has_help(name: str) -> None:
    done = said(*name.split()[1:], "-h")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Usage: {name}")
    assert "--help" in done.stdout


def test_the_version_is_that_of_the_package() -> None:
    assert said("--version").stdout == f"multigraft {multigraft.__version__}\n"


def test_without_a_command_the_help_is_shown() -> None:
    assert "Commands:" in said().stdout + said().stderr


def test_an_unknown_command_or_option_ends_with_code_2() -> None:
    assert said("synthesize").exit_code == 2
    done = said("show", "--colour")
    assert done.exit_code == 2
    assert "--colour" in done.stderr


def test_completion_names_the_commands() -> None:
    """As the script that `--install-completion` puts into a shell asks for them."""
    environment = {**os.environ, "_MULTIGRAFT_COMPLETE": "complete_bash", "COMP_WORDS": "multigraft res", "COMP_CWORD": "1"}
    done = subprocess.run([str(COMMAND)], capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.stdout.split() == ["resume"]
    assert "--install-completion" in said("--help").stdout
