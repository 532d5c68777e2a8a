"""Ratings from battles: closed forms, ratings that battles were drawn from, and what must not matter."""

from math import exp, log
from random import Random

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.analysis.bradley_terry import Battle, battles_of, ranking_of, ratings_of, win_rates
from multigraft.analysis.comparisons import Comparison, is_graded
from multigraft.analysis.intervals import Bootstrap
from multigraft.errors import InputError

FEW = Bootstrap(100)


def test_two_players_in_closed_form() -> None:
    battles = [Battle(f"p{index}", "run", "baseline", float(index < 7)) for index in range(10)]
    ratings = ratings_of(battles, "baseline")
    assert ratings["run"] == pytest.approx(log(7 / 3), abs=1e-5)
    assert win_rates(ratings, "baseline")["run"] == pytest.approx(0.7, abs=1e-6)
    best, _ = ranking_of(battles, "baseline", bootstrap=FEW)
    assert (best.name, best.num_battles) == ("run", 10)
    assert best.rating.value == pytest.approx(1000 + 400 * log(7 / 3) / log(10), abs=0.01)
    assert best.win_rate.low == pytest.approx(0.4, abs=0.101)


def test_a_tie_is_half_a_win_for_each() -> None:
    ratings = ratings_of([Battle("p", "run", "baseline", 1.0), Battle("p", "run", "baseline", 0.5)], "baseline")
    assert win_rates(ratings, "baseline")["run"] == pytest.approx(0.75, abs=1e-5)
    assert ratings_of([Battle("p", "run", "baseline", 0.5)], "baseline")["run"] == pytest.approx(0.0, abs=1e-9)


def test_a_strong_verdict_weighs_three() -> None:
    comparisons = [Comparison("p1", 0.875, orders=(1.0, 0.75)), Comparison("p2", 0.375, orders=(0.25, 0.5)), Comparison("p3", 0.5)]
    assert is_graded(comparisons)
    battles = battles_of("run", comparisons, "baseline", graded=True)
    assert [(battle.outcome, battle.weight) for battle in battles] == [(1.0, 3.0), (1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (0.5, 1.0), (0.5, 1.0)]
    # (3 + 1 + 3 * 0.5) of (3 + 5)
    assert win_rates(ratings_of(battles, "baseline"), "baseline")["run"] == pytest.approx(5.5 / 8, abs=1e-5)
    assert [battle.weight for battle in battles_of("run", comparisons, "baseline", graded=True, strong_weight=1.0)] == [1.0] * 6


def test_verdicts_that_say_not_by_how_much_weigh_one() -> None:
    plain = [Comparison("p1", 0.5, orders=(1.0, 0.0)), Comparison("p2", 0.8)]
    likely = [Comparison("p1", 0.7, orders=(0.65, 0.75))]
    assert not is_graded(plain)
    assert not is_graded(likely)
    assert not is_graded([])
    assert [(battle.outcome, battle.weight) for battle in battles_of("run", plain, "baseline", graded=False)] == [
        (1.0, 1.0),
        (0.0, 1.0),
        (0.8, 1.0),
        (0.8, 1.0),
    ]


def test_ratings_that_battles_were_drawn_from_come_back() -> None:
    truth = {"baseline": 0.0, "a": 1.0, "b": -0.5, "c": 0.3}
    generator = numpy.random.default_rng(1)
    names = list(truth)
    battles = []
    for index in range(4000):
        first, second = generator.choice(names, 2, replace=False)
        chance = 1 / (1 + exp(truth[second] - truth[first]))
        battles.append(Battle(f"p{index}", str(first), str(second), float(generator.random() < chance)))
    found = ratings_of(battles, "baseline")
    assert [found[name] for name in names] == pytest.approx([truth[name] for name in names], abs=0.15)


def test_a_player_who_wins_always_has_a_number_all_the_same() -> None:
    battles = [Battle(f"p{index}", "run", "baseline", 1.0) for index in range(20)]
    (best, baseline) = ranking_of(battles, "baseline", bootstrap=FEW)
    assert best.win_rate.value == pytest.approx(1.0, abs=1e-5)
    assert numpy.isfinite(best.rating.value)
    assert (baseline.name, baseline.rating.value, baseline.win_rate.value, baseline.num_battles) == ("baseline", 1000.0, 0.5, 20)


def test_players_who_never_met_are_named() -> None:
    with pytest.raises(InputError, match="x, y never met baseline"):
        ratings_of([Battle("p", "run", "baseline", 1.0), Battle("p", "x", "y", 1.0)], "baseline")


def test_prompts_are_drawn_with_all_their_battles() -> None:
    once = [Battle(f"p{index}", "run", "baseline", float(index % 3 > 0)) for index in range(30)]
    twice = [battle for battle in once for _ in range(2)]
    assert ranking_of(once, "baseline", bootstrap=FEW)[0].win_rate.low == pytest.approx(ranking_of(twice, "baseline", bootstrap=FEW)[0].win_rate.low, abs=1e-5)


battles_strategy = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([1.0, 3.0])), min_size=3, max_size=15)


@settings(max_examples=30, deadline=None)
@given(battles_strategy, st.randoms(use_true_random=False), st.floats(-5, 5))
def test_neither_order_nor_side_nor_a_constant_matters(rows: list[tuple[str, float, float]], random: Random, constant: float) -> None:
    battles = [Battle(f"p{index}", name, "baseline", outcome, weight) for index, (name, outcome, weight) in enumerate(rows)]
    ratings = ratings_of(battles, "baseline")
    turned = [Battle(each.prompt_id, each.second, each.first, 1.0 - each.outcome, each.weight) if random.random() < 0.5 else each for each in battles]
    random.shuffle(turned)
    rates = win_rates(ratings, "baseline")
    assert win_rates(ratings_of(turned, "baseline"), "baseline") == pytest.approx(rates, abs=1e-6)
    assert win_rates({name: rating + constant for name, rating in ratings.items()}, "baseline") == pytest.approx(rates)
    # All met the baseline alone: each rate is the weighted share of wins.
    for name in {battle.first for battle in battles}:
        own = [battle for battle in battles if battle.first == name]
        share = sum(battle.outcome * battle.weight for battle in own) / sum(battle.weight for battle in own)
        assert rates[name] == pytest.approx(share, abs=1e-4)
