"""A real small chat model as judge. Its margins are thin and differ between machines, so the pairs differ plainly, and only sums over them count."""

from collections.abc import AsyncIterator
from typing import Literal

import pytest
import pytest_asyncio

from multigraft.models.local.catalogue import weights_of
from multigraft.models.local.model import LocalModel
from multigraft.rewards.judges.graded import GradedJudge
from multigraft.rewards.judges.pairwise import PairwiseJudge
from multigraft.rewards.judges.rubric import RubricJudge
from multigraft.rewards.judges.tournament import Tournament
from multigraft.rewards.judges.yes_no import YesNoJudge
from multigraft.types import Ask, Call, Candidate, Completion, FailureKind, Finish, Message, Prompt, Request, Role, Sample, Usage

PAIRS = [
    ("What is the capital of France?", "The capital of France is Paris.", "I like turtles very much."),
    ("Name three primary colours.", "Red, yellow and blue.", "Red, red and a dog."),
    ("Translate to French: Good morning.", "Bonjour.", "The weather is 12."),
    ("How many legs does a dog have?", "A dog has four legs.", "Blue bananas sing."),
    ("Write a greeting.", "Hello! Nice to meet you.", "7 7 7 7 7 7 7"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[LocalModel]:
    async with LocalModel(weights=weights_of("qwen2.5-coder-0.5b")) as started:
        yield started


def asking(model: LocalModel) -> Ask:
    async def ask(candidate: Candidate, request: Request) -> Sample:
        return (await model.generate(request))[0]

    return ask


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
    values = [score.value for score in await YesNoJudge(asking(model)).score(candidates())]
    assert all(value is not None and 0.0 < value < 1.0 for value in values)
    margins = [(good or 0.0) - (bad or 0.0) for good, bad in zip(values[::2], values[1::2], strict=True)]
    assert sum(margins) > 0.2, margins


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_the_graded_judge_gives_grades_or_says_that_it_cannot(model: LocalModel) -> None:
    scores = await GradedJudge(asking(model), max_tokens=80).score(candidates()[:4])
    assert any(score.value is not None for score in scores)
    for score in scores:
        assert (score.value is not None and 0.0 <= score.value <= 1.0) or score.reason is FailureKind.UNREADABLE


def responses(question: str, *texts: str, reference: str | None = None) -> list[Candidate]:
    prompt = Prompt("p", (Message("user", question),), reference=reference)
    return [Candidate(prompt, Call(ordinal, "writer", (), Role.ANSWER, 0), Completion(text, Finish.STOP, Usage())) for ordinal, text in enumerate(texts)]


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_the_pairwise_judge_prefers_plainly_better_answers_by_probability(model: LocalModel) -> None:
    judge = PairwiseJudge(asking(model), read="probability")
    margins = []
    for question, good, bad in PAIRS:
        (for_good,) = await judge.score(responses(question, good, reference=bad))
        (for_bad,) = await judge.score(responses(question, bad, reference=good))
        assert for_good.value is not None
        assert for_bad.value is not None
        assert for_good.details["verdict_mass"] > 0.5
        margins.append(for_good.value - for_bad.value)
    assert sum(margins) > 0.05, margins


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("form", ["knock_out", "swiss"])
async def test_a_tournament_finds_the_one_answer(model: LocalModel, form: Literal["knock_out", "swiss"]) -> None:
    tournament = Tournament(asking(model), read="probability", form=form)
    texts = ("I like turtles very much.", "The capital of France is Paris.", "The weather is 12.", "Red, red and a dog.")
    scores = await tournament.rank(responses("What is the capital of France?", *texts))
    values = [-1.0 if score.value is None else score.value for score in scores]
    assert all(0.0 <= value <= 1.0 for value in values)
    assert values.index(max(values)) == 1


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_written_verdicts_are_read_or_said_to_be_unreadable(model: LocalModel) -> None:
    question, good, bad = PAIRS[0]
    criteria = {"correct": "Is what it says true?", "complete": "Does it do all that the task asks?"}
    rubric = await RubricJudge(asking(model), criteria=criteria, max_tokens=60).score(responses(question, good, bad))
    pairwise = await PairwiseJudge(asking(model), max_tokens=60).score(responses(question, good, reference=bad))
    assert any(score.value is not None and set(score.details) == set(criteria) for score in rubric)
    for score in (*rubric, *pairwise):
        assert (score.value is not None and 0.0 <= score.value <= 1.0) or score.reason is FailureKind.UNREADABLE
