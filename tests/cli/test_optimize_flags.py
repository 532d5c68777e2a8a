from pathlib import Path

import pytest

from multigraft.cli.optimize_caps import parse_caps, parse_split, parse_tokens
from multigraft.cli.optimize_settings import SearchFlags, of_the_results, search_settings_of, sized
from multigraft.config import OptimizeTable
from multigraft.errors import InputError, UnknownNameError


def table_of(**flags: object) -> OptimizeTable:
    found = search_settings_of(SearchFlags(**{"questions": "questions.jsonl", "reward": "final_answer", **flags})).optimize  # type: ignore[arg-type]  # flags of one test
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "caps"),
    [
        ("units=18", {"units": 18.0}),
        ("latency=5s", {"latency_s": 5.0}),
        ("latency=800ms,calls=9", {"latency_s": 0.8, "calls": 9}),
        ("latency=2min", {"latency_s": 120.0}),
        ("latency=2.5", {"latency_s": 2.5}),
        ("usd=5e-4, flops=1e13", {"usd": 5e-4, "flops": 1e13}),
    ],
)
def test_the_budget_of_a_question_is_read(text: str, caps: dict[str, float]) -> None:
    assert parse_caps(text) == pytest.approx(caps)


@pytest.mark.parametrize(
    "text", ["units", "units=", "units=0", "units=-3", "units=nan", "units=5s", "latency=5h", "calls=2.5", "units=1,units=2", "usd=1.2.3", "units=1e999"]
)
def test_what_is_no_budget_of_a_question_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--budget"):
        parse_caps(text)


def test_a_kind_of_budget_that_there_is_not_is_named() -> None:
    with pytest.raises(UnknownNameError, match="latency"):
        parse_caps("latencies=5s")


def test_splits_and_tokens_are_read() -> None:
    assert parse_split("30,20,40") == (30, 20, 40)
    assert parse_split("30, 20") == (30, 20, 0)
    assert parse_tokens("202,275") == (202.0, 275.0)
    for text in ("30", "0,20", "a,b", "1,2,3,4", "-1,2"):
        with pytest.raises(InputError, match="--split"):
            parse_split(text)
    for text in ("202", "0,1", "x,y", "1,2,3", "inf,2"):
        with pytest.raises(InputError, match="--tokens"):
            parse_tokens(text)


def test_flags_make_the_table() -> None:
    table = table_of(
        models="scripted:small,scripted:large", budget="units=18", method="random", sinks="large,vote", split="6,5,4", changes=("edges=0.2",), tokens="20,30"
    )
    assert table.models == ("small", "large")
    assert table.caps.units == 18.0
    assert (table.method, table.settings) == ("random", {"edges": 0.2})
    assert table.sinks == ("large", "vote")
    assert (table.train, table.validation, table.test) == (6, 5, 4)
    assert table.tokens == (20.0, 30.0)


def test_more_agents_than_can_be_searched_are_refused() -> None:
    assert table_of(models="scripted:small", max_agents=100).max_agents == 100
    with pytest.raises(InputError, match=r"optimize\.max_agents.*100"):
        table_of(models="scripted:small", max_agents=101)


def test_the_optimiser_model_need_not_be_of_the_pool() -> None:
    found = search_settings_of(SearchFlags(questions="questions.jsonl", models="scripted:small", reward="final_answer", optimizer="wise@http://localhost:1/v1"))
    assert found.optimize is not None
    assert found.optimize.models == ("small",)
    assert found.optimize.optimizer == "wise"
    assert [model.name for model in found.models] == ["small", "wise"]


def test_a_task_is_known_by_its_name_and_brings_its_grader(tmp_path: Path) -> None:
    found = search_settings_of(SearchFlags(questions="puzzles", models="scripted:small", task_options=("count=5",)))
    assert found.task is not None
    assert found.task.name == "puzzles"
    assert [part.kind for part in found.judge.parts] == ["puzzle"]
    with pytest.raises(InputError, match="--judge task:MODEL"):
        search_settings_of(SearchFlags(questions="arena_hard", models="scripted:small", items=tmp_path / "items.jsonl"))


def test_questions_are_needed() -> None:
    with pytest.raises(InputError, match="QUESTIONS"):
        search_settings_of(SearchFlags(questions=None, models="scripted:small"))
    with pytest.raises(InputError, match="--items"):
        search_settings_of(SearchFlags(questions="mine.jsonl", items=Path("items.jsonl"), models="scripted:small"))


def test_a_flag_wins_over_the_run_file_and_another_method_starts_with_its_own_settings(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        'prompts = "q.jsonl"\n[[models]]\nname = "a"\nkind = "scripted"\n[[models]]\nname = "wise"\nkind = "scripted"\n'
        '[optimize]\nmethod = "bayes"\noptimizer = "wise"\nevaluations = 7\nsettings = { warm_up = 3 }\ncaps = { units = 4.0 }\n'
    )
    kept = search_settings_of(SearchFlags(questions=None, run_file=tmp_path / "run.toml", evaluations=9, reward="final_answer")).optimize
    assert kept is not None
    assert (kept.method, dict(kept.settings), kept.evaluations, kept.caps.units) == ("bayes", {"warm_up": 3}, 9, 4.0)
    assert kept.models == ("a",), "the optimiser model is none of the pool unless it is named there"
    other = search_settings_of(SearchFlags(questions=None, run_file=tmp_path / "run.toml", method="random", reward="final_answer")).optimize
    assert other is not None
    assert (other.method, dict(other.settings)) == ("random", {})


def test_splits_are_chosen_by_how_many_questions_there_are() -> None:
    found = search_settings_of(SearchFlags(questions="questions.jsonl", models="scripted:small", reward="final_answer"))
    sizes = [sized(found, count).optimize for count in (9, 90, 1000)]
    assert [(table.train, table.validation, table.test) for table in sizes if table] == [(3, 3, 3), (30, 30, 30), (30, 50, 100)]
    without = sized(found, 90, test=False).optimize
    assert without is not None
    assert without.test == 0
    with pytest.raises(InputError, match="too few"):
        sized(found, 1)


def test_how_long_a_search_goes_on_may_change_and_what_it_finds_may_not() -> None:
    before = {"budget": {"calls": 5, "cost_form": "paper"}, "optimize": {"method": "random", "evaluations": 5, "caps": {"units": 3.0}}, "judge": {"parts": []}}
    after = {"budget": {"calls": 9, "cost_form": "paper"}, "optimize": {"method": "random", "evaluations": 50, "caps": {"units": 3.0}}, "judge": {"parts": []}}
    assert of_the_results(before) == of_the_results(after)  # type: ignore[arg-type]  # plain tables
    for name, value in (("optimize", {"method": "bayes"}), ("judge", {"parts": [1]}), ("budget", {"cost_form": "exact"}), ("seed", 3)):
        assert of_the_results(before) != of_the_results(after | {name: value})  # type: ignore[arg-type]  # plain tables


def test_votes_are_counted_as_they_will_be_when_the_graph_runs() -> None:
    voting = search_settings_of(SearchFlags(questions="gsm8k", models="scripted:small", sinks="small,vote"))
    assert [(part.kind, part.__pydantic_extra__) for part in voting.reward.parts] == [("final_answer", {"form": "number"})]
    assert [part.kind for part in voting.judge.parts] == ["rules"], "the grader still says what is right"
    named = search_settings_of(SearchFlags(questions="gsm8k", models="scripted:small", sinks="vote", reward="confidence"))
    assert [part.kind for part in named.reward.parts] == ["confidence"]
