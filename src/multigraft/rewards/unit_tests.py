"""Unit tests of generated code, in the sandbox: HumanEval's `check(candidate)`, or a list of inputs with what they should give."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from multigraft.errors import SandboxError
from multigraft.randomness import key_of
from multigraft.rewards.scores import scored, unscored
from multigraft.rewards.unit_tests_code import Where, code_of_prompt, readings
from multigraft.sandbox.limits import Limits
from multigraft.sandbox.outcomes import Case, Examination, Fault, Verdict
from multigraft.sandbox.sandbox import Sandbox
from multigraft.types import Candidate, FailureKind, Prompt, Score

Form = Literal["strict", "partial"]

_REVISION = 1
"""Raised with every change that may change a score."""
_WITHOUT_TESTS = "the prompt has no unit tests: its row needs 'test' and 'entry_point' as HumanEval has them, or 'cases' and 'entry_point'"


class UnitTests:
    """Value = 1 when all tests hold, 0 when not; with `partial`, the share of `cases` that hold.

    A prompt's row holds `entry_point`, the name of the function, and either `test`, Python with a function `check(candidate)`, or `cases`, a list of
    `{"input": [arguments], "expected": value}`. What is to be completed is its `code`, or the text of its last message.

    Args:
        sandbox: where code and tests run.
        form: `strict` or `partial`; both are the same for `test`, which is one piece.
        where: code stands in an answer: `chat` (fenced blocks), `completion` (the bare continuation), `auto`.
        wall_s: seconds of wall time for the tests of one response; > 0.
        memory_bytes: of the submission, and as much for the judge; >= 64 MiB.
        name: what records know it by.
        max_batch: responses taken at once, which then wait for free slots of the sandbox; >= 1.

    Raises:
        ValueError: a setting out of its range.

    Source:
        Chen et al., "Evaluating Large Language Models Trained on Code" (arXiv 2107.03374), section 2. Departures: the function runs apart from its tests, so
        arguments are copies, and only exact built-in types come back.
    """

    def __init__(
        self,
        *,
        sandbox: Sandbox,
        form: Form = "strict",
        where: Where = "auto",
        wall_s: float = 6.0,
        memory_bytes: int = 512 * 1024 * 1024,
        name: str = "unit_tests",
        max_batch: int = 16,
    ) -> None:
        for setting, value, known in (("form", form, get_args(Form)), ("where", where, get_args(Where))):
            if value not in known:
                message = f"{setting} of {name} must be one of {', '.join(known)}, not {value!r}"
                raise ValueError(message)
        if max_batch < 1:
            message = f"max_batch of {name} must be at least 1, not {max_batch}"
            raise ValueError(message)
        self._sandbox = sandbox
        self._form, self._where = form, where
        self._limits = replace(sandbox.limits, wall_s=wall_s, memory_bytes=memory_bytes)
        self._name = name
        self._max_batch = max_batch

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision and a digest of the settings, the limits, and the walls that are up."""
        return f"{_REVISION}-{key_of(self._form, self._where, repr(self._limits), self._sandbox.description):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    @property
    def limits(self) -> Limits:
        """Of each response."""
        return self._limits

    async def start(self) -> None:
        """Open the sandbox, or join those who have.

        Raises:
            SandboxError: no walls can be had; the message says what to install.
        """
        await self._sandbox.start()

    async def close(self) -> None:
        """Leave the sandbox; the last one closes it."""
        await self._sandbox.close()

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Test a batch, as many at once as the sandbox has slots; the value is in [0, 1]."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._tested(candidate)) for candidate in candidates]
        return [task.result() for task in tasks]

    async def _tested(self, candidate: Candidate) -> Score:
        examination = self.examination(candidate.prompt, candidate.completion.text)
        if isinstance(examination, str):
            return unscored(FailureKind.UNSCORABLE, examination)
        try:
            verdict = await self._sandbox.check(examination, limits=self._limits)
        except SandboxError as error:
            return unscored(FailureKind.UNAVAILABLE, str(error), retryable=True)
        if isinstance(verdict, Fault):
            return unscored(FailureKind.UNAVAILABLE, f"the sandbox could not run it: {verdict.message}", retryable=True)
        return self._score_of(verdict)

    def examination(self, prompt: Prompt, answer: str) -> Examination | str:
        """Put a prompt's tests and an answer together.

        Args:
            prompt: whose fields hold the tests.
            answer: of a model.

        Returns:
            What the sandbox judges; a text that says why there is nothing to judge.
        """
        entry_point, tests = prompt.fields.get("entry_point"), prompt.fields.get("test")
        if not isinstance(entry_point, str) or not entry_point.isidentifier():
            return _WITHOUT_TESTS
        code = prompt.fields.get("code")
        prelude = code_of_prompt(code if isinstance(code, str) else prompt.messages[-1].content, entry_point)
        sources = readings(answer, prelude, entry_point, self._where)
        if isinstance(tests, str) and tests.strip():
            return Examination(sources=sources, entry_point=entry_point, prelude=prelude, tests=tests)
        cases = _cases_of(prompt)
        return cases if isinstance(cases, str) else Examination(sources=sources, entry_point=entry_point, cases=cases)

    def _score_of(self, verdict: Verdict) -> Score:
        if verdict.reason == "uncalled":
            return unscored(FailureKind.UNSCORABLE, f"{verdict.message}, so they say nothing of it")
        passed, count = sum(verdict.cases), len(verdict.cases)
        value = passed / count if self._form == "partial" and count else float(verdict.passed)
        of_cases = f"{passed} of {count} cases hold" if count else ""
        why = "" if verdict.passed else f"{verdict.reason}: {verdict.message}"
        message = "; ".join(part for part in (of_cases, why) if part) or "all tests hold"
        return scored(value, message, details={"cases": float(count), "cases_passed": float(passed)} if count else {})


def _cases_of(prompt: Prompt) -> tuple[Case, ...] | str:
    listed = prompt.fields.get("cases")
    if not isinstance(listed, list) or not listed:
        return _WITHOUT_TESTS
    cases: list[Case] = []
    for number, case in enumerate(listed):
        arguments = case.get("input") if isinstance(case, dict) else None
        if not isinstance(case, dict) or not isinstance(arguments, list) or "expected" not in case:
            return f'case {number} of the prompt must be {{"input": [arguments], "expected": value}}, not {str(case)[:80]}'
        cases.append(Case(tuple(arguments), case["expected"]))
    return tuple(cases)
