"""A limit of dollars needs the price of every model it pays, and of no other."""

import pytest

from multigraft.build.run import plan_of
from multigraft.config import RunFile, checked
from multigraft.errors import BudgetError

PRICED: dict[str, object] = {"price": {"prompt": 1.0, "completion": 1.0}}


def run_file(ann: dict[str, object], critic: dict[str, object], *, budget: dict[str, object], apart: dict[str, object], guide: bool = False) -> RunFile:
    graded = {"kind": "graded_judge", "model": "critic"}
    settings: dict[str, object] = {
        "prompts": "prompts.jsonl",
        "models": [{"name": "ann", "kind": "scripted"} | ann, {"name": "critic", "kind": "scripted"} | critic],
        "reward": {"parts": [graded | {"name": "guide"} if guide else {"kind": "rules"}]},
        "judge": {"parts": [graded], "budget": apart},
        "budget": budget,
    }
    return checked(settings, None)


def test_a_limit_asks_for_no_price_of_what_it_does_not_pay() -> None:
    assert plan_of(run_file(PRICED, {}, budget={"usd": 1}, apart={})).names == ("ann",)
    assert plan_of(run_file(PRICED, {}, budget={"prompt": {"usd": 1}}, apart={})).names == ("ann",)
    assert plan_of(run_file({}, PRICED, budget={}, apart={"usd": 1})).names == ("ann",)


def test_a_limit_asks_for_the_price_of_what_it_pays() -> None:
    with pytest.raises(BudgetError, match="price of 'critic'"):
        plan_of(run_file(PRICED, {}, budget={}, apart={"usd": 1}))
    with pytest.raises(BudgetError, match="price of 'critic'"):
        plan_of(run_file(PRICED, {}, budget={"usd": 1}, apart={}, guide=True))
    with pytest.raises(BudgetError, match="price of 'ann'"):
        plan_of(run_file({}, PRICED, budget={"prompt": {"usd": 1}}, apart={}))
