"""A reward server in a process of its own whose scorer does as it is told: `python -m tests.server.scripted_server '{"delay_s": 0.1}'`."""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from multigraft.randomness import Draws
from multigraft.rewards.scripted import Scripted
from multigraft.server.batching import PROBE
from multigraft.server.guard import Guard
from multigraft.server.serving import Settings, serve
from multigraft.types import Candidate, Score


def by_conversation(candidate: Candidate) -> float:
    """Draw a value keyed by every turn and the response."""
    turns = [part for message in candidate.prompt.messages for part in (message.role, message.content)]
    return Draws(*turns, candidate.completion.text).uniform()


class Slow(Scripted):
    """Takes its time, but for the first probe, without giving way: as a model that computes would."""

    def __init__(self, delay_s: float, max_batch: int) -> None:
        super().__init__(by_conversation, max_batch=max_batch)
        self.delay_s = delay_s

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        if candidates[0] is not PROBE:
            time.sleep(self.delay_s)  # noqa: ASYNC251 - a scorer that blocks its loop is what is tested
        return await super().score(candidates)


def main(settings: dict[str, Any]) -> None:
    reward = Slow(settings.pop("delay_s", 0.0), settings.pop("max_batch", 8))
    guard = Guard(host="127.0.0.1", key=settings.pop("key", None))
    answered = asyncio.run(serve(reward, Settings(guard=guard, **settings), lambda said: print(json.dumps(said), flush=True)))  # noqa: T201 - the first line
    sys.exit(0 if answered else 1)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
