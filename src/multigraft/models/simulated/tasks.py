"""What simulated tasks are made of: the figures reported for each, and the few parameters fitted to them.

Source: reported accuracies, token counts and sizes are those of arXiv 2511.00086 (sections 3 and A.8, tables of single models and of mixes at equal budget) and
of its published code. What the parameters are fitted to, and how well they fit, stands in docs/design/0017-simulated-world.md. No search method had a part in
it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp
from statistics import NormalDist
from types import MappingProxyType
from typing import Final

from multigraft.randomness import Draws

SMALL, MEDIUM, LARGE, HUGE = "llama-3.2-1b", "llama-3.2-3b", "llama-3.1-8b", "llama-3.1-70b"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedModelTraits:
    """A model of the pool, on any task."""

    size_b: float
    """Parameters as its name gives them, in 10**9."""
    start_s: float
    """Before the first token."""
    prefill_s: float
    """A token of the prompt."""
    decode_s: float
    """A token of the answer."""


MODELS: Final[Mapping[str, SimulatedModelTraits]] = MappingProxyType(
    {
        SMALL: SimulatedModelTraits(size_b=1.0, start_s=0.10, prefill_s=2.0e-5, decode_s=0.0035),
        MEDIUM: SimulatedModelTraits(size_b=3.0, start_s=0.10, prefill_s=5.0e-5, decode_s=0.0060),
        LARGE: SimulatedModelTraits(size_b=8.0, start_s=0.12, prefill_s=1.2e-4, decode_s=0.0100),
        HUGE: SimulatedModelTraits(size_b=70.0, start_s=0.20, prefill_s=6.0e-4, decode_s=0.0300),
    }
)
"""Sizes as published; speeds assumed, in proportions usual for these sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTask:
    """How calls come out on one kind of question. Strengths are in log-odds of a right answer."""

    name: str
    prompt_tokens: int
    """Of a question; mean."""
    answer_tokens: int
    """Of one answer; mean."""
    unit_flops: float
    """FLOPs of one unit: about one call of the smallest model that reads nothing. Reported."""
    alone: Mapping[str, float]
    """Share of questions each model answers right on its own; (0, 1). Reported."""
    difficulty: float
    """Spread of questions: standard deviation, the same for all models; > 0."""
    taste: float
    """Spread of questions for each model apart: what makes errors of one model alike and diversity worth something; >= 0."""
    others: int
    """Wrong answers there are; >= 1."""
    lure: float
    """Share of wrong answers that are the question's usual mistake; [0, 1]."""
    independence: float
    """How much of a reader's own strength on the question counts once it reads answers; >= 0."""
    right_pull: float
    """Gain from one right answer in sight; >= 0."""
    wrong_pull: float
    """Loss from one wrong answer in sight; >= 0."""
    saturation: float
    """n equal answers in sight pull as one does, times n to this power; (0, 1]."""
    copying: float
    """Share of a reader's wrong answers that repeat the most frequent wrong one in sight; [0, 1]."""
    persuasion: float
    """A right answer of a model pulls as much as so many of one with 10**9 parameters: its size to this power; >= 0."""
    capacity: float
    """Clutter that half confuses a reader of 10**9 parameters; > 0."""
    growth: float
    """Capacity grows as the size to this power; >= 0."""
    overload: float
    """Most that clutter can cost; half of it at the capacity; >= 0."""
    heritage: float
    """How much of the clutter that a reader sees is left in its own answer; [0, 1]. A first answer has one unit."""
    fusing_loss: float
    """What is lost when a fuser condenses; >= 0."""
    fusing_relief: float
    """Share of the clutter in sight that a fuser feels; (0, 1]."""
    length_spread: float = 0.25
    """Of the logarithm of an answer's tokens."""
    reward_signal: float = 1.5
    """How far a reward model tells right answers from wrong ones, in standard deviations of its noise."""


MATH: Final = SimulatedTask(
    name="math",
    prompt_tokens=202,
    answer_tokens=275,
    unit_flops=9.710e11,
    alone=MappingProxyType({SMALL: 0.31, MEDIUM: 0.40, LARGE: 0.49, HUGE: 0.68}),
    difficulty=3.955,
    taste=0.722,
    others=6,
    lure=0.3,
    independence=0.211,
    right_pull=4.981,
    wrong_pull=3.251,
    saturation=0.632,
    copying=0.968,
    persuasion=0.491,
    capacity=9.816,
    growth=0.365,
    overload=2.118,
    heritage=0.983,
    fusing_loss=0.3,
    fusing_relief=0.5,
)
MMLU: Final = replace(
    MATH,
    name="mmlu",
    prompt_tokens=213,
    answer_tokens=215,
    unit_flops=8.680e11,
    alone=MappingProxyType({SMALL: 0.31, MEDIUM: 0.43, LARGE: 0.64, HUGE: 0.84}),
    others=3,
    lure=0.6,
    taste=1.112,
    right_pull=3.89,
    wrong_pull=3.468,
    persuasion=0.053,
)
HUMANEVAL: Final = replace(
    MATH,
    name="humaneval",
    prompt_tokens=180,
    answer_tokens=115,
    unit_flops=5.957e11,
    alone=MappingProxyType({SMALL: 0.31, MEDIUM: 0.48, LARGE: 0.60, HUGE: 0.68}),
    wrong_pull=3.621,
)
TASKS: Final[Mapping[str, SimulatedTask]] = MappingProxyType({task.name: task for task in (MATH, MMLU, HUMANEVAL)})


_VARIED: Final = ("difficulty", "taste", "independence", "right_pull", "wrong_pull", "persuasion", "capacity", "overload", "fusing_loss")
_VARIED_SHARES: Final = ("saturation", "copying", "heritage", "fusing_relief")
_VARIATION: Final = 0.25
_STRENGTH_VARIATION: Final = 0.2


def varied(task: SimulatedTask, seed: int) -> SimulatedTask:
    """Make another task of the kind, to see whether what holds on a task holds on its like.

    Strengths are multiplied by a factor whose logarithm has a standard deviation of 0.25, shares too, and kept below 1; the log-odds of each model alone are
    moved by 0.2 as often.

    Args:
        task: to start from.
        seed: of the change.
    """
    draws = Draws("varied task", task.name, seed)

    def normal() -> float:
        return NormalDist().inv_cdf(draws.uniform() or 0.5)

    factors = {name: getattr(task, name) * exp(_VARIATION * normal()) for name in (*_VARIED, *_VARIED_SHARES)}
    values = {name: min(value, 1.0) if name in _VARIED_SHARES else value for name, value in factors.items()}
    alone = {model: 1.0 / (1.0 + (1.0 / share - 1.0) * exp(-_STRENGTH_VARIATION * normal())) for model, share in task.alone.items()}
    return replace(task, name=f"{task.name}~{seed}", alone=MappingProxyType(alone), **values)
