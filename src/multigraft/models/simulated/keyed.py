"""Random numbers for many questions at once; each depends on its key and its question alone, whichever others are asked with it.

The stream of a key is that of `randomness.nth_seed` (SplitMix64), with a place for every question and purpose.
"""

from typing import Final, TypeAlias

import numpy
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[numpy.float64]
Integers: TypeAlias = NDArray[numpy.int64]

PURPOSES: Final = 8
"""Draws of one key for one question, at most."""
_STEP, _FIRST, _SECOND = (numpy.array(number, numpy.uint64) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_30, _27, _31, _11 = (numpy.array(number, numpy.uint64) for number in (30, 27, 31, 11))


class Places:
    """Questions, prepared to be drawn for.

    Args:
        questions: >= 0, in any order.
    """

    def __init__(self, questions: Integers) -> None:
        self.questions = questions
        place = questions.astype(numpy.uint64) * numpy.array(PURPOSES, numpy.uint64) + numpy.arange(1, PURPOSES + 1, dtype=numpy.uint64)[:, None]
        self._stream = place * _STEP

    def __len__(self) -> int:
        return len(self.questions)

    def uniforms(self, key: int, first: int = 0, last: int = PURPOSES) -> Floats:
        """Draw numbers in (0, 1).

        Args:
            key: what `randomness.key_of` returned.
            first: purpose; it tells draws of one key apart.
            last: purpose, not included.

        Returns:
            A row for each purpose, a column for each question.
        """
        state = self._stream[first:last] + numpy.array(key, numpy.uint64)
        state = (state ^ (state >> _30)) * _FIRST
        state = (state ^ (state >> _27)) * _SECOND
        state ^= state >> _31
        drawn: Floats = ((state >> _11).astype(numpy.float64) + 0.5) * 2.0**-53
        return drawn


def normal(uniforms: Floats) -> Floats:
    """Turn two rows of uniform numbers into one of the standard normal distribution (Box and Muller)."""
    drawn: Floats = numpy.sqrt(-2.0 * numpy.log(uniforms[0])) * numpy.cos(2.0 * numpy.pi * uniforms[1])
    return drawn
