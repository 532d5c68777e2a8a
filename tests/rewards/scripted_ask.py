"""A chat model that judges by a script, for tests of judges."""

import asyncio
import re
from collections.abc import Callable
from math import log

from multigraft.types import Candidate, Completion, Finish, Request, Sample, TokenLogprob, Usage

SHOWN = re.compile(r"<(?P<tag>response(?:-[ab])?(?:-\d+)?)>\n(?P<text>.*?)\n</(?P=tag)>", re.DOTALL)


def written(text: str, finish: Finish = Finish.STOP) -> Completion:
    return Completion(text, finish, Usage(9, 9))


def letters(**probabilities: float) -> Completion:
    return first_tokens(*((token, log(probability)) for token, probability in probabilities.items()))


def first_tokens(*pairs: tuple[str, float]) -> Completion:
    return Completion("Reply", Finish.STOP, Usage(9, 1), first_token=tuple(TokenLogprob(token, logprob) for token, logprob in pairs))


def shown(request: Request) -> list[str]:
    """The responses that a request shows, in order."""
    return [match["text"] for match in SHOWN.finditer(request.messages[0].content)]


class ScriptedAsk:
    """Answers with what a function makes of the texts shown, and remembers what it was asked."""

    def __init__(self, script: Callable[..., Sample]) -> None:
        self.script = script
        self.asked: list[tuple[int, Request]] = []
        self.most_in_flight = 0
        self._in_flight = 0

    async def __call__(self, candidate: Candidate, request: Request) -> Sample:
        self.asked.append((candidate.call.call_id, request))
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        await asyncio.sleep(0)
        self._in_flight -= 1
        return self.script(*shown(request))
