"""Panels: how judges are put together, and what becomes of those without a verdict."""

from collections.abc import Sequence

import pytest
from tests.rewards.scripted_ask import ScriptedAsk, letters, written

from multigraft.rewards.judges.graded import GradedJudge
from multigraft.rewards.judges.panel import How, Panel
from multigraft.rewards.judges.rubric import RubricJudge
from multigraft.rewards.judges.yes_no import YesNoJudge
from multigraft.rewards.scripted import Scripted
from multigraft.testing.reward_suite import RewardSuite, candidate
from multigraft.types import Candidate, FailureKind, Reward, Score

LATE = Score(None, FailureKind.TIMEOUT, "late", retryable=True)
SILENT = Score(None, FailureKind.UNREADABLE, "no verdict")


def saying(name: str, said: float | Score) -> Scripted:
    return Scripted(lambda candidate: said, name=name)


def panel(*said: float | Score, how: How = "mean", quorum: int | None = None, threshold: float = 0.5) -> Panel:
    return Panel(judges=[saying(f"judge {number}", one) for number, one in enumerate(said)], how=how, quorum=quorum, threshold=threshold)


async def score_of(reward: Reward) -> Score:
    return (await reward.score([candidate("An answer")]))[0]


class TestPanel(RewardSuite):
    def reward(self) -> Reward:
        return Panel(
            judges=[
                YesNoJudge(ScriptedAsk(lambda text: letters(Yes=1 / (2 + len(text)), No=0.1)), name="one"),
                GradedJudge(ScriptedAsk(lambda text: written(f"Score: {1 + len(text) % 12}")), name="two", max_batch=3),
                RubricJudge(ScriptedAsk(lambda text: written(f"true: {len(text) % 7}")), criteria={"true": "Is it?"}, name="three"),
            ],
            how="median",
        )


MIXED: list[tuple[How, list[float], float]] = [
    ("mean", [0.25, 0.5, 1.0], 1.75 / 3),
    ("median", [0.25, 0.5, 1.0], 0.5),
    ("median", [0.25, 0.5, 0.75, 1.0], 0.625),
    ("majority", [0.6, 0.9, 0.1], 1.0),
    ("majority", [0.6, 0.2, 0.1], 0.0),
    ("majority", [0.6, 0.2], 0.5),
    ("majority", [0.6, 0.5, 0.5], 1.0),
    ("majority", [0.5, 0.5, 0.5], 0.5),
]


@pytest.mark.parametrize(("how", "values", "value"), MIXED)
async def test_values_are_put_together(how: How, values: list[float], value: float) -> None:
    score = await score_of(panel(*values, how=how))
    assert score.value == pytest.approx(value)
    assert score.details == {f"judge {number}": one for number, one in enumerate(values)}
    assert score.message == f"{len(values)} of {len(values)} judges"


async def test_a_threshold_of_another_scale() -> None:
    assert (await score_of(panel(3.0, 5.0, 9.0, how="majority", threshold=4.0))).value == 1.0


async def test_a_judge_without_a_verdict_is_left_out_and_named() -> None:
    score = await score_of(panel(0.2, SILENT, 0.6))
    assert score.value == pytest.approx(0.4)
    assert score.details == {"judge 0": 0.2, "judge 2": 0.6}
    assert score.message == "2 of 3 judges; without judge 1: unreadable, no verdict"


async def test_too_few_verdicts_are_no_score() -> None:
    score = await score_of(panel(0.2, SILENT, SILENT))
    assert (score.value, score.reason, score.retryable) == (None, FailureKind.UNREADABLE, False)
    assert score.message.startswith("1 of 3 judges gave a verdict, 2 are needed (2 unreadable); judge 1: unreadable, no verdict; judge 2:")
    score = await score_of(panel(0.2, SILENT, LATE))
    assert (score.reason, score.retryable) == (FailureKind.TIMEOUT, True)
    assert "(1 unreadable, 1 timeout)" in score.message


async def test_quorum() -> None:
    assert (await score_of(panel(0.2, SILENT, SILENT, quorum=1))).value == pytest.approx(0.2)
    assert (await score_of(panel(0.2, 0.4, SILENT, quorum=3))).value is None
    assert (await score_of(panel(0.2, SILENT))).value is None  # half is not more than half


async def test_a_partly_seen_response_stays_marked() -> None:
    assert (await score_of(panel(0.2, Score(0.4, truncated=True)))).truncated
    assert not (await score_of(panel(0.2, 0.4))).truncated


async def test_judges_that_break_the_contract_are_left_out() -> None:
    class Short(Scripted):
        async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
            return []

    reward = Panel(judges=[saying("good", 0.25), Short(name="short"), saying("odd", Score(float("nan")))], quorum=1)
    score = await score_of(reward)
    assert score.value == 0.25
    assert score.message == "1 of 3 judges; without short: invalid_score, short returned 0 scores for 1 responses; odd: invalid_score, the score is nan"


def test_the_narrowest_judge_sets_the_batch() -> None:
    assert Panel(judges=[Scripted(name="a", max_batch=5), Scripted(name="b", max_batch=2)]).max_batch == 2


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="panel needs judges"):
        panel()
    with pytest.raises(ValueError, match="include 'scripted' more than once: give each a name"):
        Panel(judges=[Scripted(), Scripted()])
    with pytest.raises(ValueError, match="not 'max'"):
        panel(0.5, how="max")  # type: ignore[arg-type] # a wrong setting is the point
    with pytest.raises(ValueError, match="must be 1 to 2, the number of its judges, not 3"):
        panel(0.5, 0.5, quorum=3)
    with pytest.raises(ValueError, match="not nan"):
        panel(0.5, threshold=float("nan"))


def test_version_follows_what_may_change_a_score() -> None:
    versions = {
        panel(0.5, 0.5).version,
        panel(0.5, 0.5, how="majority").version,
        panel(0.5, 0.5, threshold=0.4).version,
        panel(0.5, 0.5, quorum=1).version,
        panel(0.5).version,
        Panel(judges=[Scripted(name="judge 0", seed=1), Scripted(name="judge 1")]).version,
    }
    assert len(versions) == 6
