"""From an item of a task to its grade: right answers to real items score 1, wrong ones less, by the grader that the task's file names."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from multigraft.build.scorers import Surroundings, build_scorer
from multigraft.config import ConcurrencyTable, RewardPartTable, checked_table
from multigraft.sandbox.sandbox import Sandbox
from multigraft.tasks.task import load_task
from multigraft.types import Ask, Call, Candidate, Completion, Finish, Prompt, Reward, Role, Score, Usage

DATA = Path(__file__).parents[1] / "data" / "tasks"


def no_model(model: str, judge: str) -> Ask:
    raise AssertionError((model, judge))


@asynccontextmanager
async def graders(task: str) -> AsyncIterator[list[Reward]]:
    """As a run builds, starts and closes them."""
    sandbox = Sandbox(slots=2)
    surroundings = Surroundings(ask_of=no_model, identities={}, concurrency=ConcurrencyTable(), sandbox=lambda: sandbox)
    found: list[Reward] = []
    async with AsyncExitStack() as stack:
        for index, settings in enumerate(load_task(task).grade):
            scorer = build_scorer(checked_table(RewardPartTable, settings, str(index)), f"grade[{index}]", surroundings)
            if hasattr(scorer, "close"):
                stack.push_async_callback(scorer.close)
            if hasattr(scorer, "start"):
                await scorer.start()
            found.append(cast("Reward", scorer))
        yield found


async def graded(reward: Reward, prompts: list[Prompt], answers: list[str]) -> list[Score]:
    scores: list[Score] = []
    for prompt, text in zip(prompts, answers, strict=True):
        scores += await reward.score([Candidate(prompt, Call(0, "model", (), Role.ANSWER, 0), Completion(text, Finish.STOP, Usage()))])
    return scores


def fenced(prompt: Prompt) -> str:
    return f"Here it is:\n```python\n{prompt.fields['code']}{prompt.fields['canonical_solution']}```"


def other(prompt: Prompt) -> str:
    return "B" if prompt.reference == "A" else "A"


Answer = Callable[[Prompt], str]
RIGHT: dict[str, Answer] = {
    "gsm8k": lambda prompt: str(prompt.fields["solution"]),
    "math": lambda prompt: str(prompt.fields["solution"]),
    "mmlu": lambda prompt: f"It follows.\nAnswer: {prompt.reference}",
    "mmlu_pro": lambda prompt: f"The answer is ({prompt.reference}).",
    "humaneval": fenced,
    "prompts": lambda prompt: f"The answer is {prompt.reference}.",
}
WRONG: dict[str, Answer] = {
    "gsm8k": lambda prompt: f"#### {prompt.reference}1",
    "math": lambda _: "It is $\\boxed{-987}$.",
    "mmlu": lambda prompt: f"Answer: {other(prompt)}",
    "mmlu_pro": lambda prompt: f"The answer is ({other(prompt)}).",
    "humaneval": lambda prompt: f"```python\ndef {prompt.fields['entry_point']}(*arguments):\n    return None\n```",
    "prompts": lambda prompt: f"The answer is {prompt.reference}1.",
}
SLOW = {"math", "humaneval"}


@pytest.mark.parametrize("task", [pytest.param(task, marks=pytest.mark.slow) if task in SLOW else task for task in RIGHT])
async def test_right_and_wrong_answers(task: str) -> None:
    prompts = load_task(task).prompts(DATA / f"{'gsm8k' if task == 'prompts' else task}.jsonl")
    async with graders(task) as (reward,):
        scores = await graded(reward, prompts, [RIGHT[task](prompt) for prompt in prompts])
        assert [(prompt.name, score.message) for prompt, score in zip(prompts, scores, strict=True) if score.value != 1.0] == []
        others = await graded(reward, prompts, [WRONG[task](prompt) for prompt in prompts])
        assert [(prompt.name, score.message) for prompt, score in zip(prompts, others, strict=True) if score.value is None or score.value == 1.0] == []


async def test_translations_are_graded_by_chrf() -> None:
    prompts = load_task("wmt").prompts(DATA / "wmt.jsonl")
    async with graders("wmt") as (reward,):
        same = await graded(reward, prompts, [str(prompt.reference) for prompt in prompts])
        source = await graded(reward, prompts, [str(prompt.fields["source"]) for prompt in prompts])
    best = [score.value for score in same]
    assert min(value or 0.0 for value in best) == max(value or 0.0 for value in best) > 0.0
    assert all((score.value or 0.0) < (value or 0.0) for score, value in zip(source, best, strict=True))


async def test_instructions_are_graded_strictly_loosely_and_one_by_one(tmp_path: Path) -> None:
    item = {
        "key": 1,
        "prompt": "Answer in small letters without commas.",
        "instruction_id_list": ["punctuation:no_comma", "change_case:english_lowercase"],
        "kwargs": [{}, {}],
    }
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(item) + "\n", "utf-8")
    prompts = load_task("ifeval").prompts(path)
    texts = [
        "the sky is blue today and the sea is calm",
        "Sure! Here it is,\nthe sky is blue today and the sea is calm",
        "The sky is blue today and the sea is calm",
    ]
    async with graders("ifeval") as rewards:
        assert [reward.name for reward in rewards] == ["ifeval_strict", "ifeval_loose", "ifeval_strict_instructions"]
        table = [[score.value for score in await graded(reward, prompts * 3, texts)] for reward in rewards]
    assert table == [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.5]]
