"""An interruption with an embedded model at work: its server is a child process, and must not outlive the run."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.runs.driver import Started, integrity, rows_of
from tests.runs.rows_signals import children_of


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_an_embedded_model_ends_with_its_run(tmp_path: Path, times: int) -> None:
    pytest.importorskip("xllamacpp")
    prompts, run, run_file = tmp_path / "prompts.jsonl", tmp_path / "run", tmp_path / "settings.toml"
    run_file.write_text("[sampling]\nmax_tokens = 48\n")
    prompts.write_text("".join(json.dumps({"prompt": f"Tell a long story about the number {number}."}) + "\n" for number in range(40)))
    started = Started(["synth", str(prompts), "--models", "smollm2-135m", "-c", str(run_file), "-n", "8", "-o", str(run), "-q"])
    deadline_s = time.monotonic() + 300.0
    while not rows_of(run, "SELECT 1 FROM responses") and started.process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert rows_of(run, "SELECT 1 FROM responses"), "nothing answered"
    children = children_of(started.process.pid)
    assert children, started.ended().err
    sent_s = time.monotonic()
    for _ in range(times):
        os.killpg(started.process.pid, signal.SIGINT)  # as a terminal does
        time.sleep(0.3)
    ended = started.ended(60.0)
    gone_s = time.monotonic() - sent_s
    assert ended.code == 130, ended.err
    assert gone_s <= (12.0 if times == 1 else 2.0)
    deadline_s = time.monotonic() + 3.0
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []
    assert integrity(run) == "ok"
    if times == 1:
        sent, responses = rows_of(run, "SELECT (SELECT count(*) FROM sent), (SELECT count(*) FROM responses)")[0]
        assert responses > 0
        assert sent >= responses
