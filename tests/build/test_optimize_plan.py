from collections.abc import Mapping
from typing import Any

import pytest
from tests.optimize.search_of_scripted import prompts

from multigraft.budget.cost import ModelCost
from multigraft.budget.flops import ModelShape
from multigraft.budget.price import Price
from multigraft.build.optimize import SearchPlan, search_plan_of
from multigraft.build.optimize_run import cheapest_first
from multigraft.config import checked
from multigraft.errors import BudgetError, InputError, UnknownNameError
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.graphs.costs import Caps
from multigraft.graphs.graph import NodeRole
from multigraft.optimize.methods.textgrad import TextGrad

RULES = {"kind": "rules", "gate": False, "rules": [{"rule": "exact_number"}]}
SEARCH = {"method": "random", "train": 3, "validation": 3, "test": 3}


def model(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "kind": "scripted", **more}


def plan_of(search: Mapping[str, object] | None = None, **more: Any) -> SearchPlan:
    settings = {"prompts": "q.jsonl", "models": [model("a"), model("b")], "reward": {"parts": [RULES]}, "optimize": SEARCH | dict(search or {})}
    return search_plan_of(checked({**settings, **more}), prompts("q", 9))


def test_the_pool_is_what_neither_judges_nor_optimises() -> None:
    judge = {"parts": [{"kind": "judge", "model": "wise"}]}
    models = [model("a"), model("wise"), model("b"), model("optimiser")]
    plan = plan_of({"method": "agent_reinforce", "optimizer": "optimiser"}, models=models, judge=judge)
    assert plan.pool == ("a", "b")
    assert plan.optimiser == "optimiser"
    assert plan.models.keys() == {"a", "b", "wise", "optimiser"}
    assert not plan.grades_cheaply
    assert [sink.model for sink in plan.sinks] == ["a", "b"]
    assert plan_of().optimiser is None
    assert plan_of().grades_cheaply
    assert plan_of({"method": "agent_reinforce"}).optimiser == "b", "the last of the pool where none is named"


def test_judges_grade_before_the_reward_does_and_one_of_them_may_be_named() -> None:
    judge = {"parts": [RULES | {"name": "first"}, RULES | {"name": "second", "at": "all"}]}
    assert [reward.name for reward in plan_of(judge=judge).grader.rewards] == ["first"]
    assert [reward.name for reward in plan_of({"scorer": "second"}, judge=judge).grader.rewards] == ["second"]
    assert [reward.name for reward in plan_of().grader.rewards] == ["rules"]
    with pytest.raises(UnknownNameError, match=r"secnd.*Did you mean 'second'"):
        plan_of({"scorer": "secnd"}, judge=judge)
    with pytest.raises(InputError, match="there is no judge 'first'"):
        plan_of({"scorer": "first"})


def test_a_sink_that_chooses_goes_by_the_reward() -> None:
    judge = {"parts": [RULES | {"name": "grader"}]}
    plan = plan_of({"sinks": ["b", "best", "vote"]}, judge=judge)
    assert [(sink.model, sink.role) for sink in plan.sinks] == [("b", NodeRole.ASSISTANT), ("", NodeRole.BEST), ("", NodeRole.VOTE)]
    assert plan.guide is not None
    assert [reward.name for reward in plan.guide.rewards] == ["rules"]
    assert plan_of(judge=judge).guide is None
    assert plan_of({"sinks": ["best"]}).guide is None, "what grades also guides"


@pytest.mark.parametrize(
    ("search", "more", "kind", "said"),
    [
        ({}, {"optimize": None}, InputError, "describes no graph search"),
        ({"models": ["c"]}, {}, UnknownNameError, "unknown model 'c'"),
        ({"sinks": ["c"]}, {}, UnknownNameError, "unknown sink 'c'"),
        ({"method": "rndom"}, {}, UnknownNameError, "Did you mean 'random'"),
        ({"settings": {"no_such": 1}}, {}, UnknownNameError, "no_such"),
        ({"objective": "latency:1"}, {}, InputError, "how many seconds"),
        ({"train": 9}, {}, InputError, "there are 9 questions"),
        ({}, {"models": []}, InputError, "no models"),
        ({}, {"reward": {"parts": [RULES | {"normalise": "run"}]}}, InputError, "must not depend on what was scored before"),
        ({}, {"reward": {"parts": [{"kind": "tournament", "model": "b"}]}}, InputError, "compares the answers of one question"),
        ({"caps": {"units": 8.0}}, {}, BudgetError, "compared by units, and 'a' has no size .*; 'b' has no size"),
        ({"caps": {"usd": 1.0}}, {}, BudgetError, "compared by usd, and 'a' has no price"),
        ({"objective": "cost:0.2:units=8"}, {}, BudgetError, "compared by units, and 'a' has no size"),
        ({}, {"budget": {"usd": 1.0}}, BudgetError, "the price of 'a', 'b' is not known"),
    ],
)
def test_what_does_not_fit_is_refused(search: dict[str, object], more: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        plan_of(search, **more)


def test_the_cheapest_is_the_one_that_takes_least_of_what_is_capped() -> None:
    small, large = (ModelShape(parameters, layers=16, width=2048) for parameters in (10**9, 8 * 10**9))
    costs = KnownCosts(
        {
            "small": ModelCost(small, Price(usd_per_million_prompt=2.0, usd_per_million_completion=2.0)),
            "large": ModelCost(large, Price(usd_per_million_prompt=1.0, usd_per_million_completion=1.0)),
        },
        Workload(100, 10),
    )
    assert cheapest_first(("large", "small"), costs) == ("small", "large")
    assert cheapest_first(("large", "small"), costs, Caps(units=9.0, usd=1.0)) == ("small", "large")
    assert cheapest_first(("small", "large"), costs, Caps(usd=1.0)) == ("large", "small")


def test_the_optimiser_models_size_chooses_the_style_unless_it_is_given() -> None:
    def style(optimiser: str, **settings: object) -> object:
        models = [
            model("small", shape={"parameters": 1e9, "layers": 16, "width": 2048}),
            model("large", shape={"parameters": 7e10, "layers": 80, "width": 8192}),
        ]
        plan = plan_of({"method": "textgrad", "optimizer": optimiser, "settings": settings}, models=[*models, model("served")])
        assert isinstance(plan.method, TextGrad)
        return plan.method.style

    assert [style(name) for name in ("small", "large", "served")] == ["compact", "full", "full"]
    assert style("small", style="full") == "full"
    assert style("large", style="compact") == "compact"


def test_a_sink_that_chooses_needs_somebody_to_choose_from() -> None:
    final = {"parts": [{"kind": "final_answer"}]}
    with pytest.raises(InputError, match="'vote' chooses among agents, and there may be none: allow at least 1"):
        plan_of({"max_agents": 0, "sinks": ["a", "vote"]}, reward=final)
    assert len(plan_of({"max_agents": 0}).sinks) == 2
    assert len(plan_of({"max_agents": 1, "sinks": ["vote"]}, reward=final).sinks) == 1
