"""Judges at the command line: changed on a run that is there, added by `multigraft score`, and kept apart from what answers."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from multigraft.cli.main import app
from multigraft.records.reader import RunRecord

ANN = '[[models]]\nname = "ann"\nkind = "scripted"\n'
CRITIC = '[[models]]\nname = "critic"\nkind = "scripted"\nanswers = ["Score: {grade}"]\n'
SCRIPTED = '[[reward.parts]]\nkind = "scripted"\n'
JUDGE = '[[judge.parts]]\nkind = "graded_judge"\nname = "critic-says"\nmodel = "critic"\n'
PANEL = (
    '[[judge.parts]]\nkind = "panel"\nat = "all"\n[[judge.parts.judges]]\nkind = "graded_judge"\nname = "mild"\nmodel = "critic"\n'
    '[[judge.parts.judges]]\nkind = "scripted"\n'
)


def multigraft(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def totals_of(*arguments: str | Path) -> dict[str, Any]:
    done = multigraft(*arguments, "--json", "-q")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refused(*arguments: str | Path) -> str:
    done = multigraft(*arguments, "-q")
    assert done.exit_code == 2, done.output
    return done.stderr


class Runs:
    """Runs of two prompts and four responses each in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.run = folder, folder / "run"
        self.prompts = folder / "prompts.jsonl"
        self.prompts.write_text("".join(f'{{"prompt": "What is {number} + 1?", "reference": "{number + 1}"}}\n' for number in range(2)), "utf-8")

    def arguments(self, run_file: str, *flags: str) -> tuple[str | Path, ...]:
        (self.folder / "settings.toml").write_text(run_file, "utf-8")
        return ("synth", self.prompts, "-c", self.folder / "settings.toml", "-n", "4", "--strategy", "random", "-o", self.run, *flags)

    def synth(self, run_file: str, *flags: str) -> dict[str, Any]:
        return totals_of(*self.arguments(run_file, *flags))

    def scores(self, scorer: str) -> list[list[int]]:
        """Of each prompt the calls that a scorer scored, in their order."""
        with RunRecord(self.run) as record:
            return [[call_id for call_id, call in prompt.calls.items() if scorer in call.scores] for prompt in record.prompts()]

    def best_so_far(self, *points: int) -> list[list[int]]:
        with RunRecord(self.run) as record:
            rewards = [[call.reward or 0.0 for call in prompt.calls.values()] for prompt in record.prompts()]
        return [sorted({each.index(max(each[:point])) for point in points}) for each in rewards]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def critic(grade: int) -> str:
    return CRITIC.format(grade=grade)


def test_another_judge_on_a_run_that_is_there(runs: Runs) -> None:
    first = runs.synth(ANN + SCRIPTED)
    assert list(first["scorers"]) == ["scripted"]
    judged = runs.synth(ANN + SCRIPTED + critic(7) + JUDGE)
    assert judged["spent"] == first["spent"]  # nothing was answered again
    assert runs.scores("critic-says") == runs.best_so_far(1, 2, 4)
    assert judged["scorers"]["critic-says"]["mean"] == pytest.approx(6 / 9)  # 7 on a scale from 1 to 10
    more = runs.synth(ANN + SCRIPTED + critic(7) + JUDGE + 'at = "all"\n')
    assert runs.scores("critic-says") == [[0, 1, 2, 3]] * 2
    assert more["scorers"]["critic-says"]["spent_apart"]["calls"] == 8  # each response once
    without = runs.synth(ANN + SCRIPTED)
    assert (without["spent"], list(without["models"])) == (first["spent"], ["ann"])


def test_a_judge_under_a_name_that_another_had_is_refused(runs: Runs) -> None:
    runs.synth(ANN + SCRIPTED + critic(7) + JUDGE)
    said = refused(*runs.arguments(ANN + SCRIPTED + critic(4) + JUDGE))
    assert "error: the run holds scores of another scorer called 'critic-says' (version" in said
    assert "give this one a name of its own" in said


def test_a_judge_does_not_begin_to_answer(runs: Runs) -> None:
    """Neither when a flag names other judges, nor when its part is taken out of the file of a run that is there."""
    judged = ANN + SCRIPTED + critic(7) + JUDGE
    assert list(runs.synth(judged, "--judge", "none")["models"]) == ["ann"]
    assert [model["name"] for model in tomllib.loads((runs.run / "run.toml").read_text("utf-8"))["models"]] == ["ann"]
    assert list(runs.synth(judged, "--judge", "none", "--models", "ann")["models"]) == ["ann"]
    runs.synth(judged)
    assert "models[1].name: (not set) -> 'critic'" in refused(*runs.arguments(ANN + SCRIPTED + critic(7)))
    assert runs.synth(judged, "--models", "ann")["scorers"]["critic-says"]["scored"] > 0


def test_a_former_judge_of_the_reward_does_not_begin_to_answer_either(runs: Runs) -> None:
    guided = ANN + critic(7) + '[[reward.parts]]\nkind = "graded_judge"\nmodel = "critic"\n'
    totals = runs.synth(guided, "--reward", "scripted")
    assert (list(totals["models"]), list(totals["scorers"])) == (["ann"], ["scripted"])


def test_a_model_named_to_answer_answers(runs: Runs) -> None:
    totals = runs.synth(ANN + SCRIPTED + critic(7) + JUDGE, "--judge", "none", "--models", "ann,critic", "--strategy", "parallel")
    assert set(totals["models"]) == {"ann", "critic"}


def test_a_panel_of_a_file(runs: Runs) -> None:
    totals = runs.synth(ANN + SCRIPTED + critic(1) + PANEL)
    assert totals["scorers"]["panel"]["scored"] == 8
    assert list(totals["models"]) == ["ann"]
    with RunRecord(runs.run) as record:
        scores = [call.scores["panel"].score for prompt in record.prompts() for call in prompt.calls.values()]
    assert all(set(score.details) == {"mild", "scripted"} for score in scores)
    assert all(score.value == pytest.approx(sum(score.details.values()) / 2) for score in scores)
    assert runs.synth(ANN + SCRIPTED + critic(1) + PANEL, "--models", "ann")["scorers"]["panel"]["scored"] == 8


def test_scorers_are_added_later(runs: Runs) -> None:
    runs.synth(ANN + SCRIPTED)
    assert refused("score", runs.run) == "error: field '--with': this run has no [judge]; name a scorer, such as --with rules or --with judge:MODEL\n"
    assert totals_of("score", runs.run, "--with", "rules")["scorers"]["rules"]["scored"] == 8
    totals_of("score", runs.run, "--with", "rules", "--name", "early", "--at", "1,2")
    assert runs.scores("early") == runs.best_so_far(1, 2)
    totals_of("score", runs.run, "--with", "rules", "--name", "last", "--at", "best")
    assert runs.scores("last") == runs.best_so_far(4)
    both = totals_of("score", runs.run, "--with", "rules", "--with", "confidence")
    assert list(both["scorers"]) == ["rules", "confidence"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--with", "rules", "--with", "confidence", "--name", "x"), "error: field '--name': names one scorer, and here are 2\n"),
        (("--with", "rules", "--at", "1,x"), "error: field '--at': must be doubling, best, all, or numbers of responses such as 1,4,16, not '1,x'\n"),
        (("--with", "rules", "--at", "0"), "error: "),
        (("--with", "task"), "error: field '--with': this run has no task whose graders could judge\n"),
        (("--with", "ruls"), "error: unknown reward 'ruls'. Did you mean 'rules'?"),
        (("--with", "judge:nobody"), "error: field '--models': 'nobody' is neither a model of the run file nor one of"),
        (("--with", "scripted", "--with", "rules", "--budget", "euros=3"), "error: "),
    ],
)
def test_mistakes_of_score(flags: tuple[str, ...], message: str, runs: Runs) -> None:
    runs.synth(ANN + SCRIPTED)
    assert refused("score", runs.run, *flags).startswith(message)
    assert runs.scores("rules") == [[], []]


def test_a_budget_of_judges(runs: Runs) -> None:
    runs.synth(ANN + SCRIPTED + critic(7))
    (runs.folder / "judge.toml").write_text(critic(7) + JUDGE, "utf-8")
    arguments = ("score", runs.run, "-c", runs.folder / "judge.toml", "--at", "all")
    poor = totals_of(*arguments, "--budget", "calls=3")["scorers"]["critic-says"]
    assert (poor["scored"], poor["unscored"], poor["spent_apart"]["calls"]) == (3, {"budget": 5}, 3)
    enough = totals_of(*arguments, "--budget", "calls=8")["scorers"]["critic-says"]
    assert (enough["scored"], enough["unscored"], enough["spent_apart"]["calls"]) == (8, {}, 8)
