"""What a tournament needs of whoever compares."""

from collections.abc import Sequence
from typing import Protocol

from multigraft.types import Candidate, Score


class Comparer(Protocol):
    """A scorer of pairs. Like a reward it returns its failures as values."""

    @property
    def name(self) -> str:
        """The name messages know it by."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same pair may get another verdict."""
        ...

    @property
    def calls(self) -> int:
        """Paid calls one pair takes; 0 for a model of one's own."""
        ...

    async def compare(self, pairs: Sequence[tuple[Candidate, Candidate]]) -> Sequence[Score]:
        """Compare pairs of responses.

        Args:
            pairs: at least one; the two of a pair answer the same prompt with different texts.

        Returns:
            One score for each pair, in order: how much the first is preferred, in [0, 1], 0.5 for a tie.
        """
        ...
