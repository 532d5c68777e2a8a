import pytest

from multigraft.budget.amount import NO_LIMITS, NOTHING, Amount, Limits
from multigraft.budget.describe import describe, flops_text, seconds_text, usd_text
from multigraft.budget.parse import parse_limits
from multigraft.errors import InputError, UnknownNameError


def test_all_kinds_at_once() -> None:
    limits = parse_limits("flops=2e13,usd=1,tokens=1e6,calls=500,seconds=600")
    assert limits == Limits(flops=2e13, tokens=1_000_000, usd=1.0, calls=500, seconds=600.0)
    assert isinstance(limits.tokens, int)


def test_spaces_and_fractions() -> None:
    assert parse_limits(" usd = 0.25 , seconds=1.5 ") == Limits(usd=0.25, seconds=1.5)


def test_large_whole_numbers_stay_exact() -> None:
    assert parse_limits("tokens=9007199254740993").tokens == 9007199254740993


@pytest.mark.parametrize("text", ["", "flops", "usd=", "=5", "usd=1,,calls=2", "usd=1,", "usd:1"])
def test_a_part_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"is not of the form kind=number; write it like flops=2e13"):
        parse_limits(text)


def test_an_unknown_kind_is_named_with_a_guess() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown kind of limit 'flop'\. Did you mean 'flops'\?"):
        parse_limits("usd=1,flop=2e13")


def test_a_kind_given_twice_is_refused() -> None:
    with pytest.raises(InputError, match="gives usd twice"):
        parse_limits("usd=1,calls=3,usd=2")


@pytest.mark.parametrize("number", ["many", "1e", "0x10", "1,5"])
def test_what_is_no_number_is_refused(number: str) -> None:
    with pytest.raises(InputError):
        parse_limits(f"calls={number}")


@pytest.mark.parametrize("number", ["0", "-1", "nan", "inf", "-inf", "1e31", "1e999999999", "sNaN"])
@pytest.mark.parametrize("kind", Limits._fields)
def test_what_is_no_limit_is_refused(kind: str, number: str) -> None:
    with pytest.raises(InputError, match=f"'{kind}={number}' is no limit to stop at"):
        parse_limits(f"{kind}={number}")


@pytest.mark.parametrize("kind", ["tokens", "calls"])
def test_a_fraction_of_a_whole_thing_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match=f"'{kind}=1.5' is not whole"):
        parse_limits(f"{kind}=1.5")


def test_limits_and_amounts_in_words() -> None:
    limits = Limits(flops=2e13, tokens=1_000_000, usd=1.0, calls=500, seconds=600.0)
    assert describe(limits) == "20 TFLOPs, $1.00, 1,000,000 tokens, 500 calls, 10 min"
    assert describe(Amount(flops=1.234e15, calls=1)) == "1.23 PFLOPs, 1 call"
    assert describe(NO_LIMITS) == "no limit"
    assert describe(NOTHING) == "nothing"


@pytest.mark.parametrize(
    ("flops", "text"), [(0, "0 FLOPs"), (999, "999 FLOPs"), (999_600, "1 MFLOPs"), (9.689426e11, "969 GFLOPs"), (5e18, "5 EFLOPs"), (2e21, "2e+21 FLOPs")]
)
def test_flops_in_words(flops: float, text: str) -> None:
    assert flops_text(flops) == text


@pytest.mark.parametrize(
    ("usd", "text"), [(0, "$0.00"), (1234.5, "$1,234.50"), (0.1, "$0.10"), (0.012, "$0.0120"), (0.00054, "$0.000540"), (1.5e-7, "$1.5e-07"), (0.0996, "$0.10")]
)
def test_dollars_in_words(usd: float, text: str) -> None:
    assert usd_text(usd) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.25, "0.25 s"), (59, "59 s"), (90, "1.5 min"), (7200, "2 h"), (172800, "2 d"), (8_640_000_000, "100000 d")])
def test_times_in_words(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text
