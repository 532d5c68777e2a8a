"""Combining scores, by hand-computed values, and what never gets through."""

from math import inf, nan, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.knowledge import Knowledge
from multigraft.rewards.combine import Combination, Part, alone, names
from multigraft.types import FailureKind, Score

GONE = Score(None, FailureKind.TIMEOUT, "no answer in time", retryable=True)
UNCHECKED = Score(None, FailureKind.UNSCORABLE, "nothing to check")


def raw(**values: float) -> dict[str, Score]:
    return {name: Score(value) for name, value in values.items()}


def learnt(combination: Combination, *rows: tuple[str, dict[str, Score]]) -> Knowledge:
    knowledge = Knowledge()
    for model, scores in rows:
        combination.learn(scores, model, knowledge)
    return knowledge


def test_a_single_reward_is_its_raw_value_and_message() -> None:
    assert alone("rules").value({"rules": Score(0.25, message="1 of 4")}, "m", Knowledge()) == Score(0.25, message="1 of 4")
    assert names(alone("rules")) == ["rules"]


def test_weighted_sum_of_raw_values() -> None:
    combination = Combination(parts=(Part(name="a", weight=2.0), Part(name="b", weight=-0.5)))
    score = combination.value(raw(a=3.0, b=4.0), "m", Knowledge())
    assert score.value == 2 * 3.0 - 0.5 * 4.0
    assert score.message == "a 3, b 4"


def test_run_normalised_counts_deviations_over_the_run() -> None:
    combination = Combination(parts=(Part(name="a", weight=3.0, normalise="run"),))
    knowledge = learnt(combination, ("m0", raw(a=1.0)), ("m1", raw(a=2.0)), ("m0", raw(a=3.0)))
    # Mean 2, sample variance ((-1)^2 + 0 + 1^2) / 2 = 1.
    assert combination.value(raw(a=4.0), "m1", knowledge).value == pytest.approx(6.0)


def test_model_normalised_counts_deviations_within_a_model() -> None:
    combination = alone("confidence", normalise="model")
    rows = [("sure", -0.1), ("sure", -0.3), ("unsure", -2.0), ("unsure", -4.0)]
    knowledge = learnt(combination, *((model, raw(confidence=value)) for model, value in rows))
    # "sure": mean -0.2, deviation sqrt(0.02); "unsure": mean -3, deviation sqrt(2).
    assert combination.value(raw(confidence=-0.3), "sure", knowledge).value == pytest.approx(-0.1 / sqrt(0.02))
    assert combination.value(raw(confidence=-2.0), "unsure", knowledge).value == pytest.approx(1 / sqrt(2))
    assert combination.value(raw(confidence=-2.0), "new", knowledge).value == 0.0


def test_normalised_is_zero_until_a_spread_is_known() -> None:
    combination = alone("a", normalise="run")
    assert combination.value(raw(a=7.0), "m", learnt(combination, ("m", raw(a=7.0)))).value == 0.0


def test_minimum() -> None:
    combination = Combination(parts=(Part(name="a"), Part(name="b"), Part(name="c")), how="min")
    assert combination.value(raw(a=3.0, b=-1.0, c=2.0), "m", Knowledge()).value == -1.0


def test_lower_bound_is_mean_less_deviations() -> None:
    combination = Combination(parts=(Part(name="a"), Part(name="b"), Part(name="c", weight=2.0)), how="lower_bound", deviations=2.0)
    # Weighted mean (1 + 3 + 2 * 4) / 4 = 3; variance (4 + 0 + 2 * 1) / 4 = 1.5.
    assert combination.value(raw(a=1.0, b=3.0, c=4.0), "m", Knowledge()).value == pytest.approx(3 - 2 * sqrt(1.5))
    same = Combination(parts=(Part(name="a"), Part(name="b")), how="lower_bound")
    assert same.value(raw(a=2.0, b=2.0), "m", Knowledge()).value == 2.0


def test_a_missing_part_is_the_reason() -> None:
    combination = Combination(parts=(Part(name="a"), Part(name="b"), Part(name="c")))
    score = combination.value({"a": Score(1.0), "b": UNCHECKED, "c": GONE}, "m", Knowledge())
    assert score == Score(None, FailureKind.UNSCORABLE, "b: nothing to check", retryable=True)
    absent = combination.value(raw(a=1.0, c=1.0), "m", Knowledge())
    assert (absent.value, absent.reason, absent.retryable) == (None, FailureKind.UNSCORABLE, False)
    assert "reward 'b' gave no score" in absent.message


def test_an_optional_part_may_be_missing() -> None:
    parts = (Part(name="a"), Part(name="b", weight=2.0, optional=True))
    summed = Combination(parts=parts)
    knowledge = learnt(summed, ("m", raw(a=0.0, b=1.0)), ("m", raw(a=0.0, b=4.0)))
    assert summed.value({"a": Score(1.0), "b": GONE}, "m", knowledge).value == 1.0 + 2 * 2.5
    normalised = Combination(parts=(parts[0], Part(name="b", normalise="run", optional=True)))
    assert normalised.value({"a": Score(1.0), "b": GONE}, "m", knowledge).value == 1.0
    assert Combination(parts=parts, how="lower_bound").value({"a": Score(1.0)}, "m", knowledge).value == 1.0
    required = summed.value({"a": GONE, "b": Score(1.0)}, "m", knowledge)
    assert (required.value, required.reason) == (None, FailureKind.TIMEOUT)
    every = Combination(parts=(Part(name="a", optional=True),)).value({"a": GONE}, "m", knowledge)
    assert (every.value, every.reason, every.retryable) == (None, FailureKind.TIMEOUT, True)


def test_a_score_of_a_part_of_the_response_is_missing_unless_allowed() -> None:
    scores = {"a": Score(1.0), "b": Score(1.0, truncated=True)}
    parts = (Part(name="a"), Part(name="b"))
    refused = Combination(parts=parts).value(scores, "m", Knowledge())
    assert (refused.value, refused.reason) == (None, FailureKind.PARTLY_SCORED)
    allowed = Combination(parts=parts, allow_truncated=True).value(scores, "m", Knowledge())
    assert (allowed.value, allowed.truncated) == (2.0, True)
    assert not Combination(parts=parts).value(raw(a=1.0, b=1.0), "m", Knowledge()).truncated


@pytest.mark.parametrize("bad", [nan, inf, -inf])
@pytest.mark.parametrize("how", ["sum", "min", "lower_bound"])
def test_what_is_no_number_never_gets_through(bad: float, how: str) -> None:
    combination = Combination(parts=(Part(name="a"), Part(name="b")), how="min" if how == "min" else "sum" if how == "sum" else "lower_bound")
    scores = {"a": Score(1.0), "b": Score(bad)}
    knowledge = learnt(combination, ("m", scores))
    score = combination.value(scores, "m", knowledge)
    assert (score.value, score.reason) == (None, FailureKind.INVALID_SCORE)
    assert knowledge.of("part:b").count == 0


def test_a_sum_beyond_any_float_is_invalid() -> None:
    combination = Combination(parts=(Part(name="a", weight=1e10), Part(name="b")))
    assert combination.value(raw(a=1e305, b=1.0), "m", Knowledge()).reason is FailureKind.INVALID_SCORE


def test_nan_never_wins() -> None:
    combination = alone("a")
    values = [combination.value({"a": Score(value)}, "m", Knowledge()).value for value in (0.1, nan, 0.9, inf, 0.5)]
    assert max(value for value in values if value is not None) == 0.9
    assert values == [0.1, None, 0.9, None, 0.5]


@given(st.lists(st.tuples(st.sampled_from(["m0", "m1"]), st.one_of(st.none(), st.floats(-1e6, 1e6))), max_size=20))
@settings(max_examples=50, deadline=None)
def test_replaying_the_record_gives_the_same_values(rows: list[tuple[str, float | None]]) -> None:
    combination = Combination(parts=(Part(name="a", normalise="model"), Part(name="b", weight=0.5, normalise="run", optional=True)))

    def run() -> list[Score]:
        knowledge, scores = Knowledge(), []
        for model, value in rows:
            row = {"a": Score(value) if value is not None else GONE, "b": Score(1.0)}
            combination.learn(row, model, knowledge)
            scores.append(combination.value(row, model, knowledge))
        return scores

    scores = run()
    assert scores == run()
    assert [score.value is None for score in scores] == [value is None for _, value in rows]


def test_settings_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ValueError, match="each named once"):
        Combination(parts=(Part(name="a"), Part(name="a")))
    with pytest.raises(ValueError, match="at least one reward"):
        Combination(parts=())
    with pytest.raises(ValueError, match="takes no weights"):
        Combination(parts=(Part(name="a", weight=2.0),), how="min")
    with pytest.raises(ValueError, match="at least 0, not -1"):
        Combination(parts=(Part(name="a"),), how="lower_bound", deviations=-1)
    for weight in (0.0, nan, inf):
        with pytest.raises(ValueError, match="finite and not 0"):
            Part(name="a", weight=weight)
