"""Faults of endpoints, and the numbers that hold under them.

Run from the root of the repository: `python -m benchmarks.fault_matrix_endpoints [--quick] [CASE ...]`. Each case starts fake servers, prints what it
measured, and says which of its bounds held; exit code 1 when one did not. `--quick` scales rows and times down.
"""

import argparse
import asyncio
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.servers.launch import fake_server

from benchmarks.fault_rows import Claim, Outcome, Tally, free_port, request_of, row, work
from multigraft.models.openai_chat import OpenAIChat
from multigraft.types import Completion, FailureKind, Message, Request, Sampling
from multigraft.wire.breaker import Condition
from multigraft.wire.endpoints import Endpoint, Endpoints

TWELVE_KINDS: list[dict[str, Any]] = [
    {"kind": "status", "status": 429, "headers": {"retry-after": "0.3"}},
    {"kind": "status", "status": 500},
    {"kind": "html", "status": 502},
    {"kind": "status", "status": 503},
    {"kind": "status", "status": 408},
    {"kind": "reset"},
    {"kind": "truncated"},
    {"kind": "empty"},
    {"kind": "error_200"},
    {"kind": "cut"},
    {"kind": "hang", "seconds": 2.0},
]
"""Eleven of them; the twelfth is an exhausted quota of one key."""


def chat(endpoints: Endpoints, *, use_n: bool = False) -> OpenAIChat:
    return OpenAIChat(name="m", model="fake", endpoints=endpoints, use_n=use_n)


async def thirty_percent_errors(*, quick: bool) -> Outcome:
    """C7: 30% of the calls fail, in twelve ways."""
    rows, at_once = (600, 32) if quick else (3000, 64)
    faults = [{"kind": "quota", "key": "poor-key", "share": 0.2}]
    faults += [{**fault, "share": 0.3 / len(TWELVE_KINDS), "each_body_first": 4} for fault in TWELVE_KINDS]
    with fake_server(latency_s=0.2) as server:
        places = [Endpoint(url=server.url, key=key) for key in ("poor-key", "key-one", "key-two", "key-three")]
        async with Endpoints(places, name="m", attempt_timeout_s=1.0) as endpoints:
            clean = await work(chat(endpoints), map(request_of, range(rows)), at_once=at_once)
        server.control(faults=faults)
        server.reset_stats()
        async with Endpoints(places, name="m", attempt_timeout_s=1.0) as endpoints:
            tally = await work(chat(endpoints), map(request_of, range(rows)), at_once=at_once)
        stats = server.stats()
    failed = sum(tally.kinds.values())
    return Outcome(
        {
            "rows": rows,
            "calls": stats["calls"],
            "wall_s": round(tally.wall_s, 2),
            "fault_free_wall_s": round(clean.wall_s, 2),
            "most_attempts": max(tally.attempts),
            "kinds": json.dumps({kind.value: count for kind, count in tally.kinds.items()}),
            "faults": json.dumps(stats["by_fault"]),
        },
        [
            Claim("every row succeeds", tally.good == rows),
            Claim("at most 6 attempts a row", max(tally.attempts) <= 6),
            Claim("at most 1.6 calls a row", stats["calls"] <= 1.6 * rows),
            Claim("at most 3 times the time without faults", tally.wall_s <= 3.0 * clean.wall_s),
            Claim("every failed call has its kind recorded", failed == stats["calls"] - rows),
        ],
    )


async def permanent_errors(*, quick: bool) -> Outcome:
    """C8: errors that no other attempt mends."""
    rows, at_once = (20 if quick else 100), 16
    numbers: dict[str, float | int | str] = {}
    claims: list[Claim] = []

    async def case(name: str, kind: FailureKind | None, calls: tuple[int, int], settings: dict[str, Any], *, max_tokens: int = 64) -> None:
        with fake_server(**settings) as server:
            async with Endpoints([Endpoint(url=server.url, key="the-key", max_in_flight=at_once)], name="m") as endpoints:
                requests = (request_of(number, "x" * 200, max_tokens=max_tokens) for number in range(rows))
                tally = await work(chat(endpoints), requests, at_once=at_once)
            made = server.stats()["calls"]
        numbers[name] = made
        claims.append(Claim(f"{name}: {calls[0]} to {calls[1]} calls for {rows} rows", calls[0] <= made <= calls[1]))
        claims.append(Claim(f"{name}: {kind.value if kind else 'success'}", tally.kinds == {kind: rows} if kind else tally.good == rows))

    def answered(status: int, message: str) -> dict[str, Any]:
        return {"faults": [{"kind": "status", "status": status, "body": {"error": {"message": message}}}]}

    await case("bad parameter", FailureKind.BAD_REQUEST, (rows, rows), answered(400, "temperature must be in [0, 2]"))
    await case("content filter", FailureKind.REFUSED, (rows, rows), answered(400, "blocked by our content management policy"))
    await case("context", FailureKind.CONTEXT, (rows, rows), {"context_tokens": 40})
    await case("context, clamped", None, (2 * rows, 2 * rows), {"context_tokens": 400}, max_tokens=4000)
    await case("wrong key", FailureKind.AUTH, (1, at_once), {"keys": ["another"]})
    await case("no quota", FailureKind.QUOTA, (1, at_once), {"faults": [{"kind": "quota"}]})
    await case("no such model", FailureKind.NOT_FOUND, (1, at_once), answered(404, "the model does not exist"))
    return Outcome(numbers, claims)


async def rate_limit(*, quick: bool) -> Outcome:
    """C9: ten calls a second are taken, and later twenty."""
    first_s, second_s = (40.0, 0.0) if quick else (60.0, 60.0)
    with fake_server(rate_per_s=10.0, burst=10.0, latency_s=0.05) as server:
        async with Endpoints([Endpoint(url=server.url)], name="m") as endpoints:
            model, tally = chat(endpoints), Tally()
            line = itertools.count()

            async def worker() -> None:
                while True:
                    await row(model, request_of(next(line)), tally)

            workers = [asyncio.create_task(worker()) for _ in range(32)]
            await asyncio.sleep(first_s)
            if second_s:
                server.control(rate_per_s=20.0)
                await asyncio.sleep(second_s)
            for task in workers:
                task.cancel()
            await asyncio.wait(workers)
        times: list[tuple[float, int]] = server.stats()["times"]

    def share(start: float, end: float) -> float:
        statuses = [status for at, status in times if start <= at < end]
        return statuses.count(429) / max(1, len(statuses))

    def rate(start: float, end: float) -> float:
        return sum(status == 200 for at, status in times if start <= at < end) / (end - start)

    numbers: dict[str, float | int | str] = {"refused": round(share(20.0, first_s), 4), "per_s": round(rate(20.0, first_s), 2), "too_soon": _too_soon(times)}
    claims = [
        Claim("at most 5% of the calls are refused after 20 s", share(20.0, first_s) <= 0.05),
        Claim("at least 85% of the limit is used after 20 s", rate(20.0, first_s) >= 8.5),
        Claim("no call before Retry-After", _too_soon(times) == 0),
    ]
    if second_s:
        after = rate(first_s + 30.0, first_s + second_s)
        numbers["per_s_30s_after_doubling"] = round(after, 2)
        claims.append(Claim("at least 85% of the doubled limit from 30 s after on", after >= 17.0))
    return Outcome(numbers, claims)


def _too_soon(times: list[tuple[float, int]]) -> int:
    """Calls that arrived less than the second asked for after a refusal, but for those on their way when it was sent."""
    refused = [at for at, status in times if status == 429]
    return sum(any(0.05 < at - before < 0.95 for before in refused) for at, status in times)


async def dead_then_hanging(*, quick: bool) -> Outcome:
    """C11: one endpoint refuses, then hangs, then returns; another works."""
    refuses_s, hangs_s, after_s = (3.0, 5.0, 20.0) if quick else (20.0, 40.0, 20.0)
    port, tally, line = free_port(), Tally(), itertools.count()
    with fake_server(latency_s=0.05) as healthy:
        places = [Endpoint(url=f"http://127.0.0.1:{port}", max_in_flight=16), Endpoint(url=healthy.url, max_in_flight=16)]
        async with Endpoints(places, name="m", attempt_timeout_s=2.0) as endpoints:
            model = chat(endpoints)
            started = time.monotonic()

            async def worker() -> None:
                while time.monotonic() - started < refuses_s + hangs_s + after_s:
                    await row(model, request_of(next(line)), tally)

            workers = [asyncio.create_task(worker()) for _ in range(16)]
            opened_s = await _until(lambda: endpoints.lanes[0].breaker.condition is not Condition.CLOSED, 10.0)
            await asyncio.sleep(max(0.0, refuses_s - (time.monotonic() - started)))
            with fake_server(port=port, latency_s=0.05, faults=[{"kind": "hang", "seconds": 600.0}]) as sick:
                await asyncio.sleep(hangs_s)
                to_the_dead, to_all = sick.stats()["calls"], sick.stats()["calls"] + healthy.stats()["calls"]
                sick.control(faults=[])
                back_s = await _until(lambda: endpoints.lanes[0].breaker.condition is Condition.CLOSED and endpoints.lanes[0].in_flight >= 4, 30.0)
                await asyncio.wait(workers)
    return Outcome(
        {
            "opened_s": round(opened_s, 2),
            "share_to_the_dead": round(to_the_dead / to_all, 4),
            "back_s": round(back_s, 2),
            "rows": tally.good,
            "lost": len(tally.lost),
        },
        [
            Claim("its breaker opens within 10 s", opened_s <= 10.0),
            Claim("at most 2% of the calls go to it after", to_the_dead <= 0.02 * to_all),
            Claim("back in rotation within 15 s", back_s <= 15.0),
            Claim("no row is lost", not tally.lost),
        ],
    )


async def the_only_one_dies(*, quick: bool) -> Outcome:
    """C12: the only endpoint is gone for a while."""
    gone_s = 6.0 if quick else 120.0
    port, tally, line = free_port(), Tally(), itertools.count()
    async with Endpoints([Endpoint(url=f"http://127.0.0.1:{port}", max_in_flight=16)], name="m") as endpoints:
        model, stop = chat(endpoints), asyncio.Event()

        async def worker() -> None:
            while not stop.is_set():
                await row(model, request_of(next(line)), tally)

        with fake_server(port=port, latency_s=0.05):
            workers = [asyncio.create_task(worker()) for _ in range(16)]
            await asyncio.sleep(1.0)
        before = tally.good
        await asyncio.sleep(gone_s)
        with fake_server(port=port, latency_s=0.05):
            back_s = await _until(lambda: tally.good > before + 20, 30.0)
            stop.set()
            await asyncio.wait(workers)
    return Outcome(
        {"back_s": round(back_s, 2), "most_attempts": max(tally.attempts), "lost": len(tally.lost)},
        [
            Claim("work goes on within 15 s of the return", back_s <= 15.0),
            Claim("waiting costs no attempt", max(tally.attempts) <= 2),
            Claim("no row is lost", not tally.lost),
        ],
    )


async def slow_answers(*, quick: bool) -> Outcome:
    """C13: four of sixteen connections are stuck, each in its own way."""
    rows = 300 if quick else 1500
    stuck = ("loris", "drip", "stall", "hang")
    faults = [{"kind": kind, "seconds": 20.0, "contains": f"stuck {kind}"} for kind in stuck]
    with fake_server(latency_s=0.1, faults=faults) as server:
        async with Endpoints([Endpoint(url=server.url, max_in_flight=16)], name="m", attempt_timeout_s=3.0) as endpoints:
            model = chat(endpoints)
            await work(model, map(request_of, range(16)), at_once=16)
            clean = await work(model, map(request_of, range(rows)), at_once=12)
            lost: Tally = Tally()

            async def sufferer(kind: str) -> None:
                while True:
                    began = time.monotonic()
                    await model.generate(request_of(0, f"stuck {kind}"))
                    lost.longest_attempt_s = max(lost.longest_attempt_s, time.monotonic() - began)

            sufferers = [asyncio.create_task(sufferer(kind)) for kind in stuck]
            tally = await work(model, map(request_of, range(rows)), at_once=12)
            await asyncio.sleep(max(0.0, 3.5 - tally.wall_s))
            for task in sufferers:
                task.cancel()
            await asyncio.wait(sufferers)
    return Outcome(
        {"rows_per_s": round(rows / tally.wall_s, 1), "rows_per_s_without": round(rows / clean.wall_s, 1), "longest_stuck_s": round(lost.longest_attempt_s, 2)},
        [
            Claim("the others keep 90% of their speed", clean.wall_s >= 0.9 * tally.wall_s),
            Claim("what is stuck ends within 110% of its time", 2.9 <= lost.longest_attempt_s <= 3.3),
        ],
    )


async def many_samples_at_once(*, quick: bool) -> Outcome:
    """C17: what servers make of n."""
    prompts, wanted = (10 if quick else 100), 8
    numbers: dict[str, float | int | str] = {}
    claims: list[Claim] = []
    for mode in ("honour", "shuffled", "ignore", "refuse", "more", "fewer", "identical"):
        with fake_server(n=mode, latency_s=0.02) as server:
            async with Endpoints([Endpoint(url=server.url)], name="m") as endpoints:
                model = chat(endpoints, use_n=True)
                requests = [Request((Message("user", f"question {number}"),), Sampling(), tuple(range(wanted))) for number in range(prompts)]
                results = await asyncio.gather(*(model.generate(request) for request in requests))
            calls = server.stats()["calls"]
        complete = all(len(samples) == wanted and all(isinstance(sample, Completion) for sample in samples) for samples in results)
        numbers[mode] = calls
        claims.append(Claim(f"{mode}: exactly {wanted} samples each", complete))
        needed = prompts if mode in {"honour", "shuffled"} else prompts * wanted
        claims.append(Claim(f"{mode}: at most one call more than needed", calls <= needed + 1))
    return Outcome(numbers, claims)


async def soak(*, quick: bool) -> Outcome:
    """C14 and C21: file descriptors and memory over many calls, of which every seventh ends its connection, and over large answers."""
    rows, large = (1000, 60) if quick else (20_000, 1000)
    padding = json.dumps({"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "x" * 2**20}}]})
    with fake_server(close_every=7) as server:
        server.control(faults=[{"kind": "raw", "status": 200, "body": padding, "contains": "large"}])
        async with Endpoints([Endpoint(url=server.url, max_in_flight=32)], name="m") as endpoints:
            model = chat(endpoints)
            await work(model, map(request_of, range(200)), at_once=32)
            descriptors = _descriptors()
            tally = await work(model, map(request_of, range(rows)), at_once=32)
            grown = _descriptors() - descriptors
            memory_mb = _resident_mb()
            big = await work(model, (request_of(number, "large") for number in range(large)), at_once=16)
            memory_mb = _resident_mb() - memory_mb
    return Outcome(
        {"rows": tally.good, "large": big.good, "descriptors_grown": grown, "memory_grown_mb": round(memory_mb, 1)},
        [
            Claim("every row succeeds", tally.good == rows and big.good == large),
            Claim("file descriptors stay flat (within the 32 connections)", abs(grown) <= 32),
            Claim("memory grows by at most 200 MB", memory_mb <= 200.0),
        ],
    )


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def _until(condition: Callable[[], bool], limit_s: float) -> float:
    """Seconds until something is so, or the limit."""
    started = time.monotonic()
    while not condition() and time.monotonic() - started < limit_s:  # noqa: ASYNC110 - what is looked at sends no events
        await asyncio.sleep(0.02)
    return time.monotonic() - started


CASES: dict[str, Callable[..., Coroutine[None, None, Outcome]]] = {
    "C7": thirty_percent_errors,
    "C8": permanent_errors,
    "C9": rate_limit,
    "C11": dead_then_hanging,
    "C12": the_only_one_dies,
    "C13": slow_answers,
    "C17": many_samples_at_once,
    "C21": soak,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Faults of endpoints, and the numbers that hold under them.")
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="fewer rows, shorter times")
    arguments = parser.parse_args()
    broken = 0
    for name in arguments.cases:
        started = time.monotonic()
        outcome = asyncio.run(CASES[name](quick=arguments.quick))
        print(f"{CASES[name].__doc__} [{time.monotonic() - started:.0f} s]")
        print("   " + "  ".join(f"{what}={value}" for what, value in outcome.numbers.items()))
        for claim in outcome.claims:
            print(f"   {'held  ' if claim.held else 'BROKEN'} {claim.text}")
            broken += not claim.held
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
