"""A small, fast fake of a model and reward server that outlives the clients that are killed, and counts what each of them asked.

Answers are functions of model, seed and messages alone, scores of the scored text alone, so any two runs over the same calls get the same. Run it as
`python -m tests.servers.counting_server '{"latency_s": 0.02}'` from the root of the repository: it prints its port and serves until its standard input closes.
POST /control changes settings, GET /count tells totals, GET /stats everything.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

WORDS = (
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "island",
    "juniper",
    "kelp",
    "lagoon",
    "meadow",
    "nectar",
    "orchard",
    "pebble",
)
SCORE_FAULTS = ("nan", "inf", "null", "too_long", "timeout", "rate_limit", "count")
PASSING = frozenset({"timeout", "rate_limit", "count"})
"""Faults another try may get past."""


@dataclass
class Settings:
    latency_s: float = 0.0
    spread_s: float = 0.0
    """Up to so much more, by a hash of the call."""
    down: list[str] = field(default_factory=list)
    """Models answered with 401."""
    broken: list[str] = field(default_factory=list)
    """Models answered with 400 "bad parameter"."""
    score_fault_share: float = 0.0
    """Of the texts to score."""
    score_faults: list[str] = field(default_factory=lambda: list(SCORE_FAULTS))
    passing_faults: bool = True
    """Whether texts hit by a passing fault still fail."""
    answer_bytes: int = 0
    """Pads answers to at least so many."""


class Counting:
    """What was asked and answered."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.scored: Counter[str] = Counter()
        self.first_at_s = self.last_at_s = 0.0
        self.in_flight = self.most_in_flight = 0

    def change(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if not hasattr(self.settings, name):
                raise ValueError(name)
            setattr(self.settings, name, value)

    def note(self) -> None:
        self.last_at_s = time.monotonic()
        self.first_at_s = self.first_at_s or self.last_at_s
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def totals(self) -> dict[str, Any]:
        return {
            "asked": self.asked.total(),
            "answered": self.answered.total(),
            "scored": self.scored.total(),
            "first_at_s": self.first_at_s,
            "last_at_s": self.last_at_s,
            "most_in_flight": self.most_in_flight,
        }

    def everything(self) -> dict[str, Any]:
        return self.totals() | {"by_call": self.asked, "answered_by_call": self.answered, "by_text": self.scored}

    def forget(self) -> None:
        self.__init__(self.settings)  # type: ignore[misc]  # the same server, counting from zero


def share_of(*parts: str) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    return int.from_bytes(blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big") / 2**56


def call_key(model: str, seed: object, messages: object) -> str:
    return f"{model} {seed} {blake2b(orjson.dumps(messages), digest_size=8).hexdigest()}"


def answer_of(key: str, padded_bytes: int = 0) -> str:
    bits = blake2b(key.encode(), digest_size=16).digest()
    text = " ".join(WORDS[byte % len(WORDS)] for byte in bits[: 6 + bits[0] % 10]) + f" {bits.hex()[:8]}."
    return text if len(text) >= padded_bytes else text + " " + "x" * (padded_bytes - len(text) - 1)


def score_fault(text: str, share: float, kinds: Sequence[str] = SCORE_FAULTS) -> str | None:
    """What befalls the scoring of a text, if anything does."""
    point = share_of("fault", text)
    return kinds[int(point / share * len(kinds))] if point < share else None


def score_of(text: str) -> float:
    """The true score of a text."""
    return round(10.0 * share_of("score", text) - 5.0, 6)


class Connection(asyncio.Protocol):
    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].decode("latin-1").split("\r\n")
            length = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length:")), 0)
            if len(self.buffer) < end + 4 + length:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
            self.serve(head[0].split(" ")[1], body)

    def serve(self, path: str, body: bytes) -> None:
        counting = self.counting
        if path == "/control":
            counting.change(json.loads(body))
            self.reply({})
        elif path == "/forget":
            counting.forget()
            self.reply({})
        elif path == "/forget_first":
            counting.first_at_s = 0.0
            self.reply({})
        elif path == "/count":
            self.reply(counting.totals())
        elif path == "/stats":
            self.reply(counting.everything())
        elif path == "/pooling":
            self.score(json.loads(body))
        else:
            self.complete(json.loads(body))

    def complete(self, body: dict[str, Any]) -> None:
        counting, settings = self.counting, self.counting.settings
        key = call_key(body["model"], body.get("seed"), body["messages"])
        counting.note()
        counting.asked[key] += 1
        if body["model"] in settings.down:
            self.later(0.0, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}, 401)
        elif body["model"] in settings.broken:
            self.later(0.0, {"error": {"message": "bad parameter", "type": "invalid_request_error"}}, 400)
        else:
            text = answer_of(key, settings.answer_bytes)
            usage = {"prompt_tokens": 12, "completion_tokens": min(len(text) // 4, int(body["max_tokens"])), "total_tokens": 0}
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            reply = {"id": "c", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}
            self.later(settings.latency_s + settings.spread_s * share_of("spread", key), reply, 200, key)

    def score(self, body: dict[str, Any]) -> None:
        """Score one text or several, in the shape of vLLM's `/pooling`."""
        counting, settings = self.counting, self.counting.settings
        texts = [text.rsplit("<|im_start|>assistant\n", 1)[-1].removesuffix("<|im_end|>\n") for text in _listed(body["input"])]
        counting.note()
        faults = {self.fault_of(text) for text in texts}
        for text in texts:
            counting.scored[text] += 1
        passing = faults & PASSING if settings.passing_faults else set()
        data: list[dict[str, Any]] = [{"index": index, "data": [self.value_of(text)]} for index, text in enumerate(texts)]
        if "rate_limit" in passing:
            self.later(0.0, {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}, 429)
        elif "timeout" in passing:
            self.later(3600.0, {}, 200)
        elif "too_long" in faults:
            self.later(0.0, {"error": {"message": "The prompt is longer than the maximum model length of 64."}}, 400)
        else:
            self.later(settings.latency_s, {"object": "list", "data": data[1:] if "count" in passing else data}, 200)

    def fault_of(self, text: str) -> str | None:
        settings = self.counting.settings
        return score_fault(text, settings.score_fault_share, settings.score_faults) if settings.score_fault_share else None

    def value_of(self, text: str) -> float | None:
        fault = self.fault_of(text)
        odd = {"nan": float("nan"), "inf": float("inf"), "null": None}
        return odd[fault] if fault is not None and fault in odd else score_of(text)

    def later(self, delay_s: float, body: dict[str, Any], status: int, key: str = "") -> None:
        asyncio.get_running_loop().call_later(delay_s, self.ended, body, status, key)

    def ended(self, body: dict[str, Any], status: int, key: str) -> None:
        counting = self.counting
        counting.in_flight -= 1
        if self.transport is not None and not self.transport.is_closing():
            if status == 200 and key:
                counting.answered[key] += 1
            self.reply(body, status)

    def reply(self, body: dict[str, Any], status: int = 200) -> None:
        assert self.transport is not None
        data = json.dumps(body).encode()
        self.transport.write(b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (status, len(data), data))


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


async def serve(settings: Settings) -> None:
    counting = Counting(settings)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(counting), "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    settings = Settings()
    Counting(settings).change(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})
    asyncio.run(serve(settings))


if __name__ == "__main__":
    main()
