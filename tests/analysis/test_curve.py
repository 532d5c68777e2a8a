"""Curves over prompts: hand-computed means, who is left out, and what is asked wrongly."""

import pytest
from tests.analysis.built_records import Told, record_of

from multigraft.analysis.curve import Curve, Series, curve_of
from multigraft.analysis.intervals import Bootstrap
from multigraft.analysis.points import PromptPoints, points_of
from multigraft.errors import InputError, UnknownNameError

FEW = Bootstrap(100)


def prompt(*calls: Told, ended: str | None = "done", group: str | None = None) -> PromptPoints:
    return points_of(record_of(*calls, ended=ended, fields={} if group is None else {"level": group}), by="level" if group else None)


def means(series: Series) -> dict[int, float]:
    return {point: estimate.value for point, estimate in series.estimates.items()}


def test_both_curves_by_hand() -> None:
    found = curve_of(
        [
            prompt(Told(0.0, {"judge": 3.0}, tokens=1), Told(1.0, {"judge": 1.0}, tokens=1)),
            prompt(Told(0.5, {"judge": 2.0}, tokens=1), Told(0.25, {}, tokens=3)),
        ],
        bootstrap=FEW,
    )
    assert found.points == (1, 2)
    assert means(found.reward) == {1: 0.25, 2: 0.75}
    assert means(found.scorers["judge"]) == {1: 2.5, 2: 1.5}
    assert (found.scorers["judge"].num_prompts, found.scorers["judge"].num_missing) == (2, 0)
    assert found.oracles == {}  # one of the second responses is not judged
    assert [(cost.tokens, cost.calls) for cost in found.costs.values()] == [(1.0, 1.0), (3.0, 2.0)]
    interval = found.reward.estimates[2]
    assert (interval.low, interval.high) == (0.5, 1.0)


def test_an_oracle_needs_all_responses_scored() -> None:
    prompts = [prompt(Told(0.0, {"judge": 3.0}), Told(1.0, {"judge": 1.0})), prompt(Told(0.5, {"judge": 2.0}), Told(0.25, {"judge": 4.0}))]
    found = curve_of(prompts, bootstrap=FEW)
    assert means(found.oracles["judge"]) == {1: 2.5, 2: 3.5}
    assert means(found.scorers["judge"]) == {1: 2.5, 2: 1.5}


def test_a_prompt_with_fewer_responses_stands_with_all_it_has() -> None:
    found = curve_of([prompt(Told(0.0), Told(1.0), Told(0.0), Told(2.0)), prompt(Told(0.5), Told(failed=True))], bootstrap=FEW)
    assert found.points == (1, 2, 4)
    assert found.reached == {1: 2, 2: 1, 4: 1}
    assert means(found.reward) == {1: 0.25, 2: 0.75, 4: 1.25}


def test_a_prompt_whose_choice_is_not_judged_at_a_point_is_left_out_at_all_and_told() -> None:
    judged = [prompt(Told(0.0, {"judge": 4.0}), Told(1.0, {"judge": 2.0})) for _ in range(3)]
    found = curve_of([*judged, prompt(Told(0.0, {"judge": 100.0}), Told(1.0))], bootstrap=FEW)
    assert means(found.scorers["judge"]) == {1: 4.0, 2: 2.0}
    assert (found.scorers["judge"].num_prompts, found.scorers["judge"].num_missing) == (3, 1)
    assert found.reward.num_prompts == 4


def test_a_judge_asked_only_at_the_end_has_one_point() -> None:
    asked_at_the_end = [prompt(Told(0.0), Told(1.0, {"judge": 2.0})) for _ in range(3)]
    found = curve_of([*asked_at_the_end, prompt(Told(1.0, {"judge": 6.0}), Told(0.0))], bootstrap=FEW)
    assert means(found.scorers["judge"]) == {2: 3.0}
    assert found.scorers["judge"].num_missing == 0


def test_prompts_without_an_end_or_a_response_are_counted_apart() -> None:
    found = curve_of([prompt(Told(1.0)), prompt(Told(9.0), ended=None), prompt(Told(failed=True))], bootstrap=FEW)
    assert (found.num_prompts, found.num_unfinished, found.num_without_response) == (1, 1, 1)
    assert means(found.reward) == {1: 1.0}


def test_a_response_without_a_reward_is_missing_not_zero() -> None:
    found = curve_of([prompt(Told(None), Told(1.0)), prompt(Told(3.0), Told(None))], bootstrap=FEW)
    assert means(found.reward) == {1: 3.0, 2: 3.0}
    assert found.reward.num_missing == 1


def test_the_reward_itself_is_no_judge_unless_named() -> None:
    prompts = [prompt(Told(1.0, {"rules": 1.0, "judge": 0.0}))]
    assert list(curve_of(prompts, bootstrap=FEW).scorers) == ["judge"]
    assert list(curve_of(prompts, scorers=["rules", "rules"], bootstrap=FEW).scorers) == ["rules"]


def test_points_that_are_asked_for() -> None:
    prompts = [prompt(*(Told(float(reward)) for reward in range(6)))]
    wanted = [points_of(record_of(*(Told(float(reward)) for reward in range(6))), (3, 100))]
    assert curve_of(wanted, points=(3, 100), bootstrap=FEW).points == (3,)
    assert curve_of(prompts, points=(100,), bootstrap=FEW).points == (6,)


def test_groups_at_the_last_point() -> None:
    found = curve_of([prompt(Told(1.0), Told(2.0), group="easy"), prompt(Told(3.0), group="hard"), prompt(Told(5.0), group="hard")], bootstrap=FEW)
    assert [(group.name, group.num_prompts, group.estimates["reward"].value) for group in found.groups] == [("easy", 1, 2.0), ("hard", 2, 4.0)]


def test_mistakes_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown scorer 'jugde'. Did you mean 'judge'\?"):
        curve_of([prompt(Told(1.0, {"judge": 0.0}))], scorers=["jugde"])
    with pytest.raises(InputError, match="multigraft score RUN --with judge"):
        curve_of([prompt(Told(1.0))], scorers=["judge"])
    with pytest.raises(InputError, match="no finished prompt has a response"):
        curve_of([prompt(Told(1.0), ended=None)])


def test_a_judge_that_falls_while_the_reward_rises_is_found() -> None:
    prompts = [prompt(Told(number / 100, {"judge": 1.0}), Told(1 + number / 100, {"judge": 0.1 * (number % 3)})) for number in range(12)]
    found: Curve = curve_of(prompts, bootstrap=Bootstrap(200))
    hacking = found.hacking["judge"]
    assert (hacking.verdict, hacking.peak, hacking.since, hacking.onset) == ("falls", 1, 1, 2)
    assert hacking.judge_change is not None
    assert hacking.judge_change.value == pytest.approx(-0.9)
