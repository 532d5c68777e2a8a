"""`multigraft reward serve` as a process: what it prints, what it refuses to serve, and how it ends."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.server.launch import COMMAND, ROOT, scripted, served, until

PAIR = {"text_1": "Why?", "text_2": "Because."}
RUN_FILE = """
[[reward.parts]]
kind = "rules"
name = "short"
rules = [{ rule = "length", maximum = 5 }]

[[reward.parts]]
kind = "scripted"
seed = 3
"""


def refused(*arguments: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run([*COMMAND, *arguments], cwd=ROOT, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in {1, 2}, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_the_first_line_says_where(tmp_path: Path) -> None:
    with served([*COMMAND, "--reward", "rules", "--port", "0"]) as running:
        assert running.said.keys() == {"address", "name", "version", "max_batch"}
        assert running.said["name"] == "rules"
        assert running.ask("/health").status == 200
        assert running.ask("/v1/models").body["data"][0]["version"] == running.said["version"]


def test_one_part_of_a_run_file_is_served_with_its_settings(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(RUN_FILE, "utf-8")
    with served([*COMMAND, "-c", str(file), "--name", "short", "--port", "0", "--max-batch", "2"]) as running:
        assert (running.said["name"], running.said["max_batch"]) == ("short", 2)
        body = {"text_1": "Why is it so?", "text_2": ["It simply is.", "It is so because of many different and mostly unknown reasons."]}
        first, second = running.ask("/score", body).body["data"]
        assert first["score"] == 1.0
        assert second["score"] < 1.0
    assert "there are 'short', 'scripted'; name one of them with --name" in refused("-c", str(file))
    assert "there is no 'long', only 'short', 'scripted'" in refused("-c", str(file), "--name", "long")


def test_what_may_not_be_served_is_told_why() -> None:
    assert "either --reward KIND:MODEL, or a run file with -c" in refused()
    assert "name one of them with --name" in refused("--reward", "rules+scripted")
    assert "Did you mean 'rules'?" in refused("--reward", "rulez")
    for judge in ("judge:gpt", "graded_judge:gpt"):
        assert "asks a chat model" in refused("--reward", judge)
    assert "a server does so only when started with --allow-code" in refused("--reward", "unit_tests")
    assert "it needs a key" in refused("--reward", "rules", "--host", "192.168.1.7")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed: apt-get install bubblewrap libseccomp2")
def test_code_is_run_where_that_was_typed_at_the_start() -> None:
    fields = {"entry_point": "add", "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n"}
    prompt = {"messages": [{"role": "user", "content": "def add(a, b):\n"}], "fields": fields}
    answers = [{"prompt": prompt, "response": f"```python\ndef add(a, b):\n    return a {sign} b\n```"} for sign in "+-"]
    with served([*COMMAND, "--reward", "unit_tests", "--allow-code", "--port", "0"]) as running:
        assert [item["score"] for item in running.ask("/multigraft/score", {"candidates": answers}).body["data"]] == [1.0, 0.0]


def test_keys_come_from_the_environment_alone() -> None:
    assert "the environment variable NO_SUCH_KEY, which is to hold the key, is not set" in refused("--reward", "rules", "--key-env", "NO_SUCH_KEY")
    environment = {"REWARD_KEY": "canary-77d1"}
    with served([*COMMAND, "--reward", "rules", "--port", "0", "--key-env", "REWARD_KEY"], environment) as running:
        assert "canary" not in json.dumps(running.said)
        assert running.ask("/score", PAIR).status == 401
        assert running.ask("/score", PAIR, headers={"Authorization": "Bearer canary-77d1"}).status == 200
        assert "canary" not in Path(f"/proc/{running.process.pid}/cmdline").read_text("utf-8")
        assert not any("canary" in line for line in running.errors)


def test_a_port_that_is_taken_is_an_error_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        message = refused("--reward", "rules", "--port", str(taken.getsockname()[1]))
    assert message.startswith("error: listening on 127.0.0.1:")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_have_their_answers(number: signal.Signals) -> None:
    with served(scripted(delay_s=0.5, max_batch=2)) as running, ThreadPoolExecutor(2) as pool:
        asked = pool.submit(running.ask, "/score", {"text_1": "a", "text_2": ["b", "c", "d"]})
        until(lambda: running.stats()["in_flight"] == 2)
        running.process.send_signal(number)
        assert len(asked.result().body["data"]) == 3
        assert running.process.wait(timeout=10) == 0


def test_nothing_new_is_taken_after_a_signal() -> None:
    with served(scripted(delay_s=1.0)) as running, ThreadPoolExecutor(2) as pool:
        head = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with socket.create_connection(("127.0.0.1", running.port), timeout=10) as client:
            client.sendall(head.encode())
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
            asked = pool.submit(running.ask, "/score", PAIR)
            until(lambda: running.stats()["in_flight"] == 2)
            running.process.terminate()
            time.sleep(0.1)
            client.sendall(head.encode())
            reply = client.recv(65536)
        assert reply.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 5" in reply.lower()
        assert asked.result().status == 200
        assert running.process.wait(timeout=10) == 0


def test_a_scorer_that_hangs_does_not_keep_the_server() -> None:
    with served(scripted(delay_s=1.0)) as running, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(running.ask, "/score", {"text_1": "a", "text_2": ["b"] * 400})
        until(lambda: running.stats()["in_flight"] == 2)
        began = time.monotonic()
        running.process.terminate()
        time.sleep(0.3)
        running.process.terminate()
        assert running.process.wait(timeout=5) == -signal.SIGTERM
        assert time.monotonic() - began < 5.0
        assert asked.exception() is not None


@pytest.mark.slow
def test_it_ends_within_ten_seconds_whatever_is_in_flight() -> None:
    with served(scripted(delay_s=60.0)) as running, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(running.ask, "/score", PAIR)
        until(lambda: running.stats()["in_flight"] == 2)
        began = time.monotonic()
        running.process.terminate()
        assert running.process.wait(timeout=15) == 1
        assert 7.0 < time.monotonic() - began < 11.0
        assert asked.exception() is not None or asked.result().status == 503
