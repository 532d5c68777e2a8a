"""Puzzles judged by the checkers of their families, and their programs by tests in the sandbox."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar, Literal

from multigraft.errors import SandboxError
from multigraft.puzzles.facts import FactsError
from multigraft.puzzles.table import FAMILIES
from multigraft.randomness import key_of
from multigraft.rewards.scores import scored, unscored
from multigraft.rewards.unit_tests import UnitTests
from multigraft.sandbox.sandbox import Sandbox
from multigraft.types import Candidate, FailureKind, Prompt, Score

_REVISION = 1
"""Raised with every change of a checker that may change a score."""


class Puzzle:
    """Scores answers to puzzles; what a puzzle is about stands in the fields `family` and `puzzle` of its prompt.

    Args:
        sandbox: where programs are run; opened with the first of them. None: they are not scored.
        form: `partial` gives credit for what comes near, `strict` only 1 for right and 0 for wrong answers.
        name: what records know it by.
        max_batch: answers scored at once; >= 1.

    Raises:
        ValueError: a setting that does not fit.
    """

    reads_answers: ClassVar[bool] = True

    def __init__(
        self,
        *,
        sandbox: Sandbox | None = None,
        form: Literal["partial", "strict"] = "partial",
        name: str = "puzzle",
        max_batch: int = 16,
    ) -> None:
        if form not in {"partial", "strict"} or max_batch < 1:
            message = f"form must be 'partial' or 'strict' and max_batch at least 1, not '{form}' and {max_batch}"
            raise ValueError(message)
        self._tests = None if sandbox is None else UnitTests(sandbox=sandbox, form=form, name=name, max_batch=max_batch)
        self._started = False
        self._starting = asyncio.Lock()
        self._form = form
        self._name = name
        self._max_batch = max_batch

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision of the checkers and a digest of the form, and of how programs are run."""
        return f"{_REVISION}-{key_of(self._form, '' if self._tests is None else self._tests.version):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    async def close(self) -> None:
        """Close the sandbox, if it was opened."""
        if self._tests is not None and self._started:
            self._started = False
            await self._tests.close()

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch; the value is in [0, 1], and 1 exactly when the answer is right."""
        programs = [index for index, candidate in enumerate(candidates) if _is_a_program(candidate.prompt)]
        scores = {index: self._checked(candidate) for index, candidate in enumerate(candidates) if index not in programs}
        if programs:
            run = await self._run([candidates[index] for index in programs])
            scores |= dict(zip(programs, run, strict=True))
        return [scores[index] for index in range(len(candidates))]

    def _checked(self, candidate: Candidate) -> Score:
        family = FAMILIES.get(str(candidate.prompt.fields.get("family")))
        facts = candidate.prompt.fields.get("puzzle")
        if family is None or family.check is None or not isinstance(facts, dict):
            message = f"no puzzle: the prompt needs the fields 'family' (of {', '.join(FAMILIES)}) and 'puzzle', which the task 'puzzles' gives it"
            return unscored(FailureKind.UNSCORABLE, message)
        try:
            verdict = family.check(facts, candidate.completion.text)
        except FactsError as error:
            return unscored(FailureKind.UNSCORABLE, str(error))
        value = verdict.credit if self._form == "partial" else float(verdict.credit == 1.0)
        return scored(value, verdict.message, answer=verdict.answer)

    async def _run(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        if self._tests is None:
            return [unscored(FailureKind.UNSCORABLE, "programs are judged in a sandbox, and there is none") for _ in candidates]
        async with self._starting:
            if not self._started:
                try:
                    await self._tests.start()
                except SandboxError as error:
                    return [unscored(FailureKind.UNAVAILABLE, str(error), retryable=True) for _ in candidates]
                self._started = True
        return await self._tests.score(candidates)


def _is_a_program(prompt: Prompt) -> bool:
    family = FAMILIES.get(str(prompt.fields.get("family")))
    return family is not None and family.check is None
