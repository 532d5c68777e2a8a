"""A verdict read off the alternatives of the first token: what small models judge by."""

from collections.abc import Set as AbstractSet
from math import exp

from multigraft.types import Completion

_EDGES = " \t\r\n\u2581\u0120\u010a*_`\"'.,:;!()[]"
"""Also the signs that tokenizers write for a space or a line end."""


def plain(token: str) -> str:
    """Return the bare word of a token, in small letters."""
    return token.strip(_EDGES).casefold()


def mass(reply: Completion, words: AbstractSet[str]) -> float:
    """Sum the probabilities of the alternatives that are one of the words.

    Args:
        reply: with alternatives of its first token.
        words: as `plain` returns them.

    Returns:
        A sum of probabilities; 0 where there is none.
    """
    # A log-probability above 0 or NaN is no probability; rounding may leave one a little above 0.
    return sum(exp(min(token.logprob, 0.0)) for token in reply.first_token if token.logprob <= 0.01 and plain(token.token) in words)
