import json
from pathlib import Path

from typer.testing import CliRunner

from multigraft.cli.main import app

RUN_FILE = """
[strategy]
name = "parallel"
n = 4

[[models]]
name = "ann"
kind = "scripted"

[[models]]
name = "jim"
kind = "scripted"
answers = ["Yes"]

[[reward.parts]]
kind = "rules"

[[reward.parts]]
kind = "judge"
model = "jim"

[[reward.parts]]
kind = "graded_judge"
name = "graded"
model = "jim"
optional = true
"""


def test_what_judging_cost_is_told_of_the_judge_that_spent_it(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(RUN_FILE, "utf-8")
    (tmp_path / "prompts.jsonl").write_text("".join(f'{{"prompt": "What is {number} + 1?", "reference": "{number + 1}"}}\n' for number in range(3)), "utf-8")
    command = ["synth", str(tmp_path / "prompts.jsonl"), "-c", str(tmp_path / "run.toml"), "-o", str(tmp_path / "run"), "--json", "-q"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.stderr
    totals = json.loads(done.stdout)
    spent = {name: scorer["spent"] for name, scorer in totals["scorers"].items()}
    assert {name: amount["calls"] for name, amount in spent.items()} == {"rules": 0, "judge": 12, "graded": 12}
    assert spent["rules"]["tokens"] == 0
    assert min(spent[name]["tokens"] for name in ("judge", "graded")) > 12 * 20  # the wording of a judge alone has more
    assert totals["spent"]["calls"] == 12 + 24


def test_a_scorer_added_later_needs_a_name_that_is_not_the_rewards(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "What is 1 + 1?", "reference": "2"}\n', "utf-8")
    run = str(tmp_path / "run")
    made = CliRunner().invoke(app, ["synth", str(tmp_path / "prompts.jsonl"), "--models", "scripted:ann", "--reward", "rules", "-n", "1", "-o", run, "-q"])
    assert made.exit_code == 0, made.stderr
    refused = CliRunner().invoke(app, ["score", run, "--with", "rules", "-q"])
    assert refused.exit_code == 2
    assert "another scorer of the run is called 'rules' already" in refused.stderr
    named = CliRunner().invoke(app, ["score", run, "--with", "rules", "--name", "again", "-q", "--json"])
    assert named.exit_code == 0, named.stderr
    assert json.loads(named.stdout)["scorers"]["again"]["scored"] == 1
