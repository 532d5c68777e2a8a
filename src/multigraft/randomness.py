"""Keyed random draws: a draw depends on its key alone, never on what was drawn before or elsewhere.

Two calls of one run, whatever the order they end in, therefore draw what they always draw, and a resumed run goes on with the same numbers. The stream
is SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014) started at a BLAKE2b hash of the key. The standard
library's generator would do as well, but its shuffles are not promised to stay the same between Python versions, and a run must be repeatable for years.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def key_of(*parts: str | int) -> int:
    """Hash the parts of a key to 64 bits.

    Args:
        parts: strings and integers of any size; ("a", "b") and ("ab",) differ, and so do 1 and "1".

    Returns:
        An integer in [0, 2**64).
    """
    text = "".join(f"{type(part).__name__}{len(str(part))}:{part}" for part in parts)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def seed_of(*parts: str | int) -> int:
    """Hash the parts of a key to a seed that every server takes.

    Returns:
        An integer in [0, 2**31).
    """
    return key_of(*parts) >> 33


def nth_seed(key: int, index: int) -> int:
    """Draw the seed number `index` of the stream that starts at `key`: as good as a hash of both, at a fraction of the time.

    Args:
        key: what `key_of` returned.
        index: >= 0.

    Returns:
        An integer in [0, 2**31).
    """
    state = (key + (index + 1) * _STEP) & _MASK
    return _mixed(state) >> 33


class Draws:
    """The random numbers that belong to one key.

    Args:
        parts: the key, such as (run seed, prompt id, "round", 3).
    """

    __slots__ = ("_state",)

    def __init__(self, *parts: str | int) -> None:
        self._state = key_of(*parts)

    def bits(self) -> int:
        """Draw an integer in [0, 2**64)."""
        self._state = (self._state + _STEP) & _MASK
        return _mixed(self._state)

    def uniform(self) -> float:
        """Draw a float in [0, 1) with 53 random bits."""
        return (self.bits() >> 11) * 2.0**-53

    def below(self, bound: int) -> int:
        """Draw an integer in [0, bound), without bias (rejection).

        Raises:
            ValueError: bound < 1.
        """
        if bound < 1:
            message = f"bound must be at least 1, not {bound}"
            raise ValueError(message)
        limit = (1 << 64) - (1 << 64) % bound
        while True:
            drawn = self.bits()
            if drawn < limit:
                return drawn % bound

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in a random order (Fisher-Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.below(last + 1)
            result[last], result[other] = result[other], result[last]
        return result

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw `count` distinct positions of `items`, in the order of `items`."""
        chosen = sorted(self.shuffled(range(len(items)))[:count])
        return [items[index] for index in chosen]


def _mixed(state: int) -> int:
    mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)
