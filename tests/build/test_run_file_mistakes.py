from pathlib import Path
from typing import Any

import pytest

from multigraft.build.run import plan_of
from multigraft.config import checked, read_run_file
from multigraft.errors import InputError


def run_file(model: str = "kind = 'scripted'", reward: str = "kind = 'rules'", strategy: str = "name = 'toa'") -> str:
    return f"[[models]]\nname = 'ann'\n{model}\n[strategy]\n{strategy}\n[[reward.parts]]\n{reward}\n"


def endpoint(url: str) -> str:
    return f"kind = 'openai'\nendpoints = [{{ url = '{url}' }}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (run_file(endpoint("localhost:8000")), "model 'ann': endpoint URL must look like 'http://127.0.0.1:8000', not 'localhost:8000'"),
        (run_file(endpoint("http://host:99999/v1")), "model 'ann': endpoint URL must look like"),
        (run_file(endpoint("http://host/v1?key=hush")), "may hold no user, password, query or fragment"),
        (run_file(endpoint("http://host/v1") + "\nextra_body = { stream = true }"), "model 'ann': extra_body may not set stream"),
        (run_file("kind = 'scripted'\nshape = { parameters = 0.2, layers = 1, width = 1 }"), "model 'ann': parameters is 0"),
        (run_file("kind = 'scripted'\nanswers = ['fine', ' ']"), "must be texts with a visible character, not ' '"),
        (
            run_file(reward="kind = 'judge'\nmodel = 'ann'\ntemplate = 5"),
            "field 'reward.parts[0].template': must be a text, or the name of a file as file:PATH, not 5",
        ),
        (run_file(reward="kind = 'rules'\nweight = '2'"), "field 'reward.parts.0.weight': Input should be a valid number, not '2'"),
        (
            run_file(reward="kind = 'panel'\n[[reward.parts.judges]]\nkind = 'tournament'\nmodel = 'ann'"),
            "field 'reward.parts[0].judges[0]': 'tournament' compares the responses of a prompt when all are there",
        ),
        (run_file(reward="kind = 'unit_tests'\nwall_s = 'long'"), "field 'reward.parts[0].wall_s': must be a number, not 'long'"),
        (run_file(reward="kind = 'math'\nworkers = 2.5"), "field 'reward.parts[0].workers': must be a whole number, not 2.5"),
        (run_file(reward="kind = 'math'\nworkers = true"), "field 'reward.parts[0].workers': must be a whole number, not True"),
        (run_file(reward="kind = 'similarity'\nmax_tokens = 'all'"), "field 'reward.parts[0].max_tokens': must be a whole number, not 'all'"),
        (run_file(reward="kind = 'pairwise'\nmodel = 'ann'\nagainst = 7"), "field 'reward.parts[0].against': must be a text, not 7"),
        (run_file(reward="kind = 'pairwise'\nmodel = 'ann'\nboth_orders = 1"), "field 'reward.parts[0].both_orders': must be true or false, not 1"),
        (run_file() + "[judge.budget]\nseconds = 5", "field 'judge': judges cannot be limited in seconds; limit flops, tokens, usd or calls"),
        (run_file() + "[[judge.parts]]\nkind = 'rules'\nname = 'again'\nat = []", "field 'judge.parts.0': at names no number of responses"),
        (run_file() + "[[judge.parts]]\nkind = 'rules'\nname = 'again'\nat = [0]", "field 'judge.parts.0.at': Input should be"),
        (run_file(strategy="n = true"), "field 'strategy.n': Input should be a valid integer, not True"),
    ],
)
def test_a_mistake_in_a_run_file_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        plan_of(checked(read_run_file(path), "run.toml"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "field 'models.0.name': String should have at least 1 character"),
        ({"key": "sk-hush"}, "field 'models.0.key': Extra inputs are not permitted"),
        ({"kind": "openai", "endpoints": [{"url": "http://host", "key": "sk-hush"}]}, "field 'models.0.endpoints.0.key': Extra inputs are not permitted"),
    ],
)
def test_a_field_that_is_unknown_is_named_and_its_value_is_not_shown(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        checked({"models": [{"name": "ann", "kind": "scripted"} | change]})
    assert message in str(caught.value)
    assert "hush" not in str(caught.value)


def test_lists_and_whole_numbers_are_taken_where_they_fit(tmp_path: Path) -> None:
    parts = (
        "kind = 'judge'\nmodel = 'ann'\nyes = ['ja']",
        "kind = 'graded_judge'\nmodel = 'ann'\nscale = [0, 5]\ntemperature = 1",
        "kind = 'math'\nlimit_s = 2",
    )
    path = tmp_path / "run.toml"
    for part in parts:
        path.write_text(run_file(reward=part), "utf-8")
        assert plan_of(checked(read_run_file(path), "run.toml")).rewards.rewards
