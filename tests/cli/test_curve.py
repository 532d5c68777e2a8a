"""`multigraft curve` on runs written through the real log."""

import json
from pathlib import Path

import pytest
import typer
from tests.analysis.built_records import Told, graded, write_run
from typer.testing import CliRunner

from multigraft.cli.curve import curve

app = typer.Typer()
app.command()(curve)


def ran(*arguments: str | Path, code: int = 0) -> str:
    done = CliRunner(env={"COLUMNS": "160", "NO_COLOR": "1"}).invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def hacked(tmp_path: Path) -> Path:
    """Twelve prompts of four responses; the judge likes the first, the reward the last. The grader reads answers."""
    prompts = [
        [
            Told(
                0.1 * place + 0.001 * number,
                {"judge": 1.0 - 0.3 * place + 0.01 * (number % 5), "grader": graded(float(place == number % 4), str(place))},
                tokens=10,
            )
            for place in range(4)
        ]
        for number in range(12)
    ]
    return write_run(tmp_path / "run", prompts, [{"level": 1 + number % 2} for number in range(12)])


def test_tables_for_people(hacked: Path) -> None:
    text = ran(hacked, "--by", "level", "--resamples", "200")
    lines = text.splitlines()
    assert lines[0].endswith("12 prompts")
    assert lines[1].split() == ["responses", "prompts", "reward", "judge", "grader", "judge,", "oracle", "grader,", "oracle"]
    assert lines[2].split()[:3] == ["1", "12", "0.0055"]
    assert "judge falls from 2 responses on while the reward still rises: -0.3" in text
    assert "votes by the answers that grader read, 12 prompts" in text
    assert "against chosen, at 4 responses: first" in text
    groups = text[text.index("  level") :].splitlines()
    assert [line.split()[:2] for line in groups[1:3]] == [["1", "6"], ["2", "6"]]


def test_json_for_programs(hacked: Path) -> None:
    found = json.loads(ran(hacked, "--json", "--points", "1, 4", "--scorer", "judge", "--resamples", "200"))
    assert found["points"] == [1, 4]
    assert list(found["scorers"]) == ["judge"]
    assert found["scorers"]["judge"]["means"]["4"]["value"] == pytest.approx(0.1 + 0.01 * 21 / 12)
    assert found["costs"]["4"] == {"flops": 40.0, "tokens": 40.0, "usd": 0.0, "calls": 4.0}
    assert found["hacking"]["judge"]["onset"] == 4
    assert found["votes"] == {}
    votes = json.loads(ran(hacked, "--json", "--scorer", "grader", "--resamples", "200"))["votes"]["grader"]
    # At four responses all four answers have one vote; the first given is right in a quarter of the prompts, and so is the last.
    assert [votes["points"]["4"]["grades"][way]["value"] for way in ("first", "chosen", "majority", "weighted", "oracle")] == [0.25, 0.25, 0.25, 0.25, 1.0]


def test_the_same_seed_gives_the_same_intervals(hacked: Path) -> None:
    one, same, other = (ran(hacked, "--json", "--resamples", "200", "--seed", seed) for seed in ("1", "1", "2"))
    assert one == same
    assert one != other


def test_a_run_without_a_judge_says_how_to_add_one(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [[Told(0.1, {"rules": 0.1}), Told(0.5, {"rules": 0.5})]])
    assert "only the guiding reward has scored this run; add a judge: multigraft score RUN --with NAME" in ran(run)
    assert ran(run, "--scorer", "rules").splitlines()[1].split()[:4] == ["responses", "prompts", "reward", "rules"]


def test_what_does_not_fit_the_terminal_stands_below(hacked: Path) -> None:
    lines = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, [str(hacked), "--resamples", "100"]).output.splitlines()
    headings = [line.split() for line in lines if line.startswith("  responses  prompts")]
    assert headings == [
        ["responses", "prompts", "reward", "judge"],
        ["responses", "prompts", "grader", "judge,", "oracle"],
        ["responses", "prompts", "grader,", "oracle"],
    ]
    assert all(len(line) <= 80 for line in lines)


def test_mistakes(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [[Told(0.1, {"judge": 0.5})]])
    assert "unknown scorer 'jury'" in ran(run, "--scorer", "jury", code=2)
    assert "such as 1,8,64; not '1,x'" in ran(run, "--points", "1,x", code=2)
    assert json.loads(ran(run, "--scorer", "jury", "--json", code=2).splitlines()[0])["error"]["kind"] == "UnknownNameError"
    empty = write_run(tmp_path / "empty", [])
    assert "no finished prompt has a response" in ran(empty, code=2)
