"""A scorer without a model: the same scores every time, and failures where a rule says so. For tests and dry runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from multigraft.randomness import Draws
from multigraft.rewards.scores import scored
from multigraft.types import Candidate, Score

Script: TypeAlias = Callable[[Candidate], float | Score]


class Scripted:
    """Scores from a table of texts, from a function, or from a hash of prompt and text.

    Args:
        script: value by the text of the answer, or a function of the candidate that returns a value or a whole score; None: a uniform draw in [0, 1) keyed by
            prompt and text. A text that the table lacks is drawn as well.
        faults: returns the score of a candidate that is to fail, None for the others; looked at first.
        seed: part of the key of the draws.
        name: what records know it by.
        max_batch: >= 1.
    """

    def __init__(
        self,
        script: Mapping[str, float] | Script | None = None,
        *,
        faults: Callable[[Candidate], Score | None] | None = None,
        seed: int = 0,
        name: str = "scripted",
        max_batch: int = 8,
    ) -> None:
        if max_batch < 1:
            message = f"max_batch must be at least 1, not {max_batch}"
            raise ValueError(message)
        self.name = name
        self.version = f"1-{seed}"
        self.max_batch = max_batch
        self.batches: list[int] = []
        """Size of every batch scored."""
        self._script = script
        self._faults = faults
        self._seed = seed

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch; a value that is not finite becomes a reason."""
        self.batches.append(len(candidates))
        return [self._of(candidate) for candidate in candidates]

    def _of(self, candidate: Candidate) -> Score:
        fault = None if self._faults is None else self._faults(candidate)
        if fault is not None:
            return fault
        text = candidate.completion.text
        if callable(self._script):
            value = self._script(candidate)
            return value if isinstance(value, Score) else scored(value)
        drawn = Draws(self._seed, candidate.prompt.prompt_id, text).uniform()
        return scored(drawn if self._script is None else self._script.get(text, drawn))
