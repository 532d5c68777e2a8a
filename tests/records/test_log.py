import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from multigraft.budget.amount import NOTHING, Amount
from multigraft.errors import DiskFullError, RecordError
from multigraft.records.folder import LOG_NAME, SEARCH_NAME, write_settings
from multigraft.records.log import RunLog
from multigraft.records.reader import RunRecord
from multigraft.records.rows import AnswerRow, EndRow, JudgingRow, OutcomeRow, PromptRow, ReplyRow, ResponseRow, ScoreRow, SentRow, SessionRow
from multigraft.types import Call, Completion, Constraint, Failure, FailureKind, Finish, Message, Prompt, Role, Score, TokenLogprob, Usage

PROMPT = Prompt("p-0", (Message("user", "Say \u2028 hi\x00"),), "greeting", "hi", (Constraint("punctuation:no_comma", {}),), {"topic": ["a", 1, None]})
FIRST = Call(0, "m0", (), Role.ANSWER, 11)
SECOND = Call(1, "m1", (0,), Role.REFINE, 12)
VERDICT = Completion("Yes", Finish.STOP, Usage(7, 1))
ANSWER = Completion(
    "hi\u0085 \U0001f600", Finish.LENGTH, Usage(5, 3, 2, 1, 5, estimated=True), "thought", -0.25, (TokenLogprob(" hi", -0.1),), ("clamped",), "http://one", 0.5
)
FAILURE = Failure(
    FailureKind.TIMEOUT, "no answer within 2 s", usage=Usage(7, 0, 0, 0, 7), possibly_billed=True, reasoning="hm", endpoint="http://two", latency_s=2.0
)


def folder_at(path: Path) -> Path:
    write_settings(path, {"seed": 0})
    return path


async def written(path: Path) -> None:
    log = RunLog(path)
    log.append(SessionRow(0, 0.0, {"python": "3"}))
    log.append(PromptRow(0, PROMPT))
    log.append(SentRow(0, FIRST, Amount(9.0, 20, 0.5, 1)))
    log.append(ResponseRow(0, FIRST, "digest", ANSWER, Amount(4.0, 8, 0.25, 2), (FailureKind.SERVER,)))
    await log.durable()
    log.append(JudgingRow(0, 0, "rules", "asked", Amount(9.0, 99, 9.0, 9)))
    log.append(ReplyRow(0, 0, "rules", "asked", VERDICT, Amount(calls=1)))
    log.append(JudgingRow(0, 0, "unseen", "asked too", Amount(9.0, 99, 9.0, 9), apart=True))
    log.append(ReplyRow(0, 0, "unseen", "asked too", VERDICT, Amount(tokens=3, calls=1), apart=True))
    log.append(ScoreRow(0, 0, "rules", "1", Score(0.5, message="half", answer="42", details={"length": 12.0})))
    log.append(ScoreRow(0, 0, "unseen", "1", Score(0.75)))
    log.append(OutcomeRow(0, 0, 0.5, None, 2))
    log.append(SentRow(0, SECOND, Amount(9.0, 30, 0.5, 1)))
    log.append(ResponseRow(0, SECOND, "digest2", FAILURE, Amount(0.0, 7, 0.0, 1)))
    log.append(OutcomeRow(0, 1, None, FailureKind.TIMEOUT, 2))
    log.append(SentRow(0, Call(2, "m0", (), Role.ANSWER, 13), Amount(1.0, 10, 0.0, 1)))
    log.append(EndRow(0, "budget"))
    log.append(SessionRow(0, 2.5))
    await log.durable()
    log.close()


def test_everything_comes_back_as_it_was_written(tmp_path: Path) -> None:
    asyncio.run(written(folder_at(tmp_path)))
    with RunRecord(tmp_path) as record:
        (prompt,) = record.prompts()
        assert prompt.prompt == PROMPT
        assert prompt.calls[0].call == FIRST
        assert prompt.calls[0].sample == ANSWER
        assert prompt.calls[0].attempts == (FailureKind.SERVER,)
        assert prompt.calls[0].scores["rules"].score == Score(0.5, message="half", answer="42", details={"length": 12.0})
        assert prompt.calls[0].judging == {"rules": Amount(calls=1)}
        assert prompt.calls[0].judging_apart == {"unseen": Amount(tokens=3, calls=1)}
        assert prompt.replies == {"asked": VERDICT, "asked too": VERDICT}
        assert prompt.calls[0].reward == 0.5
        assert prompt.calls[1].sample == FAILURE
        assert prompt.calls[1].reason is FailureKind.TIMEOUT
        assert [call.call_id for call in prompt.interrupted] == [2]
        assert prompt.wasted == Amount(1.0, 10, 0.0, 1)
        assert prompt.spent() == Amount(5.0, 25, 0.25, 5)  # 4+0+1 FLOPs, 8+7+10 tokens, .25 dollars, 2+1+1 calls and one of the judge
        assert record.spent() == prompt.spent()
        assert record.spent_apart() == Amount(tokens=3, calls=1)
        assert record.by_id() == {"p-0": (0, "budget")}
        assert record.seconds() == 2.5
        best = prompt.best()
        assert best is not None
        assert best.call == FIRST
        tellings = list(record.tellings(["rules"]))
        assert [(told.call_id, told.reward, told.reason, told.asked, told.model) for told in tellings] == [
            (0, 0.5, None, 2, "m0"),
            (1, None, FailureKind.TIMEOUT, 2, "m1"),
        ]
        assert {name: score.value for name, score in tellings[0].scores.items()} == {"rules": 0.5}


def test_a_prompt_is_found_by_number_id_and_name(tmp_path: Path) -> None:
    asyncio.run(written(folder_at(tmp_path)))
    with RunRecord(tmp_path) as record:
        assert [record.find(named).number for named in ("0", "p-", "greeting")] == [0, 0, 0]
        with pytest.raises(RecordError, match="no prompt is called 'nobody'"):
            record.find("nobody")


def test_a_call_sent_twice_counts_its_first_sending_as_wasted(tmp_path: Path) -> None:
    async def write() -> None:
        log = RunLog(folder_at(tmp_path))
        log.append(PromptRow(0, PROMPT))
        log.append(SentRow(0, FIRST, Amount(0.0, 20, 0.0, 1)))
        log.append(SentRow(0, FIRST, Amount(0.0, 20, 0.0, 1)))
        log.append(ResponseRow(0, FIRST, "d", ANSWER, Amount(0.0, 8, 0.0, 1)))
        await log.durable()
        log.close()

    asyncio.run(write())
    with RunRecord(tmp_path) as record:
        (prompt,) = record.prompts()
        assert prompt.wasted == Amount(0.0, 20, 0.0, 1)
        assert record.wasted() == prompt.wasted
        assert prompt.interrupted == []
        assert record.spent() == Amount(0.0, 28, 0.0, 2)


def test_many_rows_share_a_commit(tmp_path: Path) -> None:
    async def write() -> int:
        log = RunLog(folder_at(tmp_path))
        commits: list[int] = []
        commit = log._commit
        log._commit = lambda rows: (commits.append(len(rows)), commit(rows))[1]  # type: ignore[method-assign, func-returns-value]

        async def one(number: int) -> None:
            log.append(PromptRow(number, Prompt(f"p{number}", PROMPT.messages)))
            await log.durable()
            assert number in {row[0] for row in sqlite3.connect(tmp_path / LOG_NAME).execute("SELECT number FROM prompts")}

        await asyncio.gather(*[one(number) for number in range(200)])
        log.close()
        assert sum(commits) == 200
        return len(commits)

    assert asyncio.run(write()) <= 3


WRITER = """
import asyncio, sys
from pathlib import Path
from multigraft.records.log import RunLog
from multigraft.records.rows import PromptRow
from multigraft.types import Message, Prompt
async def main():
    log = RunLog(Path(sys.argv[1]))
    for number in range(int(sys.argv[2]), 10**6):
        log.append(PromptRow(number, Prompt(f"p{number}", (Message("user", "x" * 500),))))
        await log.durable()
        print(number, flush=True)
asyncio.run(main())
"""


def test_nothing_acknowledged_is_lost_to_a_kill(tmp_path: Path) -> None:
    folder_at(tmp_path)
    acknowledged = -1
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path), str(acknowledged + 2)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(20):
            acknowledged = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        acknowledged = int((process.stdout.read().split() or [str(acknowledged)])[-1])
        process.wait()
        process.stdout.close()
        with RunRecord(tmp_path) as record:
            numbers = [prompt.number for prompt in record.prompts()]
        assert acknowledged in numbers
        assert len(numbers) >= 20
        assert sqlite3.connect(tmp_path / LOG_NAME).execute("PRAGMA integrity_check").fetchone() == ("ok",)
        acknowledged = max(numbers)


def test_a_full_disk_is_said_at_once_and_loses_nothing_recorded(tmp_path: Path) -> None:
    async def write() -> int:
        log = RunLog(folder_at(tmp_path))
        log._thread.submit(log._database.execute, "PRAGMA max_page_count = 40").result()
        stored = 0
        with pytest.raises(DiskFullError, match="no space left"):
            for number in range(1000):
                log.append(PromptRow(number, Prompt(f"p{number}", (Message("user", "x" * 4000),))))
                await log.durable()
                stored += 1
        assert isinstance(log.error, DiskFullError)
        with pytest.raises(DiskFullError):  # and again, without a try: nothing more may be paid for
            await log.durable()
        log._thread.submit(log._database.execute, "PRAGMA max_page_count = 100000").result()
        log.close()  # space was freed: what was waiting is written after all
        return stored

    stored = asyncio.run(write())
    assert stored > 5
    with RunRecord(tmp_path) as record:
        assert record.num_prompts() == stored + 1
    assert DiskFullError.exit_code == 74


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    asyncio.run(written(folder_at(tmp_path)))
    with sqlite3.connect(tmp_path / LOG_NAME) as database:
        database.execute("UPDATE meta SET value = '99'")
    with pytest.raises(RecordError, match="written in schema 99"):
        RunRecord(tmp_path)
    with pytest.raises(RecordError, match="written in schema 99"):
        RunLog(tmp_path)


def test_the_latest_answer_of_the_strategy_counts_whatever_the_rewards(tmp_path: Path) -> None:
    async def write(*answers: int | None) -> None:
        log = RunLog(tmp_path)
        for answer in answers:
            log.append(AnswerRow(0, answer))
        await log.durable()
        log.close()

    def answer() -> tuple[bool, int | None]:
        with RunRecord(tmp_path) as record:
            prompt = record.prompt(0)
            best = prompt.best()
            return prompt.concludes, best.call.call_id if best else None

    asyncio.run(written(folder_at(tmp_path)))
    assert answer() == (False, 0)  # the highest reward
    asyncio.run(write(None))
    assert answer() == (True, None)
    asyncio.run(write(1, 0))
    assert answer() == (True, 0)
    asyncio.run(write(1))
    assert answer() == (True, 1)


def test_a_record_from_before_answers_is_read_and_goes_on(tmp_path: Path) -> None:
    asyncio.run(written(folder_at(tmp_path)))
    with sqlite3.connect(tmp_path / LOG_NAME) as database:
        database.executescript("DROP TABLE answers; UPDATE meta SET value = '2' WHERE key = 'schema_version'")
    with RunRecord(tmp_path) as record:
        before = record.prompt(0)
    assert not before.concludes
    RunLog(tmp_path).close()
    with sqlite3.connect(tmp_path / LOG_NAME) as database:
        assert database.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone() == ("3",)
        assert database.execute("SELECT count(*) FROM answers").fetchone() == (0,)
    with RunRecord(tmp_path) as record:
        assert record.prompt(0) == before


def test_no_run_and_no_record_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no run here"):
        RunRecord(tmp_path)
    folder_at(tmp_path)
    with pytest.raises(RecordError, match="never started"):
        RunRecord(tmp_path)
    (tmp_path / LOG_NAME).write_bytes(b"not a database, but long enough to look at" * 100)
    with pytest.raises(RecordError, match="not a database"):
        RunRecord(tmp_path)


def test_a_folder_of_a_search_is_no_run_and_says_where_its_results_are(tmp_path: Path) -> None:
    (tmp_path / SEARCH_NAME).write_bytes(b"")
    for _ in ("before its settings, as of a pilot", "with its settings"):
        with pytest.raises(RecordError, match=r"holds a graph search, not a run: read \S+report\.md, or `multigraft graph show \S+graph\.json`"):
            RunRecord(tmp_path)
        folder_at(tmp_path)


def test_nothing_is_nothing() -> None:
    assert Amount() == NOTHING


async def test_what_nobody_waits_for_is_on_disk_a_few_milliseconds_later(tmp_path: Path) -> None:
    log = RunLog(folder_at(tmp_path))
    log.append(PromptRow(0, PROMPT))
    log.durable_soon()
    log.durable_soon()
    for _ in range(200):
        await asyncio.sleep(0.01)
        with RunRecord(tmp_path) as record:
            if record.num_prompts():
                break
    else:
        pytest.fail("nothing was written")
    log.append(EndRow(0, "done"))
    log.durable_soon()
    log.close()  # writes what is left, and nothing stirs afterwards
    await asyncio.sleep(0.02)


async def test_a_failure_that_nobody_waited_for_is_raised_by_the_next_who_waits(tmp_path: Path) -> None:
    log = RunLog(folder_at(tmp_path))
    log._thread.submit(log._database.execute, "DROP TABLE ends").result()
    log.append(EndRow(0, "done"))
    log.durable_soon()
    await asyncio.sleep(0.1)
    with pytest.raises(RecordError, match="no such table: ends"):
        await log.durable()
    with pytest.raises(RecordError):
        log.close()
