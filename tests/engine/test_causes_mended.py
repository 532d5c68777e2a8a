"""What kept a response from its reward without a fault of the response: with the cause mended, the next session finds the reward."""

from collections.abc import Sequence
from pathlib import Path

from tests.engine.virtual_run import VirtualRun, prompts_of

from multigraft.budget.amount import NO_LIMITS, Limits
from multigraft.engine.replay import resume
from multigraft.models.scripted import ScriptedModel
from multigraft.records.folder import write_settings
from multigraft.records.log import RunLog
from multigraft.records.reader import RunRecord
from multigraft.rewards.combine import alone
from multigraft.rewards.judges.graded import GradedJudge
from multigraft.strategies.parallel import Parallel
from multigraft.types import Failure, FailureKind, Model, Request, Sample

GOOD = ScriptedModel(name="critic", answers=["Score: 7"])
STRATEGY = Parallel(num_responses=4)


class Refusing(ScriptedModel):
    """A judge's model whose key is bad."""

    async def generate(self, request: Request) -> Sequence[Sample]:
        return [Failure(FailureKind.AUTH, "HTTP 401")] * len(request.seeds)


async def rewards_after_session(folder: Path, judge: Model, limits: Limits = NO_LIMITS) -> list[float | None]:
    """Work on a run of three prompts that a judge guides."""
    if not (folder / "run.toml").exists():
        write_settings(folder, {"seed": 0})
    log = RunLog(folder)
    with RunRecord(folder) as record:
        found = resume(record, STRATEGY, ["m0"], 0, alone("judge"))
        waiting = [number for number in record.unscored(["judge"]) if number in found.ended]
        run = VirtualRun(
            strategy=STRATEGY,
            models=[ScriptedModel(name="m0")],
            judges=[judge],
            reward_of=lambda purchases: GradedJudge(purchases.ask_of("critic", "judge"), name="judge"),
            log=log,
            resumption=found,
            limits=limits,
        )
        await run.run(prompts_of(3), map(record.prompt, waiting))
        log.close()
        return [call.reward for prompt in record.prompts() for call in prompt.calls.values()]


async def test_what_a_refused_judge_could_not_score_is_scored_once_its_key_is_good(tmp_path: Path) -> None:
    assert await rewards_after_session(tmp_path, Refusing(name="critic")) == [None] * 12
    assert await rewards_after_session(tmp_path, GOOD) == [6 / 9] * 12


async def test_what_the_budget_left_unscored_is_scored_once_there_is_more(tmp_path: Path) -> None:
    short = await rewards_after_session(tmp_path, GOOD, Limits(calls=17))
    assert len(short) == 12
    assert 0 < sum(reward is None for reward in short) < 12
    assert await rewards_after_session(tmp_path, GOOD) == [6 / 9] * 12
