"""`multigraft score` stopped in the middle, by Ctrl-C or by a kill: the same command goes on, and no judgement is asked for twice."""

import json
import signal
from pathlib import Path

import pytest
from tests.runs.driver import COMMAND, Started, integrity, rows_of
from tests.servers.launch import fake_server

from multigraft.records.reader import RunRecord

RUN_FILE = """
[strategy]
name = "random"
n = 4
[[models]]
name = "writer"
kind = "scripted"
[[reward.parts]]
kind = "scripted"
"""
JUDGE = """
[[models]]
name = "critic"
kind = "openai"
endpoints = [{{ url = "{url}/v1", max_in_flight = 4 }}]
[[judge.parts]]
kind = "judge"
model = "critic"
at = "all"
[concurrency]
drain_s = 5.0
"""
NUM_RESPONSES = 24


def run_in(folder: Path) -> Path:
    (folder / "prompts.jsonl").write_text("".join(f'{{"prompt": "Name tree {number}."}}\n' for number in range(NUM_RESPONSES // 4)))
    (folder / "run.toml").write_text(RUN_FILE)
    done = Started(["synth", str(folder / "prompts.jsonl"), "-c", str(folder / "run.toml"), "-o", str(folder / "run"), "-q"]).ended(60)
    assert done.code == 0, done.err
    return folder / "run"


def replies(run: Path) -> int:
    return int(rows_of(run, "SELECT count(*) FROM replies WHERE text IS NOT NULL AND apart = 1")[0][0])


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_judging_goes_on_and_nothing_is_paid_twice(stop: signal.Signals, tmp_path: Path) -> None:
    run = run_in(tmp_path)
    with fake_server(latency_s=0.15) as server:
        (tmp_path / "judge.toml").write_text(JUDGE.format(url=server.url))
        arguments = ["score", str(run), "-c", str(tmp_path / "judge.toml"), "--json", "-q"]
        started = Started(arguments, command=COMMAND)
        while replies(run) < 6:
            assert started.process.poll() is None, started.ended().err
        started.signal(stop)
        ended = started.ended(30)
        assert ended.code == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[stop]
        assert integrity(run) == "ok"
        answered, asked = replies(run), server.stats()["calls"]
        assert 6 <= answered < NUM_RESPONSES
        server.control(latency_s=0.0)
        done = Started(arguments, command=COMMAND).ended(60)
        assert done.code == 0, done.err
        again = server.stats()["calls"] - asked
    scorer = json.loads(done.out)["scorers"]["judge"]
    assert (scorer["scored"], scorer["unscored"]) == (NUM_RESPONSES, {})
    assert again == NUM_RESPONSES - answered
    # After a stop that is heeded, what was in flight came in; a kill loses at most that.
    assert asked - answered <= (4 if stop is signal.SIGKILL else 0)
    with RunRecord(run) as record:
        charged = record.spent_apart().calls
    # A call that a kill cut off between its record and the wire is charged as well, since nobody can know that it was not sent.
    assert asked + again <= charged <= asked + again + (4 if stop is signal.SIGKILL else 0)
