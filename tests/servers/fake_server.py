"""A fake OpenAI-compatible server with every quirk and fault a test may want.

Run it as `python -m tests.servers.fake_server '{"latency_s": 0.1}'` from the root of the repository: it prints its port and serves until it is killed or its
standard input is closed. POST /control changes settings, POST /reset_stats forgets counts, GET /stats tells them.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from math import ceil
from typing import Any

from aiohttp import web
from tests.servers.fake_answers import completion_body, prompt_tokens, score_body
from tests.servers.fake_faults import FAULTS
from tests.servers.fake_settings import Fault, Settings, drawn


class FakeServer:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.forget()
        self.tokens = settings.burst
        self.tokens_at = time.monotonic()

    def forget(self) -> None:
        self.started = time.monotonic()
        self.by_path: Counter[str] = Counter()
        self.by_key: Counter[str] = Counter()
        self.by_body: Counter[str] = Counter()
        self.by_status: Counter[str] = Counter()
        self.by_fault: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = self.disconnects = self.answers = self.connections = 0
        self.times: list[tuple[float, int]] = []
        self.bodies: list[Any] = []

    async def serve(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        digest = f"{drawn(raw):.16f}"
        self.by_path[request.path] += 1
        self.by_key[request.headers.get("authorization", "").removeprefix("Bearer ")] += 1
        self.by_body[digest] += 1
        arrived = time.monotonic() - self.started
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        response: web.StreamResponse | None = None
        try:
            response = await self._answer(request, raw, digest)
        except (asyncio.CancelledError, ConnectionError):
            self.disconnects += 1
            raise
        else:
            return response
        finally:
            self.in_flight -= 1
            self.times.append((round(arrived, 4), response.status if response is not None else 0))
            self.by_status[str(response.status if response is not None else 0)] += 1

    async def _answer(self, request: web.Request, raw: bytes, digest: str) -> web.StreamResponse:
        settings = self.settings
        body = json.loads(raw)
        if len(self.bodies) < 2000:
            self.bodies.append(body)
        refused = self._refused(request, body)
        if refused is not None:
            return refused
        fault = self._fault(request, raw, digest)
        scoring = request.path.rsplit("/", 1)[-1] in {"score", "classify", "pooling", "rerank"}
        reply = score_body(body, settings, request.path) if scoring else completion_body(body, settings, chat="messages" in body)
        usage = reply.get("usage", {})
        latency_s = (
            settings.latency_s
            + settings.per_prompt_token_s * usage.get("prompt_tokens", 0)
            + settings.per_completion_token_s * usage.get("completion_tokens", 0)
        )
        if latency_s and (fault is None or fault.kind not in {"status", "quota", "echo_key"}):
            await asyncio.sleep(latency_s)
        if fault is not None:
            self.by_fault[f"{fault.kind} {fault.status}" if fault.kind == "status" else fault.kind] += 1
            return await FAULTS[fault.kind](request, fault, reply)
        self.answers += 1
        response = web.Response(body=json.dumps(reply).encode(), content_type="application/json")
        if settings.close_every and self.answers % settings.close_every == 0:
            response.force_close()
        return response

    def _refused(self, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        settings = self.settings
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if settings.keys is not None and key not in settings.keys:
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        wait_s = self._wait_s()
        if wait_s is not None:
            asked = {"whole": str(ceil(wait_s)), "exact": f"{wait_s:.3f}"}.get(settings.retry_after)
            return _error(429, "Rate limit reached", "rate_limit_exceeded", {} if asked is None else {"retry-after": asked})
        if settings.max_concurrent is not None and self.in_flight > settings.max_concurrent:
            return _error(429, "too many requests at once", "rate_limit_exceeded")
        roles = [message.get("role") for message in body.get("messages", [])]
        if settings.system == "refuse" and "system" in roles:
            return _error(400, "System role not supported")
        if settings.n == "refuse" and int(body.get("n") or 1) > 1:
            return _error(400, "Only one completion choice is allowed")
        if settings.max_tokens == "new" and "max_tokens" in body:
            return _error(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
        for name in settings.refused_fields:
            if name in body:
                return _error(400, f"Unsupported parameter: '{name}' is not supported with this model.", "unsupported_parameter")
        return self._overflow(body)

    def _overflow(self, body: dict[str, Any]) -> web.Response | None:
        window = self.settings.context_tokens
        if window is None:
            return None
        prompt, wanted = prompt_tokens(body), int(body.get("max_tokens") or 0)
        if prompt + wanted <= window:
            return None
        return _error(
            400,
            f"This model's maximum context length is {window} tokens. However, you requested {prompt + wanted} tokens "
            f"({prompt} in the messages, {wanted} in the completion). Please reduce the length.",
            "context_length_exceeded",
        )

    def _wait_s(self) -> float | None:
        rate = self.settings.rate_per_s
        if rate is None:
            return None
        now = time.monotonic()
        self.tokens = min(self.settings.burst, self.tokens + (now - self.tokens_at) * rate)
        self.tokens_at = now
        if self.tokens >= 1.0:
            self.tokens -= 1.0
            return None
        return (1.0 - self.tokens) / rate

    def _fault(self, request: web.Request, raw: bytes, digest: str) -> Fault | None:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        point = drawn("fault", raw, self.by_body[digest])
        for fault in self.settings.faults:
            if fault.path is not None and fault.path != request.path:
                continue
            if fault.key is not None and fault.key != key:
                continue
            if fault.contains is not None and fault.contains.encode() not in raw:
                continue
            if fault.first is not None and self.by_path[request.path] > fault.first:
                continue
            if fault.each_body_first is not None and self.by_body[digest] > fault.each_body_first:
                continue
            if point < fault.share:
                return fault
            point -= fault.share
        return None

    async def stats(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "calls": sum(self.by_path.values()),
                "by_path": self.by_path,
                "by_key": self.by_key,
                "by_body": self.by_body,
                "by_status": self.by_status,
                "by_fault": self.by_fault,
                "in_flight": self.in_flight,
                "most_in_flight": self.most_in_flight,
                "disconnects": self.disconnects,
                "answers": self.answers,
                "times": self.times,
                "bodies": self.bodies,
            }
        )

    async def control(self, request: web.Request) -> web.Response:
        self.settings.change(await request.json())
        return web.json_response({})

    async def reset_stats(self, request: web.Request) -> web.Response:
        self.forget()
        return web.json_response({})


def _error(status: int, message: str, code: str = "bad_request", headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "error", "code": code}}, status=status, headers=headers)


async def serve(settings: Settings, port: int) -> None:
    fake = FakeServer(settings)
    app = web.Application(client_max_size=2**28, handler_args={"keepalive_timeout": 75.0})
    app.router.add_get("/stats", fake.stats)
    app.router.add_get("/health", fake.reset_stats)
    app.router.add_post("/control", fake.control)
    app.router.add_post("/reset_stats", fake.reset_stats)
    app.router.add_post("/{path:.*}", fake.serve)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
    await site.start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


def main() -> None:
    settings = Settings()
    settings.change(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})
    asyncio.run(serve(settings, int(sys.argv[2]) if len(sys.argv) > 2 else 0))


if __name__ == "__main__":
    main()
