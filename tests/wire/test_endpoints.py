import asyncio
import socket
import time
from collections.abc import Mapping
from typing import Any

from tests.servers.launch import Running, fake_server

from multigraft.types import Failure, FailureKind, Json
from multigraft.wire.breaker import Condition
from multigraft.wire.endpoints import Endpoint, Endpoints, Reply

CHAT = "/v1/chat/completions"
K = FailureKind


def _body(number: int) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": f"question {number}"}]}


async def _posted(endpoints: Endpoints, count: int) -> list[Reply | Failure]:
    return list(await asyncio.gather(*(endpoints.post(CHAT, _body(number)) for number in range(count))))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def test_calls_are_shared_by_load() -> None:
    with fake_server(latency_s=0.02) as quick, fake_server(latency_s=0.2) as slow:
        async with Endpoints([Endpoint(url=quick.url, max_in_flight=8), Endpoint(url=slow.url, max_in_flight=8)], name="m") as endpoints:
            replies = await _posted(endpoints, 200)
        assert all(isinstance(reply, Reply) for reply in replies)
        assert quick.stats()["calls"] >= 3 * slow.stats()["calls"]
        assert max(quick.stats()["most_in_flight"], slow.stats()["most_in_flight"]) <= 8


async def test_many_in_flight_within_a_few_round_trips(server: Running) -> None:
    server.control(latency_s=0.2)
    async with Endpoints([Endpoint(url=server.url)], name="m") as endpoints:
        await _posted(endpoints, 64 + 128 + 256)
    assert server.stats()["most_in_flight"] >= 200


async def test_the_body_may_depend_on_the_endpoint(server: Running) -> None:
    async def body(endpoint: str) -> Mapping[str, Json]:
        await asyncio.sleep(0)
        return {"model": endpoint, "messages": []}

    async with Endpoints([Endpoint(url=server.url)], name="m") as endpoints:
        reply = await endpoints.post(CHAT, body)
    assert isinstance(reply, Reply)
    assert reply.body["model"] == server.url


async def test_an_error_of_the_program_frees_its_place(server: Running) -> None:
    async def body(endpoint: str) -> Mapping[str, Json]:
        raise KeyError(endpoint)

    async with Endpoints([Endpoint(url=server.url, max_in_flight=1)], name="m") as endpoints:
        for _ in range(3):
            try:
                await endpoints.post(CHAT, body)
            except KeyError:
                continue
            raise AssertionError
        assert isinstance(await endpoints.post(CHAT, _body(0)), Reply)


async def test_a_wrong_key_stops_the_endpoint_after_the_calls_in_flight(server: Running) -> None:
    server.control(keys=["right"])
    async with Endpoints([Endpoint(url=server.url, key="wrong", max_in_flight=4)], name="m") as endpoints:
        failures = await _posted(endpoints, 100)
    assert server.stats()["calls"] <= 4
    assert all(isinstance(failure, Failure) and failure.kind is K.AUTH and not failure.retryable for failure in failures)
    assert all("Incorrect API key" in failure.message for failure in failures if isinstance(failure, Failure))


async def test_a_quota_of_one_key_leaves_the_work_to_the_other(server: Running) -> None:
    server.control(faults=[{"kind": "quota", "key": "poor-key"}])
    poor, rich = Endpoint(url=server.url, key="poor-key", max_in_flight=2), Endpoint(url=server.url, key="rich-key", max_in_flight=2)
    async with Endpoints([poor, rich], name="m") as endpoints:
        results = await _posted(endpoints, 50)
    refused = [result for result in results if isinstance(result, Failure)]
    assert len(refused) <= 2
    assert all(failure.kind is K.QUOTA and failure.retryable for failure in refused)
    assert server.stats()["by_key"]["poor-key"] <= 2


async def test_a_missing_route_does_not_stop_the_others(server: Running) -> None:
    server.control(faults=[{"kind": "status", "status": 404, "path": "/pooling"}])
    async with Endpoints([Endpoint(url=server.url)], name="m") as endpoints:
        first, second = await endpoints.post("/pooling", {}), await endpoints.post("/pooling", {})
        assert isinstance(first, Failure)
        assert isinstance(second, Failure)
        assert {first.kind, second.kind} == {K.NOT_FOUND}
        assert isinstance(await endpoints.post("/score", {"text_2": "x"}), Reply)
    assert server.stats()["by_path"] == {"/pooling": 1, "/score": 1}


async def test_nothing_is_sent_before_retry_after(server: Running) -> None:
    server.control(faults=[{"kind": "status", "status": 429, "headers": {"retry-after": "1"}, "first": 1}])
    async with Endpoints([Endpoint(url=server.url)], name="m") as endpoints:
        first = await endpoints.post(CHAT, _body(0))
        assert isinstance(first, Failure)
        assert first.retry_after_s == 1.0
        started = time.monotonic()
        await _posted(endpoints, 5)
        assert time.monotonic() - started >= 0.95
    times = [at for at, _ in server.stats()["times"]]
    assert min(times[1:]) - times[0] >= 0.99


async def test_a_longer_wait_than_any_call_sits_out_is_capped_in_the_failure_and_kept_by_the_endpoint(server: Running) -> None:
    server.control(faults=[{"kind": "status", "status": 429, "headers": {"retry-after": "900"}, "first": 1}])
    async with Endpoints([Endpoint(url=server.url)], name="m", give_up_s=0.3) as endpoints:
        first = await endpoints.post(CHAT, _body(0))
        assert isinstance(first, Failure)
        assert first.retry_after_s == 120.0
        second = await endpoints.post(CHAT, _body(1))
        assert isinstance(second, Failure)
        assert second.kind is K.UNAVAILABLE
    assert server.stats()["calls"] == 1


async def test_a_dead_endpoint_is_left_alone_and_nothing_is_lost(server: Running) -> None:
    dead = f"http://127.0.0.1:{_free_port()}"
    async with Endpoints([Endpoint(url=dead), Endpoint(url=server.url)], name="m") as endpoints:
        results = await _posted(endpoints, 200)
        assert all(isinstance(result, Reply) for result in results)
        assert endpoints.lanes[0].breaker.condition is not Condition.CLOSED


async def test_calls_wait_for_the_only_endpoint_to_come_back() -> None:
    port = _free_port()
    async with Endpoints([Endpoint(url=f"http://127.0.0.1:{port}")], name="m", give_up_s=20.0) as endpoints:
        waiting = asyncio.ensure_future(_posted(endpoints, 20))
        await asyncio.sleep(1.5)
        assert not waiting.done()
        with fake_server(port=port) as late:
            results = await asyncio.wait_for(waiting, 10.0)
            assert late.stats()["calls"] == 20
    assert all(isinstance(result, Reply) for result in results)


async def test_giving_up_tells_why() -> None:
    url = f"http://127.0.0.1:{_free_port()}"
    async with Endpoints([Endpoint(url=url)], name="m", give_up_s=60.0, first_contact_s=0.5) as endpoints:
        started = time.monotonic()
        failures = await _posted(endpoints, 10)
        assert 0.4 <= time.monotonic() - started <= 1.5
    for failure in failures:
        assert isinstance(failure, Failure)
        assert failure.kind is K.UNAVAILABLE
        assert "no endpoint of 'm' worked for 0.5 s; last: cannot connect" in failure.message


async def test_a_broken_server_opens_its_breaker_after_five_calls(server: Running) -> None:
    server.control(faults=[{"kind": "status", "status": 500}])
    async with Endpoints([Endpoint(url=server.url, max_in_flight=1)], name="m", give_up_s=0.4) as endpoints:
        results = await _posted(endpoints, 8)
    kinds = [result.kind for result in results if isinstance(result, Failure)]
    assert kinds == [K.SERVER] * 5 + [K.UNAVAILABLE] * 3
    assert server.stats()["calls"] == 5


async def test_cancelled_waiters_leave_the_line(server: Running) -> None:
    server.control(latency_s=0.3)
    async with Endpoints([Endpoint(url=server.url, max_in_flight=1)], name="m") as endpoints:
        tasks = [asyncio.ensure_future(endpoints.post(CHAT, _body(number))) for number in range(10)]
        await asyncio.sleep(0.1)
        for task in tasks[1:]:
            task.cancel()
        assert isinstance(await tasks[0], Reply)
        await asyncio.wait(tasks)
        assert isinstance(await endpoints.post(CHAT, _body(99)), Reply)
        assert endpoints.lanes[0].in_flight == 0
    assert server.stats()["calls"] == 2


async def test_closing_ends_those_who_wait() -> None:
    endpoints = Endpoints([Endpoint(url=f"http://127.0.0.1:{_free_port()}")], name="m")
    waiting = asyncio.ensure_future(_posted(endpoints, 3))
    await asyncio.sleep(0.1)
    await endpoints.close()
    results = await asyncio.wait_for(waiting, 1.0)
    assert all(isinstance(result, Failure) and result.kind is K.UNAVAILABLE for result in results)
