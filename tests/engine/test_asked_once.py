"""What is asked once: a judge's model by scorers that ask the same at the same time, and a scorer for its version."""

import asyncio
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from tests.engine.virtual_run import MemoryLog, VirtualRun, prompts_of

from multigraft.budget.amount import NOTHING
from multigraft.engine.entry import Entry
from multigraft.models.scripted import ScriptedModel
from multigraft.records.folder import write_settings
from multigraft.records.log import RunLog
from multigraft.records.reader import RunRecord
from multigraft.records.rows import ScoreRow
from multigraft.rewards.scripted import Scripted
from multigraft.strategies.parallel import Parallel
from multigraft.types import Call, Candidate, Completion, Failure, FailureKind, Finish, Message, Request, Role, Sample, Sampling, Score, Usage

(PROMPT,) = prompts_of(1)
CANDIDATE = Candidate(PROMPT, Call(0, "m0", (), Role.ANSWER, 1), Completion("Because.", Finish.STOP, Usage(9, 2)))
QUESTION = Request((Message("user", "Is it so?"),), Sampling(), (5,))


class Slow(ScriptedModel):
    """Takes a moment, fails as often as it is told to, and counts what it is asked."""

    asked, failures = 0, 0

    async def generate(self, request: Request) -> Sequence[Sample]:
        self.asked += 1
        await asyncio.sleep(0.01)
        return [Failure(FailureKind.CONTEXT, "too long")] if self.asked <= self.failures else await super().generate(request)


async def ask_thrice_at_once(folder: Path, judge: Slow) -> list[Sample]:
    write_settings(folder, {"seed": 0})
    log = RunLog(folder)
    run = VirtualRun(strategy=Parallel(num_responses=1), models=[ScriptedModel(name="m0")], judges=[judge], reward_of=lambda _: Scripted(), log=log)
    run.purchases.open(Entry(PROMPT, count()), run.purchases.ledger)
    asks = [run.purchases.ask_of("critic", "judge") for _ in range(3)]
    samples = await asyncio.gather(*[ask(CANDIDATE, QUESTION) for ask in asks])
    log.close()
    with RunRecord(folder) as record:
        assert record.spent() == run.purchases.ledger.spent
        assert record.wasted() == NOTHING
    return samples


async def test_one_question_asked_thrice_at_once_is_paid_once(tmp_path: Path) -> None:
    judge = Slow(name="critic", answers=["Yes."])
    first, *others = await ask_thrice_at_once(tmp_path, judge)
    assert judge.asked == 1
    assert isinstance(first, Completion)
    assert others == [first, first]


async def test_who_waited_for_a_reply_that_failed_asks_itself(tmp_path: Path) -> None:
    judge = Slow(name="critic", answers=["Yes."])
    judge.failures = 1
    samples = await ask_thrice_at_once(tmp_path, judge)
    assert judge.asked == 2
    assert [isinstance(sample, Failure) for sample in samples] == [True, False, False]


class Looking:
    """Looks at files to tell its version, as it were."""

    name, max_batch, looked = "looking", 4, 0

    @property
    def version(self) -> str:
        self.looked += 1
        return "1"

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        return [Score(1.0)] * len(candidates)


async def test_a_scorer_is_asked_for_its_version_once() -> None:
    reward = Looking()
    run = VirtualRun(strategy=Parallel(num_responses=3), models=[ScriptedModel(name="m0")], reward_of=lambda _: reward)
    await run.run(prompts_of(2))
    assert isinstance(run.log, MemoryLog)
    assert [row.version for row in run.log.rows if isinstance(row, ScoreRow)] == ["1"] * 6
    assert reward.looked == 1
