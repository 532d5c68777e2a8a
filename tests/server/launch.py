"""Starting reward servers in processes of their own, and asking them without any of the code under test."""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.message import Message as EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "multigraft", "reward", "serve")


class Answer(NamedTuple):
    status: int
    headers: "EmailMessage[str, str]"
    body: Any


class Running:
    """A server that runs, and the first line it printed."""

    def __init__(self, process: "subprocess.Popen[str]", said: dict[str, Any], errors: list[str]) -> None:
        self.process = process
        self.said = said
        self.url: str = said["address"]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.errors = errors

    def ask(self, path: str, body: Any = None, *, data: bytes | None = None, headers: Mapping[str, str] | None = None, timeout_s: float = 30.0) -> Answer:
        """GET, or POST where there is a body."""
        sent = json.dumps(body).encode() if body is not None else data
        request = urllib.request.Request(self.url + path, sent, {"content-type": "application/json", **(headers or {})})  # noqa: S310 - our own loopback server
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as reply:  # noqa: S310 - our own loopback server
                return Answer(reply.status, reply.headers, json.load(reply))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, json.load(error))

    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("/stats").body
        return found


@contextmanager
def served(command: Sequence[str], environment: Mapping[str, str] | None = None, start_s: float = 60.0) -> Iterator[Running]:
    """Run a server until the block ends."""
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[str] = []
    reading = threading.Thread(target=errors.extend, args=(process.stderr,), daemon=True)
    reading.start()
    timer = threading.Timer(start_s, process.kill)
    timer.start()
    try:
        line = process.stdout.readline()
        timer.cancel()
        assert line, f"the server did not start: {''.join(errors)}"
        yield Running(process, json.loads(line), errors)
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        reading.join()
        process.stdout.close()
        process.stderr.close()


def scripted(**settings: Any) -> Sequence[str]:
    """Return the command of a server whose scorer does as it is told."""
    return (sys.executable, "-m", "tests.server.scripted_server", json.dumps(settings))


def until(condition: Any, most_s: float = 10.0) -> None:
    """Wait for a condition to hold."""
    ends = time.monotonic() + most_s
    while not condition():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.02)
