"""The example prompts can be loaded and checked, and a right answer to each passes."""

from pathlib import Path

import pytest

from multigraft.rewards.rules.ifeval.evaluate import evaluate
from multigraft.rewards.rules.ifeval.kinds import check_constraints
from multigraft.rewards.rules.reference import Reference
from multigraft.tasks.prompts import load_prompts
from multigraft.types import Prompt

EXAMPLES = Path(__file__).parents[2] / "examples/prompts.jsonl"

RIGHT = {
    "sleep-tips": "* Keep your room dark.\n* Put your phone away early.\n* Go to bed at the same time.\nGood night!",
    "rainy-morning": "rain taps on the bakery window while an old man opens his umbrella and walks slowly past the closed shops towards the quiet square.",
    "painting-robot": "<<The Blue Robot>>\nA small robot found a brush in the snow. It dipped the brush into blue paint and drew the sky it had never seen.",
    "person-json": '{"name": "Mara", "age": 41, "city": "Porto", "hobby": "gardening"}',
    "thirsty-plants": "Their roots pull water out of the ground. It climbs up to the leaves. They turn green. That is why plants drink.",
    "sum": "12 + 30 = 42",
    "pencils": "Three boxes of 4 make 12, and 12 - 2 leaves 10",
    "capital": "Rome.",
}

WRONG = {
    "sleep-tips": "Sure! Here are tips:\n* Sleep early, and well.\n* Relax.",
    "rainy-morning": "It was raining in the small town.",
    "painting-robot": "Once there was a very happy robot.",
    "person-json": "Name: Mara, 41",
    "thirsty-plants": "Plants need water to live.",
    "sum": "12 + 30 = 43",
    "pencils": "12",
    "capital": "Milan",
}


@pytest.fixture(scope="module")
def prompts() -> dict[str, Prompt]:
    return {prompt.name or "": prompt for prompt in load_prompts(EXAMPLES, check_constraints=check_constraints)}


def passes(prompt: Prompt, answer: str) -> bool:
    reference = Reference().check(prompt, answer)
    return all(evaluate(constraint, answer).passed for constraint in prompt.constraints) and (reference is None or reference.passed)


def test_eight_prompts_of_mixed_kinds(prompts: dict[str, Prompt]) -> None:
    assert set(prompts) == set(RIGHT) == set(WRONG)
    assert sum(len(prompt.constraints) >= 3 for prompt in prompts.values()) == 5
    assert sum(prompt.reference is not None for prompt in prompts.values()) == 3
    assert all(bool(prompt.constraints) is not bool(prompt.reference) for prompt in prompts.values())
    assert len({constraint.kind for prompt in prompts.values() for constraint in prompt.constraints}) == 10


@pytest.mark.parametrize("name", list(RIGHT))
def test_each_can_be_answered_rightly_and_wrongly(prompts: dict[str, Prompt], name: str) -> None:
    assert passes(prompts[name], RIGHT[name])
    assert not passes(prompts[name], WRONG[name])
