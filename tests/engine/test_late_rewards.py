from pathlib import Path

from tests.engine.virtual_run import MemoryLog, VirtualRun, prompts_of

from multigraft.engine.replay import Resumption, resume
from multigraft.knowledge import REWARD, Knowledge
from multigraft.models.scripted import ScriptedModel
from multigraft.records.folder import write_settings
from multigraft.records.log import RunLog
from multigraft.records.reader import RunRecord
from multigraft.rewards.scripted import Scripted
from multigraft.strategies.table import strategy_from
from multigraft.types import Candidate, FailureKind, Score

STRATEGY = strategy_from("toa", {"num_responses": 6, "max_parallel": 2})
PROMPTS = prompts_of(5)


def flaky(broken: list[bool], scored: list[str]) -> Scripted:
    """A scorer that fails for a third of the texts while it is broken."""

    def fault(candidate: Candidate) -> Score | None:
        scored.append(candidate.completion.text)
        bad = broken[0] and sum(candidate.completion.text.encode()) % 3 == 0
        return Score(None, FailureKind.SERVER, "down", retryable=True) if bad else None

    return Scripted(faults=fault, name="flaky", seed=2)


async def one_session(folder: Path, broken: list[bool], scored: list[str]) -> Knowledge:
    log = RunLog(folder)
    with RunRecord(folder) as record:
        combination = made(log, broken, scored, Resumption()).combination
        found = resume(record, STRATEGY, ["m0"], 0, combination)
        unscored = list(map(record.prompt, record.unscored(["flaky"])))
    run = made(log, broken, scored, found)
    await run.run(PROMPTS, unscored)
    log.close()
    return found.knowledge


def made(log: RunLog, broken: list[bool], scored: list[str], resumption: Resumption) -> VirtualRun:
    reward = Scripted()
    rewards = (flaky(broken, scored),)
    model = ScriptedModel(name="m0")
    return VirtualRun(strategy=STRATEGY, models=[model], reward_of=lambda _: reward, more_rewards=rewards, log=log, resumption=resumption, max_attempts=1)


async def test_what_a_run_learns_from_late_rewards_is_what_a_replay_learns(tmp_path: Path) -> None:
    write_settings(tmp_path, {"seed": 0})
    broken, scored = [True], list[str]()
    await one_session(tmp_path, broken, scored)
    with RunRecord(tmp_path) as record:
        missing = [call.text for prompt in record.prompts() for call in prompt.calls.values() if call.reward is None]
    assert 3 < len(missing) < 25
    broken[0] = False
    scored.clear()
    learnt = await one_session(tmp_path, broken, scored)
    assert sorted(scored) == sorted(str(text) for text in missing)
    with RunRecord(tmp_path) as record:
        combination = made(MemoryLog(), broken, scored, Resumption()).combination
        replayed = resume(record, STRATEGY, ["m0"], 0, combination).knowledge
        assert all(call.reward is not None for prompt in record.prompts() for call in prompt.calls.values())
    assert learnt.of(REWARD).count == 30
    assert replayed == learnt
    await one_session(tmp_path, broken, scored)
    assert len(scored) == len(missing)  # nothing is missing any more
