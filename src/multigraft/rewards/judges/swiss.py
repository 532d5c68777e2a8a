"""The Swiss system: everybody plays every round, against one with as many points."""

from collections.abc import Sequence
from math import fsum

from multigraft.rewards.judges.bracket import UNDECIDED, Pair, Result, Tally, rounds_for, turned

NOBODY = -1
"""The opponent of who sits out."""


def swiss_rounds(entrants: int, rounds: int | None) -> int:
    """Return how many rounds there are.

    Args:
        entrants: how many; >= 1.
        rounds: wanted; None: ceil(log2(entrants)).

    Returns:
        At most half the entrants, rounded up: so long everybody is certain to find somebody new (Dirac's theorem on perfect matchings).
    """
    return min(rounds_for(entrants) if rounds is None else rounds, (entrants + 1) // 2 if entrants > 1 else 0)


class Swiss:
    """Value = (4 R^2 m + b) / (4 R^2 + 1): m the mean points of the entrant's decided comparisons, b the mean of m over the opponents in them, R the rounds.

    A win is a point, a tie a half. b is Buchholz's tie-break as a mean. Two different m are at least 1 / (2 R^2) apart, so b never turns their order around.
    A round sat out and an undecided comparison count neither for m nor for b; for pairing alone, the first counts as a win and the second as a tie.

    From the top of the table, each meets the nearest below it has not met yet; equals stand in the order of the draw. Of an odd number the last who has not
    sat out before sits out.

    Args:
        entrants: how many; >= 1. Their numbers are the order of the draw.
        rounds: see `swiss_rounds`.
    """

    def __init__(self, entrants: int, rounds: int | None = None) -> None:
        self.tallies = [Tally() for _ in range(entrants)]
        self.rounds = swiss_rounds(entrants, rounds)
        self._played = 0
        self._met: list[set[int]] = [set() for _ in range(entrants)]
        self._decided: list[list[int]] = [[] for _ in range(entrants)]

    def pairs(self) -> Sequence[Pair]:
        """Return who meets in the next round."""
        return [pair for pair in self._round() if NOBODY not in pair]

    def tell(self, results: Sequence[Result]) -> None:
        """Take in how the pairs of the round came out."""
        left = iter(results)
        for first, second in self._round():
            if second == NOBODY:
                self.tallies[first].byes += 1
                self._met[first].add(NOBODY)
                continue
            result = next(left)
            self.tallies[first].count(result)
            self.tallies[second].count(turned(result))
            self._met[first].add(second)
            self._met[second].add(first)
            if result is not UNDECIDED:
                self._decided[first].append(second)
                self._decided[second].append(first)
        self._played += 1

    def values(self) -> Sequence[float | None]:
        """Return the value of each entrant."""
        if len(self.tallies) == 1:
            return [1.0]
        means = [tally.points / tally.decided if tally.decided else None for tally in self.tallies]
        weight = 4.0 * self.rounds**2
        return [None if mean is None else (weight * mean + self.buchholz(entrant)) / (weight + 1.0) for entrant, mean in enumerate(means)]

    def buchholz(self, entrant: int) -> float:
        """Return the mean over the entrant's opponents of their mean points; 0 without any."""
        opponents = [self.tallies[opponent] for opponent in self._decided[entrant]]
        return fsum(tally.points / tally.decided for tally in opponents) / max(1, len(opponents))

    def _round(self) -> list[Pair]:
        if self._played >= self.rounds:
            return []
        table = sorted(range(len(self.tallies)), key=lambda entrant: (-self._standing(entrant), entrant))
        if len(table) % 2:
            table.append(NOBODY)
        pairs: list[Pair] = []
        left = table
        lonely: list[int] = []
        while left:
            one, *others = left
            other = next((candidate for candidate in others if not self._have_met(one, candidate)), None)
            if other is None:
                lonely.append(one)
            else:
                pairs.append((one, other))
            left = [entrant for entrant in others if entrant != other]
        for one, other in zip(lonely[::2], lonely[1::2], strict=True):
            self._part(pairs, one, other)
        return [(second, first) if first == NOBODY else (first, second) for first, second in pairs]

    def _part(self, pairs: list[Pair], one: int, other: int) -> None:
        """Pair two who have met with the two of another pair, as low in the table as can be."""
        for place in range(len(pairs) - 1, -1, -1):
            first, second = pairs[place]
            for with_one, with_other in ((first, second), (second, first)):
                if not self._have_met(one, with_one) and not self._have_met(other, with_other):
                    pairs[place] = (with_one, one)
                    pairs.append((with_other, other))
                    return

    def _standing(self, entrant: int) -> float:
        tally = self.tallies[entrant]
        return tally.points + tally.byes + 0.5 * tally.undecided

    def _have_met(self, one: int, other: int) -> bool:
        return other in self._met[one] if one != NOBODY else one in self._met[other]
