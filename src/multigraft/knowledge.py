"""What a run has learnt over all its prompts: one value, updated by every outcome in the order of the record.

As the record gives the order, replaying it gives the same knowledge, and so the same decisions. For now that is the location and spread of every
quantity seen, by name: the rewards of the run (`tau = "auto"`), and each part of a combined reward, overall and by model (`rewards/combine.py`).
"""

from dataclasses import dataclass, field
from math import isfinite, sqrt


@dataclass(slots=True)
class Moments:
    """Count, mean and variance of a stream (Welford 1962)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared deviations from the mean."""

    def add(self, value: float) -> None:
        """Take in one finite value."""
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self.squares += delta * (value - self.mean)

    @property
    def spread(self) -> float | None:
        """Standard deviation of what was seen; None below two values, or when all were equal."""
        if self.count < 2 or self.squares <= 0.0:
            return None
        spread = sqrt(self.squares / (self.count - 1))
        return spread if isfinite(spread) and spread > 0.0 else None

    def standardised(self, value: float) -> float:
        """How many spreads `value` lies above the mean; 0 while the spread is unknown."""
        spread = self.spread
        return 0.0 if spread is None else (value - self.mean) / spread


@dataclass(slots=True)
class Knowledge:
    """Moments by name. Mutable, owned by the campaign; strategies only read it."""

    moments: dict[str, Moments] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Take in one value of the quantity `name`; a value that is not finite is left out."""
        if isfinite(value):
            self.moments.setdefault(name, Moments()).add(value)

    def of(self, name: str) -> Moments:
        """Return the moments of `name`, empty ones when nothing was seen."""
        return self.moments.get(name) or Moments()


REWARD = "reward"
"""Name of the reward that guides the run."""
