"""What an answer is worth: its grade in [0, 1], and what a sink that chooses among answers goes by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from multigraft.engine.replay import answer_of
from multigraft.engine.scoring import Scoring, scores_of
from multigraft.errors import InputError
from multigraft.knowledge import Knowledge
from multigraft.optimize.real.once import Once
from multigraft.rewards.combine import Combination, names
from multigraft.types import Candidate, Score


@dataclass(frozen=True, slots=True)
class Scorers:
    """Scorers at work, and how what they say becomes one value."""

    scorings: Sequence[Scoring]
    combination: Combination
    """Nothing in it is normalised, so that a score depends on the answer alone."""


class Grading:
    """Grades answers; each answer to a question once.

    Args:
        grader: gives the grade.
        guide: what a sink that chooses among answers goes by: whose value is the highest, or whose answer most give; None: the grader.
        worst: what the grader gives the worst answer; becomes a grade of 0.
        best: what it gives the best; becomes 1.
        once: keeps what scorers said.

    Raises:
        InputError: `worst` and `best` are the same.
    """

    def __init__(self, grader: Scorers, *, once: Once, guide: Scorers | None = None, worst: float = 0.0, best: float = 1.0) -> None:
        if worst == best:
            message = f"the worst and the best score are both {worst}; give two different ones"
            raise InputError(message)
        self._grader, self._guide, self._once = grader, guide, once
        self._worst, self._best = worst, best

    @property
    def scorings(self) -> tuple[Scoring, ...]:
        """All scorers at work."""
        return (*self._grader.scorings, *(self._guide.scorings if self._guide else ()))

    async def grade(self, candidate: Candidate, digest: str) -> Score:
        """Grade an answer.

        Args:
            candidate: the answer to its question.
            digest: of what was asked for it.

        Returns:
            The grade in [0, 1] with the answer that was read, or why there is none.

        Raises:
            InputError: the grader gives a score outside of `worst` and `best`.
        """
        score = await self._scored(self._grader, candidate, digest)
        if score.value is None:
            return score
        value = (score.value - self._worst) / (self._best - self._worst)
        if not -1e-9 <= value <= 1 + 1e-9:
            scorers = " + ".join(names(self._grader.combination))
            message = (
                f"{scorers} gave {score.value:.6g}, which is outside of [{self._worst:g}, {self._best:g}]; say what it gives the worst and the best answer"
            )
            raise InputError(message, field="optimize.score_range")
        return replace(score, value=min(1.0, max(0.0, value)))

    async def guided(self, candidate: Candidate, digest: str) -> Score:
        """Return what a sink that chooses among answers goes by: a value, and the answer that was read."""
        return await self._scored(self._guide or self._grader, candidate, digest)

    async def _scored(self, scorers: Scorers, candidate: Candidate, digest: str) -> Score:
        prompt_id, store = candidate.prompt.prompt_id, self._once.store
        async with self._once.locked(f"{prompt_id} {digest}"):
            wanted = [scoring.reward.name for scoring in scorers.scorings]
            known: Mapping[str, Score] = {name: score for name in wanted if (score := store.score(prompt_id, digest, name)) is not None}
            found = await scores_of(scorers.scorings, candidate, known) if len(known) < len(wanted) else {}
            for name, score in found.items():
                store.keep_score(prompt_id, digest, name, score)
            if found:
                await store.durable()
        scores = {**known, **found}
        value = scorers.combination.value(scores, candidate.call.model, Knowledge())
        return replace(value, answer=answer_of(scores, scorers.combination))
