import asyncio
import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.servers.launch import Running

from multigraft.types import Failure, FailureKind
from multigraft.wire.endpoints import Endpoint, Endpoints, Reply

BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
CHAT = "/v1/chat/completions"
K = FailureKind


def _endpoints(*servers: Running, attempt_timeout_s: float = 5.0, max_body_bytes: int = 2**20, key: str | None = None) -> Endpoints:
    return Endpoints(
        [Endpoint(url=server.url, key=key) for server in servers], name="m", attempt_timeout_s=attempt_timeout_s, max_body_bytes=max_body_bytes, give_up_s=5.0
    )


async def test_a_reply(server: Running) -> None:
    async with _endpoints(server) as endpoints:
        reply = await endpoints.post(CHAT, BODY)
    assert isinstance(reply, Reply)
    assert reply.status == 200
    assert reply.endpoint == server.url
    assert reply.latency_s > 0.0
    assert isinstance(reply.body["choices"], list)


@pytest.mark.parametrize(
    ("fault", "kind", "retryable", "billed"),
    [
        ({"kind": "status", "status": 500}, K.SERVER, True, False),
        ({"kind": "html", "status": 502}, K.SERVER, True, True),
        ({"kind": "html", "status": 200}, K.MALFORMED, True, True),
        ({"kind": "status", "status": 429}, K.RATE_LIMIT, True, False),
        ({"kind": "status", "status": 302, "headers": {"location": "http://127.0.0.1:1/"}}, K.NOT_FOUND, False, False),
        ({"kind": "quota"}, K.QUOTA, False, False),
        ({"kind": "reset"}, K.CONNECTION, True, True),
        ({"kind": "truncated"}, K.MALFORMED, True, True),
        ({"kind": "cut"}, K.CONNECTION, True, True),
        ({"kind": "list"}, K.MALFORMED, True, True),
        ({"kind": "error_200"}, K.SERVER, True, False),
        ({"kind": "error_200_code"}, K.RATE_LIMIT, True, False),
        ({"kind": "raw", "body": "", "status": 200}, K.MALFORMED, True, True),
        ({"kind": "raw", "body": "[" * 20_000, "status": 200}, K.MALFORMED, True, True),
        ({"kind": "endless"}, K.TOO_LARGE, False, True),
        ({"kind": "bomb", "seconds": 30}, K.TOO_LARGE, False, True),
        ({"kind": "raw", "body": "x", "status": 200, "headers": {"content-encoding": "br"}}, K.MALFORMED, True, True),
        ({"kind": "raw", "body": "x", "status": 200, "headers": {"content-encoding": "gzip"}}, K.MALFORMED, True, True),
        ({"kind": "status", "status": 500, "headers": {"x-should-retry": "false"}}, K.SERVER, False, False),
    ],
)
async def test_faults(server: Running, fault: dict[str, Any], kind: FailureKind, retryable: bool, billed: bool) -> None:
    server.control(faults=[fault])
    async with _endpoints(server) as endpoints:
        failure = await endpoints.post(CHAT, BODY)
    assert isinstance(failure, Failure), failure
    assert (failure.kind, failure.retryable, failure.possibly_billed) == (kind, retryable, billed)
    assert failure.message
    assert len(failure.message) < 500
    assert failure.endpoint == server.url
    assert server.stats()["calls"] == 1


async def test_a_small_gzip_body_nobody_asked_for_is_read(server: Running) -> None:
    server.control(faults=[{"kind": "gzip"}])
    async with _endpoints(server) as endpoints:
        assert isinstance(await endpoints.post(CHAT, BODY), Reply)


async def test_a_bomb_takes_little_memory(server: Running) -> None:
    server.control(faults=[{"kind": "bomb", "seconds": 120}])
    async with _endpoints(server, max_body_bytes=32 * 2**20, attempt_timeout_s=30.0) as endpoints:
        gc.collect()
        _forget_peaks()
        before = _resident_mb()
        failure = await endpoints.post(CHAT, BODY)
    assert isinstance(failure, Failure)
    assert failure.kind is K.TOO_LARGE
    assert _peak_mb() - before <= 100


@pytest.mark.parametrize("kind", ["hang", "stall", "loris", "drip"])
async def test_an_attempt_ends_in_time(server: Running, kind: str) -> None:
    server.control(faults=[{"kind": kind, "seconds": 3.0}])
    async with _endpoints(server, attempt_timeout_s=0.5) as endpoints:
        started = time.monotonic()
        failure = await endpoints.post(CHAT, BODY)
    assert isinstance(failure, Failure)
    assert failure.kind is K.TIMEOUT
    assert failure.possibly_billed
    assert 0.45 <= time.monotonic() - started <= 0.7


async def test_cancelling_closes_the_connection(server: Running) -> None:
    server.control(latency_s=5.0)
    async with _endpoints(server) as endpoints:
        tasks = [asyncio.ensure_future(endpoints.post(CHAT, BODY)) for _ in range(8)]
        await _until(lambda: server.stats()["in_flight"] == 8)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await _until(lambda: server.stats()["disconnects"] == 8)
        assert endpoints.lanes[0].in_flight == 0


async def test_cancelling_in_the_middle_of_a_body_closes_the_connection(server: Running) -> None:
    server.control(faults=[{"kind": "stall", "seconds": 5.0}])
    async with _endpoints(server) as endpoints:
        task = asyncio.ensure_future(endpoints.post(CHAT, BODY))
        await _until(lambda: server.stats()["in_flight"] == 1)
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait([task])
        await _until(lambda: server.stats()["disconnects"] == 1)


async def test_no_key_in_any_message(server: Running) -> None:
    server.control(faults=[{"kind": "echo_key", "status": 400}])
    key = "sk-canary-51d2b8"
    async with _endpoints(server, key=key) as endpoints:
        failure = await endpoints.post(CHAT, BODY)
    assert server.stats()["by_key"] == {key: 1}
    assert isinstance(failure, Failure)
    assert "***" in failure.message
    assert key not in repr(failure)
    assert key not in repr(Endpoint(url=server.url, key=key))


@pytest.mark.parametrize("written", ["sk-canary/51d2b8", "sk-canary\\/51d2b8", "\\u0073k-canary/51d2b8"])
@pytest.mark.parametrize("status", [200, 400, 500])
async def test_no_echoed_key_however_it_is_written(server: Running, written: str, status: int) -> None:
    key = "sk-canary/51d2b8"
    server.control(faults=[{"kind": "raw", "status": status, "body": f'{{"error": {{"message": "{"x" * 385}{written}"}}}}'}])
    async with _endpoints(server, key=key) as endpoints:
        failure = await endpoints.post(CHAT, BODY)
    assert isinstance(failure, Failure)
    assert "canary" not in repr(failure)


async def test_no_echoed_key_in_an_answer(server: Running) -> None:
    key = "sk-canary-51d2b8"
    server.control(faults=[{"kind": "raw", "status": 200, "body": f'{{"choices": [{{"message": {{"content": "your key is {key}"}}}}]}}'}])
    async with _endpoints(server, key=key) as endpoints:
        reply = await endpoints.post(CHAT, BODY)
    assert isinstance(reply, Reply)
    assert "your key is ***" in str(reply.body)


async def test_what_is_no_http_is_a_broken_connection() -> None:
    async def garble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"\x00\xffnonsense\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(garble, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        async with Endpoints([Endpoint(url=f"http://127.0.0.1:{port}")], name="m") as endpoints:
            failure = await endpoints.post(CHAT, BODY)
    assert isinstance(failure, Failure)
    assert failure.kind is K.CONNECTION
    assert failure.retryable


def test_many_calls_with_few_file_descriptors(server: Running) -> None:
    server.control(latency_s=0.05)
    script = f"""
import asyncio, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from multigraft.wire.endpoints import Endpoint, Endpoints, Reply
async def main():
    async with Endpoints([Endpoint(url="{server.url}", max_in_flight=2000, start_in_flight=2000)], name="m") as endpoints:
        results = await asyncio.gather(*(endpoints.post("{CHAT}", {{"messages": [], "seed": n}}) for n in range(2000)))
    print(sum(isinstance(result, Reply) for result in results))
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["2000"]
    assert server.stats()["most_in_flight"] <= 128


async def test_file_descriptors_stay_flat(server: Running) -> None:
    server.control(close_every=7)
    async with Endpoints([Endpoint(url=server.url, max_in_flight=16)], name="m") as endpoints:
        await asyncio.gather(*(endpoints.post(CHAT, BODY) for _ in range(50)))
        before = _descriptors()
        for _ in range(10):
            replies = await asyncio.gather(*(endpoints.post(CHAT, BODY) for _ in range(100)))
            assert sum(isinstance(reply, Reply) for reply in replies) >= 95
        assert abs(_descriptors() - before) <= 16
    assert server.stats()["most_in_flight"] <= 16


async def test_a_score_route(server: Running) -> None:
    async with _endpoints(server) as endpoints:
        reply = await endpoints.post("/score", {"model": "rm", "text_1": "q", "text_2": ["a", "b"]})
    assert isinstance(reply, Reply)
    data = reply.body["data"]
    assert isinstance(data, list)
    assert len(data) == 2


@pytest.mark.parametrize(
    ("base", "path", "address"),
    [
        ("http://h:1", "/v1/chat/completions", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "/v1/chat/completions", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1", "/v1/chat/completions", "http://h:1/v1/chat/completions"),
        ("https://h/v1beta/openai/", "/v1/chat/completions", "https://h/v1beta/openai/chat/completions"),
        ("https://h/api/v1", "/v1/completions", "https://h/api/v1/completions"),
        ("http://h:1/v1", "/score", "http://h:1/score"),
        ("http://h:1/reward", "/score", "http://h:1/reward/score"),
    ],
)
def test_addresses(base: str, path: str, address: str) -> None:
    assert str(Endpoint(url=base).address(path)) == address


@pytest.mark.parametrize("url", ["", "h:1", "ftp://h", "http://", "127.0.0.1:8000", "http://[::1", "http://user:pw-canary@h", "http://h/?key=pw-canary"])
def test_wrong_urls_are_refused_without_telling_secrets(url: str) -> None:
    with pytest.raises(ValueError, match="endpoint URL") as error:
        Endpoint(url=url)
    assert "pw-canary" not in str(error.value)


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="no endpoint"):
        Endpoints([], name="m")
    with pytest.raises(ValueError, match="-1"):
        Endpoints([Endpoint(url="http://h")], name="m", attempt_timeout_s=-1)
    with pytest.raises(ValueError, match="the key for h is empty or holds") as error:
        Endpoint(url="http://h", key="canary-51d2b8\n")
    assert "canary" not in str(error.value)
    with pytest.raises(ValueError, match="max_in_flight must be at least 1, not 0"):
        Endpoint(url="http://h", max_in_flight=0)


async def _until(condition: Any, limit_s: float = 3.0) -> None:
    for _ in range(int(limit_s / 0.05)):
        if await asyncio.to_thread(condition):
            return
        await asyncio.sleep(0.05)
    assert await asyncio.to_thread(condition)


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _forget_peaks() -> None:
    """Of tests before this one in the same process."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
