"""Which of two responses a judge prefers, read from what it wrote or from the alternatives of its first token."""

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from multigraft.rewards.judges.first_token import mass, plain
from multigraft.types import Completion, Finish

Scale: TypeAlias = Literal["three", "five"]

_BRACKETED = re.compile(r"\[\[([^\[\]]*)\]\]")
_MARKS = str.maketrans("", "", " \t\r\n*_`")
_EVEN = {"tie": 0.5, "c": 0.5, "a=b": 0.5, "b=a": 0.5}
VERDICTS: Mapping[Scale, Mapping[str, float]] = {
    "three": {"a": 1.0, "b": 0.0, "a>b": 1.0, "a>>b": 1.0, "b>a": 0.0, "b>>a": 0.0, "b<a": 1.0, "b<<a": 1.0, "a<b": 0.0, "a<<b": 0.0, **_EVEN},
    "five": {"a>>b": 1.0, "a>b": 0.75, "b>a": 0.25, "b>>a": 0.0, "b<<a": 1.0, "b<a": 0.75, "a<b": 0.25, "a<<b": 0.0, **_EVEN},
}
"""How much the response shown first is preferred, by what stands between the brackets, without spaces and in small letters; `c` is a tie in MT-Bench."""


def written_preference(reply: Completion, scale: Scale) -> float | None:
    """Read the verdict in double brackets.

    Args:
        reply: of the judge.
        scale: `three` knows better, tie and worse; `five` also by how much, and takes a plain `[[A]]` for no verdict.

    Returns:
        The preference for the response shown first, in [0, 1]. None: no verdict, or several different ones, as of a judge that repeats what it may choose
        from. A whole reply that is nothing but a verdict needs no brackets.

    Source:
        Zheng et al. (arXiv 2306.05685) for `[[A]]`, `[[B]]`, `[[C]]`; Li et al., Arena-Hard (arXiv 2406.11939) for the five.
    """
    verdicts = VERDICTS[scale]
    bracketed = _BRACKETED.findall(reply.text)
    if not bracketed and reply.finish is Finish.STOP:
        return verdicts.get(plain(reply.text).translate(_MARKS))
    found = {verdicts[verdict] for verdict in (text.translate(_MARKS).casefold() for text in bracketed) if verdict in verdicts}
    return found.pop() if len(found) == 1 else None


def likely_preference(reply: Completion) -> tuple[float, float]:
    """Return P(A) and P(B) of the first token, whatever spaces and marks stand around the letter."""
    return mass(reply, {"a"}), mass(reply, {"b"})
