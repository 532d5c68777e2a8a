"""The reward of the kind `puzzle`, over prompts as the task makes them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from multigraft.errors import SandboxError
from multigraft.puzzles.table import FAMILIES
from multigraft.rewards.puzzle import Puzzle
from multigraft.sandbox.sandbox import Sandbox
from multigraft.tasks.task import load_task
from multigraft.testing.reward_suite import RewardSuite
from multigraft.types import Call, Candidate, Completion, FailureKind, Finish, Prompt, Role, Usage


def prompts(**options: str) -> list[Prompt]:
    return load_task("puzzles").prompts(options=options)


def answer(prompt: Prompt, text: str) -> Candidate:
    return Candidate(prompt, Call(0, "model", (), Role.ANSWER, 0), Completion(text, Finish.STOP, Usage()))


class TestPuzzleSuite(RewardSuite):
    def reward(self) -> Puzzle:
        return Puzzle()

    def candidates(self) -> Sequence[Candidate]:
        found = prompts(count="24")
        return [answer(prompt, text) for prompt in found for text in (str(prompt.fields["solution"]), "42", "[1, 2]", "\ud800 {")]


async def test_solutions_score_one_and_are_read() -> None:
    found = [prompt for prompt in prompts(count="36") if prompt.fields["family"] != "pylambda"]
    scores = [(await Puzzle().score([answer(prompt, str(prompt.fields["solution"]))]))[0] for prompt in found]
    assert [score.value for score in scores] == [1.0] * len(found)
    assert all((score.answer is None) == (prompt.fields["family"] == "sentence") for prompt, score in zip(found, scores, strict=True))


async def test_partial_credit_and_none() -> None:
    (prompt,) = prompts(family="numwords", count="1")
    near = answer(prompt, str(prompt.reference)[:-1] + ("1" if str(prompt.reference)[-1] != "1" else "2"))
    assert (await Puzzle().score([near]))[0].value == 0.8
    assert (await Puzzle(form="strict").score([near]))[0].value == 0.0
    assert Puzzle().version != Puzzle(form="strict").version


async def test_what_is_no_puzzle_has_a_reason() -> None:
    (prompt,) = prompts(family="sort", count="1")
    strange = [replace(prompt, fields={}), replace(prompt, fields={**prompt.fields, "puzzle": {"words": 3}}), replace(prompt, fields={"family": "sort"})]
    scores = await Puzzle().score([answer(other, "ant") for other in strange])
    assert [score.reason for score in scores] == [FailureKind.UNSCORABLE] * 3
    assert scores[0].message.startswith("no puzzle: the prompt needs the fields 'family'")
    assert scores[1].message == "the facts of this puzzle need a list as 'words'; take items as the task made them"


async def test_programs_without_a_sandbox_have_a_reason() -> None:
    (prompt,) = prompts(family="pylambda", count="1")
    (score,) = await Puzzle().score([answer(prompt, "f = lambda xs: 0")])
    assert (score.value, score.reason) == (None, FailureKind.UNSCORABLE)


class Missing(Sandbox):
    """A sandbox on a machine that lacks what its walls are made of."""

    async def start(self) -> None:
        message = "bubblewrap is not installed"
        raise SandboxError(message)


async def test_programs_that_cannot_be_run_here_are_scored_once_they_can() -> None:
    (prompt,) = prompts(family="pylambda", count="1")
    (score,) = await Puzzle(sandbox=Missing()).score([answer(prompt, "f = lambda xs: 0")])
    assert (score.value, score.reason, score.retryable) == (None, FailureKind.UNAVAILABLE, True)
    assert score.message == "bubblewrap is not installed"


async def test_programs_are_judged_by_their_tests() -> None:
    """Among other puzzles, and in their order: every solution passes all of its cases, and a constant does not."""
    found = [*prompts(family="pylambda1,pylambda3,pylambda8", count="9"), *prompts(family="sort", count="1")]
    reward = Puzzle(sandbox=Sandbox(slots=2))
    try:
        scores = await reward.score([answer(prompt, str(prompt.fields["solution"])) for prompt in found])
        assert [score.value for score in scores] == [1.0] * 10
        (wrong, right) = await reward.score([answer(found[0], "f = lambda xs: -12345"), answer(found[-1], str(found[-1].fields["solution"]))])
        assert wrong.value == 0.0
        assert right.value == 1.0
    finally:
        await reward.close()


@pytest.mark.parametrize(("settings", "message"), [({"form": "loose"}, "form must be"), ({"max_batch": 0}, "max_batch at least 1, not 'partial' and 0")])
def test_settings_that_do_not_fit(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Puzzle(**settings)  # type: ignore[arg-type]  # what a run file may hold


def test_every_family_has_a_checker_or_tests() -> None:
    assert [name for name, family in FAMILIES.items() if family.check is None] == ["pylambda"]
