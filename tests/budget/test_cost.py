import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.budget.amount import Amount, Limits
from multigraft.budget.cost import ModelCost, check_limits, prompt_tokens_bound
from multigraft.budget.flops import ModelShape
from multigraft.budget.price import Price, picodollars_per_token
from multigraft.errors import BudgetError, InputError
from multigraft.types import Message, Request, Sampling, Usage

TOY = ModelShape(100, 2, 10)
PRICE = Price(usd_per_million_prompt=0.5, usd_per_million_completion=2.0, usd_per_million_cached=0.1)
COST = ModelCost(TOY, PRICE)


def usages_of(prompt: int, completions: list[int], cached: int = 0) -> list[Usage]:
    first, *rest = completions
    return [Usage(prompt, first, cached, context_tokens=prompt), *(Usage(0, tokens, context_tokens=prompt) for tokens in rest)]


def test_a_bound_by_hand() -> None:
    # Reading 10 once, writing 3 twice: 6400 + 2 * 3480; 10 * $0.5e-6 + 6 * $2e-6.
    assert COST.bound(10, 3, 2) == Amount(flops=13360, tokens=16, usd=17e-6, calls=1)


def test_a_bound_where_each_sample_takes_a_request() -> None:
    assert COST.bound(10, 3, 2, requests=2) == Amount(flops=2 * 9880, tokens=26, usd=22e-6, calls=2)


def test_the_actual_cost_by_hand() -> None:
    # 4 of the 10 prompt tokens were cached: 6 * 0.5 + 4 * 0.1 + (3 + 1) * 2 = 11.4 millionths; decoding one token after ten: 200 + 40 * 22.
    assert COST.actual(usages_of(10, [3, 1], cached=4)) == Amount(flops=6400 + 3480 + 1080, tokens=14, usd=11.4e-6, calls=1)


def test_without_a_discount_cached_tokens_cost_what_others_do() -> None:
    cost = ModelCost(TOY, Price(usd_per_million_prompt=0.5, usd_per_million_completion=2.0))
    assert cost.actual(usages_of(10, [0], cached=4)).usd == 5e-6


def test_the_bound_holds_where_cached_tokens_are_dearer() -> None:
    cost = ModelCost(None, Price(usd_per_million_prompt=0.5, usd_per_million_completion=2.0, usd_per_million_cached=0.6))
    assert cost.bound(10, 0).usd == cost.actual(usages_of(10, [0], cached=10)).usd == 6e-6


def test_a_failure_that_was_not_billed_is_one_call() -> None:
    assert COST.actual([Usage()]) == Amount(calls=1)


def test_what_is_not_known_counts_as_nothing() -> None:
    assert ModelCost().bound(10, 3) == Amount(tokens=13, calls=1)
    assert ModelCost().actual(usages_of(10, [3])) == Amount(tokens=13, calls=1)


COUNTS = st.integers(0, 5000)


@settings(deadline=None, max_examples=100)
@given(prompt=COUNTS, slack=COUNTS, completions=st.lists(st.integers(0, 3000), min_size=1, max_size=8), cached=COUNTS)
def test_the_actual_cost_stays_within_the_bound_and_its_shares_add_up(prompt: int, slack: int, completions: list[int], cached: int) -> None:
    usages = usages_of(prompt, completions, cached)
    actual, bound = COST.actual(usages), COST.bound(prompt + slack, max(completions), len(completions))
    assert all(one <= most for one, most in zip(actual, bound, strict=True))
    shares = COST.shares(usages)
    assert len(shares) == len(usages)
    assert (sum(share.flops for share in shares), sum(share.tokens for share in shares), sum(share.calls for share in shares)) == (
        actual.flops,
        actual.tokens,
        actual.calls,
    )
    assert sum(round(share.usd * 1e12) for share in shares) == round(actual.usd * 1e12)


def test_dollars_of_a_graph_of_four_models_and_a_sink() -> None:
    eight = ModelCost(None, Price(usd_per_million_prompt=0.18, usd_per_million_completion=0.18))
    three = ModelCost(None, Price(usd_per_million_prompt=0.06, usd_per_million_completion=0.06))
    usd = 4 * eight.actual(usages_of(202, [275])).usd + three.actual(usages_of(202 + 4 * 275, [275])).usd
    assert usd == pytest.approx(4.381e-4, abs=5e-8)


def test_prices_become_whole_picodollars() -> None:
    assert [picodollars_per_token(price) for price in (0, 0.02, 0.075, 0.18, 15)] == [0, 20_000, 75_000, 180_000, 15_000_000]
    assert picodollars_per_token(1e-7) == 1


@pytest.mark.parametrize("bad", [-0.01, float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("field", ["usd_per_million_prompt", "usd_per_million_completion", "usd_per_million_cached"])
def test_an_impossible_price_is_refused(field: str, bad: float) -> None:
    with pytest.raises(ValueError, match=f"{field} is {bad}"):
        Price(**{"usd_per_million_prompt": 1.0, "usd_per_million_completion": 1.0, field: bad})


def test_prompt_tokens_are_bounded_by_bytes_and_margins() -> None:
    messages = (Message("system", "é"), Message("user", "abc"))
    # Two bytes and three, the names of the roles, and the margins.
    assert prompt_tokens_bound(messages) == 2 + 3 + 6 + 4 + 2 * 16 + 128
    assert prompt_tokens_bound(messages, message_tokens=1, template_tokens=0) == 2 + 3 + 6 + 4 + 2
    assert prompt_tokens_bound((Message("user", "\ud800"),), message_tokens=0, template_tokens=0) == 3 + 4


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_no_tokenizer_finds_more_tokens_than_bytes(text: str) -> None:
    assert prompt_tokens_bound((Message("", text),), message_tokens=0, template_tokens=0) >= len(json.loads(json.dumps(text)).encode("utf-8", "replace"))


def test_a_request_is_bounded_with_the_models_own_margins() -> None:
    cost = ModelCost(TOY, PRICE, message_tokens=2, template_tokens=1)
    request = Request((Message("user", "abc"),), Sampling(max_tokens=3), seeds=(1, 2))
    assert cost.bound_of(request) == cost.bound(3 + 4 + 2 + 1, 3, 2)


def test_an_exact_cost_without_an_architecture_is_refused() -> None:
    with pytest.raises(InputError, match="add them, or choose the form 'paper'"):
        ModelCost(TOY, form="exact")


def test_an_unknown_form_or_negative_margin_is_refused() -> None:
    with pytest.raises(InputError, match="'rough' is no form"):
        ModelCost(TOY, form="rough")  # type: ignore[arg-type]  # what an unchecked run file could hold
    with pytest.raises(InputError, match="template_tokens is -1"):
        ModelCost(template_tokens=-1)


COSTS: Mapping[str, ModelCost] = {
    "known": COST,
    "free": ModelCost(None, Price(usd_per_million_prompt=0, usd_per_million_completion=0)),
    "sized": ModelCost(TOY),
}


def test_a_dollar_limit_needs_every_price() -> None:
    with pytest.raises(BudgetError, match=r"price of 'sized' is not known: add price = \{ prompt"):
        check_limits(Limits(usd=1.0), COSTS)


def test_a_flop_limit_needs_every_size() -> None:
    with pytest.raises(BudgetError, match=r"size of 'free' is not known: add shape = \{ parameters"):
        check_limits(Limits(flops=1e12), COSTS)


def test_all_that_is_missing_is_told_at_once() -> None:
    with pytest.raises(BudgetError, match=r"price of 'a', 'b' .*; FLOPs are limited, and the size of 'a', 'b'"):
        check_limits(Limits(flops=1e12, usd=1.0), {"b": ModelCost(), "a": ModelCost()})


def test_other_limits_need_neither() -> None:
    check_limits(Limits(tokens=10, calls=10, seconds=1.0), {"a": ModelCost()})
    check_limits(Limits(flops=1e12, usd=1.0), {"known": COST})


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_limit_is_refused(bad: float) -> None:
    for kind, limits in {"flops": Limits(flops=bad), "usd": Limits(usd=bad), "seconds": Limits(seconds=bad)}.items():
        with pytest.raises(InputError, match=f"field '{kind}': a limit of {bad} {kind} is no limit"):
            check_limits(limits, {})


def test_part_of_a_call_is_no_limit() -> None:
    with pytest.raises(InputError, match=r"a limit of 1\.5 calls is not whole"):
        check_limits(Limits(calls=1.5), {})  # type: ignore[arg-type]  # what an unchecked run file could hold
