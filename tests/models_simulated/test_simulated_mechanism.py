from dataclasses import replace
from math import exp, log

import numpy
import pytest

from multigraft.models.simulated.mechanism import RIGHT, Asked, Output, best, confusion, first_answer, mean_strength, probability, reading_answer, voted
from multigraft.models.simulated.tasks import LARGE, MATH, SMALL

# Round numbers, so that log-odds can be added up by hand.
TASK = replace(
    MATH,
    others=3,
    lure=0.5,
    independence=0.5,
    right_pull=2.0,
    wrong_pull=1.0,
    saturation=0.5,
    copying=0.25,
    persuasion=0.5,
    capacity=4.0,
    growth=0.0,
    overload=0.0,
    heritage=0.5,
    fusing_loss=0.25,
    fusing_relief=0.5,
)


def output(*answers: int, clutter: float = 1.0, model: str = SMALL) -> Output:
    return Output(model, numpy.array(answers), numpy.zeros(len(answers)), clutter)


def asked(*, count: int = 1, fuses: bool = False, strength: float = 1.0, luck: float = 0.5, whim: float = 0.9, sway: float = 0.9) -> Asked:
    return Asked(SMALL, fuses, *(numpy.full(count, value) for value in (strength, luck, whim, sway)))


def odds(value: float) -> float:
    return 1 / (1 + exp(-value))


def test_a_first_answer_is_as_likely_right_as_the_model_is_strong() -> None:
    found = first_answer(TASK, asked(strength=log(3)))
    assert found.chance.tolist() == pytest.approx([0.75])
    assert found.answers.tolist() == [RIGHT]
    assert found.clutter == 1


@pytest.mark.parametrize(("whim", "answer"), [(0.0, 1), (0.49, 1), (0.51, 2), (0.74, 2), (0.76, 3), (0.999, 3)])
def test_a_wrong_answer_is_the_usual_mistake_or_one_of_the_others(whim: float, answer: int) -> None:
    assert first_answer(TASK, asked(luck=0.999, whim=whim)).answers.tolist() == [answer]


@pytest.mark.parametrize(
    ("seen", "log_odds"),
    [
        ([0], 0.5 + 2),
        ([1], 0.5 - 1),
        ([0, 0, 0, 0], 0.5 + 4),  # four pull as two: 4 ** 0.5
        ([0, 1], 0.5 + 2 - 1),
        ([1, 2, 3], 0.5 - 1),  # wrong answers that disagree pull as one
        ([1, 1, 1, 1, 2], 0.5 - 2),
    ],
)
def test_a_reader_is_pulled_by_what_it_sees(seen: list[int], log_odds: float) -> None:
    found = reading_answer(TASK, asked(), [output(answer) for answer in seen])
    assert found.chance.tolist() == pytest.approx([odds(log_odds)])


def test_a_wrong_reader_repeats_the_most_frequent_mistake_it_sees_or_makes_its_own() -> None:
    read = [output(2), output(2), output(3), output(0)]
    assert reading_answer(TASK, asked(luck=0.9999, sway=0.24, whim=0.0), read).answers.tolist() == [2]
    assert reading_answer(TASK, asked(luck=0.9999, sway=0.26, whim=0.0), read).answers.tolist() == [1]
    # Nothing wrong in sight: its own.
    assert reading_answer(TASK, asked(luck=0.9999, sway=0.0, whim=0.99), [output(0)]).answers.tolist() == [3]


def test_clutter_is_inherited_and_a_fuser_sheds_it() -> None:
    read = [output(0, clutter=3), output(0, clutter=5)]
    assert reading_answer(TASK, asked(), read).clutter == 1 + 0.5 * 4
    assert reading_answer(TASK, asked(fuses=True), read).clutter == 1


def test_a_right_answer_of_a_larger_model_convinces_more() -> None:
    # 8 ** 0.5 small ones, to the power 0.5; wrong ones do not.
    assert reading_answer(TASK, asked(), [output(0, model=LARGE)]).chance.tolist() == pytest.approx([odds(0.5 + 2 * 8**0.25)])
    assert reading_answer(TASK, asked(), [output(1, model=LARGE)]).chance.tolist() == pytest.approx([odds(0.5 - 1)])


def test_much_to_read_confuses_a_small_model_first() -> None:
    task = replace(TASK, overload=0.5, growth=0.4)
    assert confusion(task, SMALL, 4.0) == pytest.approx(0.25)
    assert confusion(task, SMALL, 40.0) == pytest.approx(0.5)
    assert confusion(task, SMALL, 1.0) == pytest.approx(0.5 / (1 + exp(6)))
    assert confusion(task, LARGE, 8.0) < confusion(task, SMALL, 8.0)


def test_a_fuser_helps_where_there_is_much_to_read_and_hurts_where_there_is_little() -> None:
    task = replace(TASK, overload=2.0, capacity=8.0)
    for count, helps in ((2, False), (12, True)):
        read = [output(0)] * count
        chances = [float(reading_answer(task, asked(fuses=fuses), read).chance[0]) for fuses in (False, True)]
        assert (chances[1] > chances[0]) is helps


def test_a_vote_takes_the_most_frequent_answer_and_the_first_of_equals() -> None:
    read = [output(3, 1, 2), output(0, 1, 0), output(0, 2, 1)]
    assert voted(read).answers.tolist() == [0, 1, 2]
    assert voted(read).chance.tolist() == [1, 0, 0]


def test_the_best_is_the_one_of_highest_reward() -> None:
    read = [output(1, 1), output(0, 0)]
    noise = [numpy.array([1.0, 1.0]), numpy.array([0.0, -1.0])]
    # The right one has 1.5 more: 1.5 against 1 on the first question, 0.5 against 1 on the second.
    assert best(TASK, read, noise).answers.tolist() == [0, 1]


@pytest.mark.parametrize("share", [0.05, 0.31, 0.5, 0.84])
@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])
def test_the_mean_strength_gives_the_share_over_questions(share: float, spread: float) -> None:
    grid = numpy.linspace(-8, 8, 4001)
    weights = numpy.exp(-grid * grid / 2)
    mean = float(weights @ probability(mean_strength(share, spread) + spread * grid) / weights.sum())
    assert mean == pytest.approx(share, abs=2e-4)
