"""Judges that the search does not see, scorers that only compare, and what a judge's model replied."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.engine.virtual_run import VirtualRun, prompts_of

from multigraft.budget.amount import NO_LIMITS, Limits
from multigraft.budget.ledger import Ledger
from multigraft.engine.halt import Halt
from multigraft.engine.judging import At, Judging, Juror
from multigraft.engine.purchases import Purchases
from multigraft.engine.replay import Resumption, resume
from multigraft.engine.scoring import Scoring
from multigraft.models.scripted import ScriptedModel
from multigraft.records.folder import write_settings
from multigraft.records.log import RunLog
from multigraft.records.progress import best_so_far
from multigraft.records.reader import PromptRecord, RunRecord
from multigraft.rewards.combine import alone
from multigraft.rewards.judges.graded import GradedJudge
from multigraft.rewards.scripted import Scripted
from multigraft.strategies.parallel import Parallel
from multigraft.strategies.toa import Toa
from multigraft.types import Candidate, Completion, FailureKind, Model, Request, Sample, Score
from multigraft.wire.retry import RetryPolicy

PROMPTS = prompts_of(4)
DOWN = Score(None, FailureKind.SERVER, "down", retryable=True)


class Counting(ScriptedModel):
    """A scripted model that counts what it is asked."""

    asked = 0

    async def generate(self, request: Request) -> Sequence[Sample]:
        self.asked += 1
        return await super().generate(request)


class ByLength:
    """Ranks responses by their length, as long as there is no problem."""

    name, version = "by length", "1"

    def __init__(self, problem: Score | None = None) -> None:
        self.problem = problem

    async def rank(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        if self.problem is not None:
            return [self.problem] * len(candidates)
        lengths = sorted(len(candidate.completion.text) for candidate in candidates)
        return [Score(lengths.index(len(candidate.completion.text)) / len(lengths)) for candidate in candidates]


def records(folder: Path) -> list[PromptRecord]:
    with RunRecord(folder) as record:
        return list(record.prompts())


async def judged_run(folder: Path, judge: Model | None, *, at: At = "doubling", limits: Limits | None = None, grade: str = "Score: 7") -> VirtualRun:
    """A session of a toa run of 8 responses a prompt, with or without a judge beside it."""
    if not (folder / "run.toml").exists():
        write_settings(folder, {"seed": 0})
    log = RunLog(folder)
    strategy = Toa(num_responses=8, max_parallel=1)
    with RunRecord(folder) as record:

        def judging(purchases: Purchases, halt: Halt) -> Judging | None:
            if judge is None:
                return None
            purchases.ledger_apart = Ledger(limits or Limits(), spent=found.spent_apart)
            external = GradedJudge(purchases.ask_of(judge.name, "external", apart=True), name="external")
            return Judging(jurors=(Juror(scoring=Scoring(external, RetryPolicy(), halt), at=at),), record=record, log=log, purchases=purchases)

        found = resume(record, strategy, ["m0", "m1"], 0, alone("scripted"))
        models = [ScriptedModel(name="m0"), ScriptedModel(name="m1")]
        run = VirtualRun(
            strategy=strategy,
            models=models,
            judges=[judge] if judge else [],
            reward_of=lambda _: Scripted(),
            log=log,
            resumption=found,
            judging_of=judging,
        )
        await run.run(PROMPTS)
    log.close()
    return run


async def test_a_search_does_not_see_the_judge_beside_it(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    (tmp_path / "judged").mkdir()
    await judged_run(tmp_path / "alone", None)
    judge = Counting(name="judge", answers=["Score: 7"])
    run = await judged_run(tmp_path / "judged", judge)
    unseen, seen = records(tmp_path / "alone"), records(tmp_path / "judged")
    told = [{call_id: (call.call, call.text, call.reward) for call_id, call in prompt.calls.items()} for prompt in seen]
    assert told == [{call_id: (call.call, call.text, call.reward) for call_id, call in prompt.calls.items()} for prompt in unseen]
    for prompt in seen:
        judged = {call_id for call_id, call in prompt.calls.items() if "external" in call.scores}
        assert judged == set(best_so_far(prompt, (1, 2, 4, 8)).values())
        assert all(prompt.calls[call_id].scores["external"].score.value == 6 / 9 for call_id in judged)
    assert run.purchases.ledger.spent.calls == 4 * 8  # the judge is not on the run's bill
    with RunRecord(tmp_path / "judged") as record:
        replayed = resume(record, Toa(num_responses=8, max_parallel=1), ["m0", "m1"], 0, alone("scripted"))
    assert replayed.knowledge == run.resumption.knowledge
    assert run.purchases.ledger_apart.spent.calls == judge.asked == sum("external" in call.scores for prompt in seen for call in prompt.calls.values())


async def test_a_later_session_judges_only_what_is_missing(tmp_path: Path) -> None:
    await judged_run(tmp_path, None)
    first = Counting(name="judge", answers=["Score: 7"])
    await judged_run(tmp_path, first, limits=Limits(calls=5))
    assert first.asked == 5
    second = Counting(name="judge", answers=["Score: 7"])
    await judged_run(tmp_path, second, at="all")
    assert second.asked == 4 * 8 - 5
    with RunRecord(tmp_path) as record:
        assert record.spent_apart().calls == 4 * 8
        assert record.spent().calls == 4 * 8
    third = Counting(name="judge", answers=["Score: 7"])
    await judged_run(tmp_path, third, at="all")
    assert third.asked == 0


async def test_what_a_judge_replied_is_not_bought_again(tmp_path: Path) -> None:
    judge = Counting(name="judge", answers=["Score: 7"])
    await judged_run(tmp_path, judge)
    asked = judge.asked
    with closing(sqlite3.connect(tmp_path / "log.db")) as database:  # as after a crash between a reply and its score
        database.execute("DELETE FROM scores WHERE scorer = 'external'")
        database.commit()
    again = Counting(name="judge", answers=["Score: 1"])
    await judged_run(tmp_path, again)
    assert again.asked == 0
    judged = [call.scores["external"].score.value for prompt in records(tmp_path) for call in prompt.calls.values() if "external" in call.scores]
    assert judged == [6 / 9] * asked


async def ranked_run(folder: Path, ranking: ByLength, limits: Limits = NO_LIMITS) -> VirtualRun:
    if not (folder / "run.toml").exists():
        write_settings(folder, {"seed": 0})
    log = RunLog(folder)
    strategy = Parallel(num_responses=6)
    with RunRecord(folder) as record:
        found: Resumption = resume(record, strategy, ["m0", "m1"], 0, alone(ranking.name))
        unscored = [record.prompt(number) for number in record.unscored([ranking.name]) if number in found.ended]
    models = [ScriptedModel(name="m0"), ScriptedModel(name="m1")]
    run = VirtualRun(strategy=strategy, models=models, reward_of=lambda _: Scripted(), ranking=ranking, log=log, resumption=found, limits=limits)
    await run.run(PROMPTS, unscored)
    log.close()
    return run


async def test_a_ranking_rewards_the_responses_of_a_prompt_once_all_are_there(tmp_path: Path) -> None:
    run = await ranked_run(tmp_path, ByLength())
    assert run.campaign.tally.ends == {"done": 4}
    for prompt in records(tmp_path):
        best = prompt.best()
        assert best is not None
        assert len(best.text or "") == max(len(call.text or "") for call in prompt.calls.values())
        assert all(call.reward == call.scores["by length"].score.value for call in prompt.calls.values())
        assert all(call.told_sequence is not None for call in prompt.calls.values())


@pytest.mark.parametrize("problem", [DOWN, Score(None, FailureKind.BUDGET, "spent"), Score(None, FailureKind.AUTH, "HTTP 401")])
async def test_a_ranking_that_failed_without_a_fault_of_the_responses_is_made_good_by_the_next_session(tmp_path: Path, problem: Score) -> None:
    await ranked_run(tmp_path, ByLength(problem))
    assert all(call.reward is None for prompt in records(tmp_path) for call in prompt.calls.values())
    await ranked_run(tmp_path, ByLength())
    assert all(call.reward is not None for prompt in records(tmp_path) for call in prompt.calls.values())
    assert all(isinstance(call.sample, Completion) for prompt in records(tmp_path) for call in prompt.calls.values())


async def test_a_prompt_taken_up_again_is_ranked_with_all_its_responses(tmp_path: Path) -> None:
    await ranked_run(tmp_path, ByLength(DOWN), Limits(calls=4 * 6 - 3))
    await ranked_run(tmp_path, ByLength())
    for prompt in records(tmp_path):
        lengths = sorted(len(call.text or "") for call in prompt.calls.values())
        assert [call.reward for call in prompt.calls.values()] == [lengths.index(len(call.text or "")) / 6 for call in prompt.calls.values()]
