"""The knock-out: who loses is out."""

from collections.abc import Sequence

from multigraft.randomness import Draws
from multigraft.rewards.judges.bracket import UNDECIDED, Pair, Result, Tally, rounds_for, turned


class KnockOut:
    """Value = rounds survived / rounds, 1 for the winner; rounds = ceil(log2(entrants)).

    Neighbours meet. Of an odd number one sits out and survives the round: of those who sat out least, the last. A tie is decided by lot, and who loses the
    lot counts half a round more than a loser. Where a comparison is undecided nobody goes on: both keep the rounds they survived. So the winner of every
    decided comparison has a higher value than its loser, and one comparison is made fewer than there are entrants.

    Args:
        entrants: how many; >= 1. Their numbers are the order of the draw.
        lots: decides ties.
    """

    def __init__(self, entrants: int, lots: Draws) -> None:
        self.tallies = [Tally() for _ in range(entrants)]
        self._lots = lots
        self._rounds = rounds_for(entrants)
        self._survived = [0.0] * entrants
        self._remaining = list(range(entrants))

    def pairs(self) -> Sequence[Pair]:
        """Return who meets in the next round."""
        meeting = self._meeting()
        return list(zip(meeting[::2], meeting[1::2], strict=True))

    def tell(self, results: Sequence[Result]) -> None:
        """Take in how the pairs of the round came out."""
        pairs = self.pairs()
        going_on = set(self._remaining) - set(self._meeting())
        for entrant in going_on:
            self.tallies[entrant].byes += 1
        for (first, second), result in zip(pairs, results, strict=True):
            self.tallies[first].count(result)
            self.tallies[second].count(turned(result))
            if result is UNDECIDED:
                continue
            tied = result == 0.5
            first_wins = self._lots.below(2) == 0 if tied else result > 0.5
            going_on.add(first if first_wins else second)
            if tied:
                self._survived[second if first_wins else first] += 0.5
        for entrant in going_on:
            self._survived[entrant] += 1.0
        self._remaining = [entrant for entrant in self._remaining if entrant in going_on]

    def values(self) -> Sequence[float | None]:
        """Return the value of each entrant."""
        if len(self.tallies) == 1:
            return [1.0]
        won = set(self._remaining) if len(self._remaining) == 1 else set()
        return [
            None if not tally.decided else 1.0 if entrant in won else survived / self._rounds
            for entrant, (tally, survived) in enumerate(zip(self.tallies, self._survived, strict=True))
        ]

    def _meeting(self) -> list[int]:
        if len(self._remaining) % 2 == 0:
            return self._remaining
        fewest = min(self.tallies[entrant].byes for entrant in self._remaining)
        sits_out = [entrant for entrant in self._remaining if self.tallies[entrant].byes == fewest][-1]
        return [entrant for entrant in self._remaining if entrant != sits_out]
