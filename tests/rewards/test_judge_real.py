"""A real small chat model as judge. Its margins are thin, so only pairs that differ plainly are asked about, and only the order of the two counts."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from multigraft.models.local.catalogue import weights_of
from multigraft.models.local.model import LocalModel
from multigraft.rewards.judges.graded import GradedJudge
from multigraft.rewards.judges.yes_no import YesNoJudge
from multigraft.types import Call, Candidate, Completion, FailureKind, Finish, Message, Prompt, Request, Role, Sample, Usage

PAIRS = [
    ("What is the capital of France?", "The capital of France is Paris.", "I like turtles very much."),
    ("Name three primary colours.", "Red, yellow and blue.", "Red, red and a dog."),
    ("Translate to French: Good morning.", "Bonjour.", "The weather is 12."),
    ("What is 2 + 3?", "2 + 3 = 5", "2 + 3 = 11"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[LocalModel]:
    async with LocalModel(weights=weights_of("qwen2.5-coder-0.5b")) as started:
        yield started


def candidates() -> list[Candidate]:
    return [
        Candidate(
            Prompt(f"p{ordinal}", (Message("user", question),)),
            Call(position, "writer", (), Role.ANSWER, 0),
            Completion(answer, Finish.STOP, Usage()),
        )
        for ordinal, (question, good, bad) in enumerate(PAIRS)
        for position, answer in enumerate((good, bad))
    ]


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_the_yes_no_judge_prefers_plainly_better_answers(model: LocalModel) -> None:
    async def ask(candidate: Candidate, request: Request) -> Sample:
        return (await model.generate(request))[0]

    values = [score.value for score in await YesNoJudge(ask).score(candidates())]
    assert all(value is not None and 0.0 < value < 1.0 for value in values)
    right = sum((good or 0.0) > (bad or 0.0) for good, bad in zip(values[::2], values[1::2], strict=True))
    assert right >= 3


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_the_graded_judge_gives_grades_or_says_that_it_cannot(model: LocalModel) -> None:
    async def ask(candidate: Candidate, request: Request) -> Sample:
        return (await model.generate(request))[0]

    scores = await GradedJudge(ask, max_tokens=80).score(candidates()[:4])
    assert any(score.value is not None for score in scores)
    for score in scores:
        assert (score.value is not None and 0.0 <= score.value <= 1.0) or score.reason is FailureKind.UNREADABLE
