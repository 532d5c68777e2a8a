"""How one call comes out, given what it reads: the rules of the simulated worlds, for many questions at once."""

from collections.abc import Sequence
from functools import lru_cache
from math import exp
from typing import Final, NamedTuple

import numpy

from multigraft.models.simulated.keyed import Floats, Integers
from multigraft.models.simulated.tasks import MODELS, SimulatedTask

RIGHT: Final = 0
"""The right answer's number; wrong ones are 1 (the usual mistake), 2, ..."""


STEEPNESS: Final = 8.0
"""How suddenly clutter confuses; assumed."""


class Output(NamedTuple):
    """What a node wrote, for each question."""

    model: str
    """Who wrote it."""
    answers: Integers
    """`RIGHT`, or the number of a wrong answer."""
    chance: Floats
    """Probability with which it was right, given what it read."""
    clutter: float
    """Digressions and repetitions that a reader of it must see through; a first answer has 1."""


class Asked(NamedTuple):
    """A call, for each question."""

    model: str
    fuses: bool
    strength: Floats
    """Of the model alone on the question; log-odds."""
    luck: Floats
    """(0, 1); below the chance: right."""
    whim: Floats
    """(0, 1); chooses a wrong answer."""
    sway: Floats
    """(0, 1); below `copying`: a wrong answer repeats one in sight."""


@lru_cache(maxsize=256)
def mean_strength(share: float, spread: float) -> float:
    """Find the mean log-odds at which a share of normally spread questions is answered right.

    Args:
        share: (0, 1).
        spread: standard deviation of the log-odds over questions; >= 0.
    """
    points, weights = numpy.polynomial.hermite_e.hermegauss(61)
    weights = weights / weights.sum()
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(weights @ probability(middle + spread * points)) < share else (low, middle)
    return (low + high) / 2


def probability(log_odds: Floats) -> Floats:
    """Turn log-odds into probabilities."""
    found: Floats = 1.0 / (1.0 + numpy.exp(-log_odds))
    return found


def first_answer(task: SimulatedTask, asked: Asked) -> Output:
    """Answer with nothing but the question in sight."""
    chance = probability(asked.strength)
    return Output(asked.model, numpy.where(asked.luck < chance, RIGHT, _mistake(task, asked.whim)), chance, 1.0)


def reading_answer(task: SimulatedTask, asked: Asked, read: Sequence[Output]) -> Output:
    """Answer with other answers in sight; at least one.

    Right ones pull towards the right answer, and wrong ones away, most of all where they agree. Too much to read confuses.
    """
    seen = numpy.array([output.answers for output in read])
    counts = numpy.array([numpy.count_nonzero(seen == answer, axis=0) for answer in range(1 + task.others)])
    favourite, num_worst = counts[1:].argmax(axis=0) + 1, counts[1:].max(axis=0)
    weights = numpy.array([MODELS[output.model].size_b ** task.persuasion for output in read])
    num_right = weights @ (seen == RIGHT)
    clutter = sum(output.clutter for output in read)
    felt = clutter * (task.fusing_relief if asked.fuses else 1.0)
    log_odds = (
        task.independence * asked.strength
        + task.right_pull * num_right**task.saturation
        - task.wrong_pull * num_worst**task.saturation
        - confusion(task, asked.model, felt)
        - (task.fusing_loss if asked.fuses else 0.0)
    )
    chance = probability(log_odds)
    own = _mistake(task, asked.whim)
    wrong = numpy.where((asked.sway < task.copying) & (num_worst > 0), favourite, own)
    left = 1.0 if asked.fuses else 1.0 + task.heritage * clutter / len(read)
    return Output(asked.model, numpy.where(asked.luck < chance, RIGHT, wrong), chance, left)


def confusion(task: SimulatedTask, model: str, clutter: float) -> float:
    """Say what much to read costs a reader, in log-odds: little until its capacity is near, and no more than `overload`."""
    share = clutter / (task.capacity * MODELS[model].size_b ** task.growth)
    return task.overload / (1.0 + exp(-STEEPNESS * (share - 1.0)))


def voted(read: Sequence[Output]) -> Output:
    """Take the answer that most give; ties go to the one given first. No model is called."""
    seen = numpy.array([output.answers for output in read])
    votes = (seen[:, None, :] == seen[None, :, :]).sum(axis=1)
    answers = numpy.take_along_axis(seen, votes.argmax(axis=0)[None, :], axis=0)[0]
    return Output("", answers, (answers == RIGHT).astype(numpy.float64), min(output.clutter for output in read))


def best(task: SimulatedTask, read: Sequence[Output], noise: Sequence[Floats]) -> Output:
    """Take the answer with the highest reward; `noise`, for each one read, is standard normal. No model is called."""
    seen = numpy.array([output.answers for output in read])
    rewards = numpy.stack(list(noise)) + task.reward_signal * (seen == RIGHT)
    answers = numpy.take_along_axis(seen, rewards.argmax(axis=0)[None, :], axis=0)[0]
    return Output("", answers, (answers == RIGHT).astype(numpy.float64), min(output.clutter for output in read))


def _mistake(task: SimulatedTask, whim: Floats) -> Integers:
    """Choose a wrong answer: the usual one, or one of the others alike."""
    others = task.others - 1
    rest = numpy.minimum(((whim - task.lure) / max(1.0 - task.lure, 1e-12) * others).astype(numpy.int64), max(others - 1, 0))
    return numpy.where((whim < task.lure) | (others == 0), 1, 2 + rest)
