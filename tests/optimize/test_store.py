import sqlite3
from pathlib import Path

import pytest

from multigraft.budget.amount import NOTHING, Amount
from multigraft.errors import RecordError
from multigraft.graphs.latency import CallTime
from multigraft.optimize.problem import Reply
from multigraft.optimize.real.store import KeptTrial, Store
from multigraft.records.folder import SEARCH_NAME
from multigraft.types import Completion, Failure, FailureKind, Finish, Score, Usage

COST = Amount(10.0, 7, 0.5, 1)


def completion(text: str, latency_s: float = 0.25) -> Completion:
    return Completion(text, Finish.STOP, Usage(prompt_tokens=5, completion_tokens=2, context_tokens=5), latency_s=latency_s)


async def test_what_was_kept_is_there_for_the_next_process(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sent = store.note_sent("d1", "m0", COST, apart=False)
    store.keep_output(sent, "d1", "m0", completion("seven"), COST, apart=False, lasting=True)
    store.keep_score("p1", "d1", "grader", Score(0.5, answer="7"))
    store.keep_trial("g1", "p1", KeptTrial(0.5, None, {"cone.0": 0.5, "cone.1": None}, COST, 0.25))
    store.keep_trial("g1", "p2", KeptTrial(None, FailureKind.SERVER, {}, NOTHING, 0.0))
    store.keep_consult("c1", Reply("{}", None, COST))
    store.keep_consult("c2", Reply(None, FailureKind.TIMEOUT))
    store.keep_fact("workload", "first")
    store.keep_fact("workload", "second")
    store.note_session(3.0, {"python": "3"})
    store.close()

    again = Store(tmp_path)
    assert again.session == 1
    assert again.seconds() == 3.0
    assert again.output("d1") == completion("seven")
    assert again.output("d2") is None
    assert again.score("p1", "d1", "grader") == Score(0.5, answer="7")
    assert again.score("p2", "d1", "grader") is None
    assert again.trial("g1", "p1") == KeptTrial(0.5, None, {"cone.0": 0.5, "cone.1": None}, COST, 0.25)
    assert again.trial("g1", "p2") == KeptTrial(None, FailureKind.SERVER, {}, NOTHING, 0.0)
    assert again.trial("g2", "p1") is None
    assert again.consult("c1") == Reply("{}", None, COST)
    assert again.consult("c2") == Reply(None, FailureKind.TIMEOUT)
    assert again.consult("c3") is None
    assert again.fact("workload") == "second"
    assert again.has_answers()
    assert again.call_times("m0") == (CallTime(5.0, 2.0, 0.25),)
    again.close()


async def test_what_was_sent_and_not_answered_is_charged_at_its_bound(tmp_path: Path) -> None:
    store = Store(tmp_path)
    answered = store.note_sent("d1", "m0", Amount(100.0, 90, 1.0, 1), apart=False)
    store.note_sent("d2", "m0", Amount(1000.0, 80, 2.0, 1), apart=False)
    optimiser = store.note_sent("d3", "big", Amount(0.0, 500, 0.0, 1), apart=True)
    store.note_sent("d4", "big", Amount(0.0, 600, 0.0, 1), apart=True)
    store.keep_output(answered, "d1", "m0", completion("a"), COST, apart=False, lasting=True)
    store.keep_output(optimiser, "d3", "big", completion("b"), Amount(0.0, 40, 0.0, 1), apart=True, lasting=True)
    await store.durable()
    assert store.num_cut_off() == 2
    assert store.spent(apart=False) == Amount(1010.0, 87, 2.5, 2)
    assert store.spent(apart=True) == Amount(0.0, 640, 0.0, 2)
    assert store.spent() == Amount(1010.0, 727, 2.5, 4)
    store.close()


async def test_what_does_not_last_is_asked_again_and_still_paid_for(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for sample, lasting in ((Failure(FailureKind.SERVER, "503", retryable=True), False), (completion("then"), True)):
        sent = store.note_sent("d1", "m0", COST, apart=False)
        store.keep_output(sent, "d1", "m0", sample, COST, apart=False, lasting=lasting)
        await store.durable()
        assert store.output("d1") == (sample if lasting else None)
    assert store.spent() == COST.plus(COST)
    store.close()


async def test_a_passing_failure_of_a_scorer_is_no_score(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.keep_score("p1", "d1", "grader", Score(None, FailureKind.TIMEOUT, retryable=True))
    await store.durable()
    assert store.score("p1", "d1", "grader") is None
    store.keep_score("p1", "d1", "grader", Score(1.0))
    await store.durable()
    assert store.score("p1", "d1", "grader") == Score(1.0)
    assert not store.has_answers()
    store.close()


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / SEARCH_NAME) as database:
        database.execute("UPDATE meta SET value = '99'")
    database.close()
    with pytest.raises(RecordError, match="written in schema 99"):
        Store(tmp_path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / SEARCH_NAME).write_bytes(b"no database at all, and long enough to be looked at" * 20)
    with pytest.raises(RecordError):
        Store(tmp_path)
