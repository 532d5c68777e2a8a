"""Starting the fake server in a process of its own, and talking to it."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class Running:
    """A fake server that runs."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def stats(self) -> Any:
        with urllib.request.urlopen(f"{self.url}/stats", timeout=10) as reply:  # noqa: S310 - our own loopback server
            return json.load(reply)

    def control(self, **settings: Any) -> None:
        self._post("/control", settings)

    def reset_stats(self) -> None:
        self._post("/reset_stats", {})

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _post(self, path: str, body: dict[str, Any]) -> None:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"content-type": "application/json"})  # noqa: S310 - our own loopback server
        with urllib.request.urlopen(request, timeout=10) as reply:  # noqa: S310 - our own loopback server
            reply.read()


@contextmanager
def fake_server(*, port: int = 0, **settings: Any) -> Iterator[Running]:
    """Run a fake server.

    Args:
        port: 0 for a free one.
        settings: see `fake_settings.Settings`.
    """
    command = [sys.executable, "-m", "tests.servers.fake_server", json.dumps(settings), str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Running(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
