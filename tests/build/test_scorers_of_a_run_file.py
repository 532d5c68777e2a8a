"""From tables of scorers to scorers: what is nested, what only compares, what no user may set, and the short forms of the command line."""

import tomllib
from typing import Any

import pytest

from multigraft.build.rewards import judges_of, parts_of
from multigraft.build.run import plan_of
from multigraft.build.scorers import is_ranking
from multigraft.config import RunFile, checked
from multigraft.errors import InputError

MODELS = "[[models]]\nname = 'ann'\nkind = 'scripted'\n[[models]]\nname = 'critic'\nkind = 'scripted'\n[[models]]\nname = 'other'\nkind = 'scripted'\n"
PANEL = """
[[{table}.parts]]
kind = "panel"
how = "median"
[[{table}.parts.judges]]
kind = "judge"
model = "critic"
[[{table}.parts.judges]]
kind = "panel"
name = "inner"
judges = [{{ kind = "graded_judge", model = "other" }}, {{ kind = "rules" }}]
"""
TOURNAMENT = "[[reward.parts]]\nkind = 'tournament'\nmodel = 'critic'\n"


def read(text: str) -> RunFile:
    return checked(tomllib.loads(MODELS + text))


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        plan_of(read(text))
    return str(caught.value)


@pytest.mark.parametrize("table", ["reward", "judge"])
def test_a_panel_holds_judges_and_panels(table: str) -> None:
    plan = plan_of(read(PANEL.format(table=table)))
    scorers = plan.rewards.rewards if table == "reward" else tuple(judge.scorer for judge in plan.judges)
    assert [scorer.name for scorer in scorers] == ["panel"]
    assert judges_of(plan.run_file.reward.parts + plan.run_file.judge.parts) == ("critic", "other")
    assert plan.names == ("ann",)
    # Calls of judges within are repeated as calls of models are; so whoever scores with the panel must not.
    assert plan.rewards.retried == (frozenset() if table == "reward" else {"rules"})
    assert [judge.retried for judge in plan.judges] == ([] if table == "reward" else [False])


def test_another_model_within_a_panel_makes_another_panel() -> None:
    def version(table: str) -> str:
        return plan_of(read(table)).judges[0].scorer.version

    panel = PANEL.format(table="judge")
    assert version(panel) == version(panel)
    assert version(panel.replace('model = "other"', 'model = "ann"')) != version(panel)


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        ("judges = []", "panel needs judges: at least one table"),
        ("judges = 3", "field 'reward.parts[0].judges': must be a list of tables, each with a kind, not 3"),
        ("judges = ['rules']", "field 'reward.parts[0].judges': must be a list of tables, each with a kind"),
        ("judges = [{ model = 'critic' }]", "field 'reward.parts[0].judges[0].kind': Field required"),
        ("judges = [{ kind = 'rulez' }]", "unknown reward 'rulez'. Did you mean 'rules'?"),
        ("judges = [{ kind = 'rules', gates = false }]", "unknown setting of reward.parts[0].judges[0]: 'gates'. Did you mean 'gate'?"),
        ("judges = [{ kind = 'judge', model = 'nobody' }]", "field 'reward.parts[0].judges[0].model': a judge needs the name of a model of this run file, and"),
        ("judges = [{ kind = 'rules' }, { kind = 'rules' }]", "judges of panel need different names, and 2 of them include 'rules' more than once"),
        ("judges = [{ kind = 'rules' }]\nquorum = 2", "quorum of panel must be 1 to 1, the number of its judges, not 2"),
    ],
)
def test_mistakes_within_a_panel_name_their_place(judges: str, message: str) -> None:
    assert message in refused(f"[[reward.parts]]\nkind = 'panel'\n{judges}\n")


@pytest.mark.parametrize("strategy", ["toa", "prs"])
def test_a_tournament_cannot_guide_a_search_that_wants_rewards_as_it_goes(strategy: str) -> None:
    said = refused(f"[strategy]\nname = '{strategy}'\n{TOURNAMENT}")
    assert said.startswith("field 'reward.parts': 'tournament' compares the responses of a prompt when all are there, but this strategy needs a reward of each")
    assert said.endswith("take random, parallel, sequential, moa or a graph whose sink is a model, or a reward that scores one response, such as pairwise")


@pytest.mark.parametrize("strategy", ["random", "parallel", "sequential", "moa"])
def test_a_tournament_picks_the_best_where_nothing_is_guided(strategy: str) -> None:
    plan = plan_of(read(f"[strategy]\nname = '{strategy}'\n{TOURNAMENT}"))
    assert plan.rewards.ranking is not None
    assert is_ranking(plan.rewards.ranking)
    assert plan.rewards.rewards == ()


def test_a_tournament_stands_alone_in_a_reward_and_beside_others_in_judging() -> None:
    assert "cannot be one part of several; name it alone" in refused(f"[strategy]\nname = 'random'\n{TOURNAMENT}[[reward.parts]]\nkind = 'rules'\n")
    plan = plan_of(read("[[judge.parts]]\nkind = 'tournament'\nmodel = 'critic'\n[[judge.parts]]\nkind = 'confidence'\n"))
    assert [judge.scorer.name for judge in plan.judges] == ["tournament", "confidence"]


@pytest.mark.parametrize("table", ["reward", "judge"])
@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("kind = 'judge'\nmodel = 'critic'", "ask = 'somebody'"),
        ("kind = 'judge'\nmodel = 'critic'", "identity = 'gpt'"),
        ("kind = 'unit_tests'", "sandbox = 'none'"),
        ("kind = 'puzzle'", "sandbox = false"),
        ("kind = 'tournament'\nmodel = 'critic'", "comparer = 'mine'"),
        ("kind = 'pairwise'\nmodel = 'critic'", "baselines = { a = 'b' }"),
    ],
)
def test_what_the_run_fills_in_is_no_setting(table: str, kind: str, setting: str) -> None:
    name = setting.partition(" ")[0]
    assert f"unknown setting of {table}.parts[0]: '{name}'." in refused(f"[strategy]\nname = 'random'\n[[{table}.parts]]\n{kind}\n{setting}\n")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("rules", [{"kind": "rules"}]),
        ("unit_tests", [{"kind": "unit_tests"}]),
        ("judge:critic", [{"kind": "judge", "model": "critic"}]),
        ("classifier:folder/of it", [{"kind": "classifier", "model": "folder/of it"}]),
        ("process:Qwen/Qwen2.5-Math-PRM-7B", [{"kind": "process", "model": "Qwen/Qwen2.5-Math-PRM-7B"}]),
        ("comet:wmt22-cometkiwi-da", [{"kind": "comet", "model": "wmt22-cometkiwi-da"}]),
        ("remote:http://host:8000/score", [{"kind": "remote", "endpoints": [{"url": "http://host:8000/score"}]}]),
        ("judge:file:weights/a.gguf", [{"kind": "judge", "model": "file:weights/a.gguf"}]),
        (
            "rules + judge:critic+confidence",
            [{"kind": "rules", "normalise": "run"}, {"kind": "judge", "model": "critic", "normalise": "run"}, {"kind": "confidence"}],
        ),
    ],
)
def test_the_short_forms(text: str, parts: list[dict[str, Any]]) -> None:
    assert list(parts_of(text)) == parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules:strict", "field '--reward': reward 'rules' takes no ':strict'; write judge:MODEL, classifier:FOLDER or remote:URL"),
        ("clasifier:folder", "unknown reward 'clasifier'. Did you mean 'classifier'?"),
    ],
)
def test_other_forms_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parts_of(text)
    assert message in str(caught.value)
