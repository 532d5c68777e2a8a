"""Mathematical equivalence with a reference answer."""

import asyncio
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import ClassVar, NamedTuple

from multigraft.errors import InputError, MultigraftError
from multigraft.randomness import key_of
from multigraft.rewards.math_form import decided, form, is_readable, plain
from multigraft.rewards.math_pool import MathPool
from multigraft.rewards.references import references_of
from multigraft.rewards.rules.final_answer import PLACES, Place, boxed, final_answer, marked
from multigraft.rewards.scores import scored, unscored
from multigraft.types import Candidate, FailureKind, Score

_REVISION = 1
"""Raised with every change that may change a score."""
_LONGEST_SHOWN = 80


class _Found(NamedTuple):
    """An answer, and what it says of itself without algebra."""

    text: str
    references: tuple[str, ...]
    form: str | None
    verdict: bool | None
    undecided: tuple[str, ...]
    """The references that take algebra."""


class MathAnswer:
    r"""Value 1 where the final answer equals the reference as mathematics, else 0; needs `multigraft[checkers]`.

    `\frac{1}{2}` equals 0.5, `x^2 + 2x + 1` equals `(x + 1)^2`, and sets are equal in any order. Texts and plain numbers are compared on the spot; everything
    else by math-verify, in processes of its own, since algebra may take for ever or fill the memory. A comparison that is not decided in time is no score, and
    never a 0.

    Args:
        field: of the prompt's row that holds the reference, or a list of them, any of which is right; None: the reference.
        places: where the final answer is looked for, in this order; the first that is there counts. `json`: the key "answer". `boxed`: the last `\boxed{}`
            whose braces are balanced. `marked`: after `####`. `stated`: after "answer is". `formula`: the last between dollar signs. `last`: after the last
            `=`, else the last number.
        workers: processes that compare, at most; >= 1.
        limit_s: how long one comparison may take; above 0.
        memory_mb: what one of the processes may have; >= 512.
        max_batch: responses scored at once; >= 1.
        name: what records know it by.

    Raises:
        ValueError: a setting out of its range.
    """

    reads_answers: ClassVar[bool] = True

    def __init__(
        self,
        *,
        field: str | None = None,
        places: Sequence[Place] = PLACES,
        workers: int = 2,
        limit_s: float = 5.0,
        memory_mb: int = 1024,
        max_batch: int = 64,
        name: str = "math",
    ) -> None:
        unknown = [place for place in places if place not in PLACES]
        if unknown or not places:
            message = f"places must name some of {', '.join(PLACES)}, not {unknown or 'nothing'}"
            raise ValueError(message)
        if workers < 1 or max_batch < 1 or limit_s <= 0 or memory_mb < 512:
            wanted = "workers and max_batch of at least 1, limit_s above 0 and memory_mb of at least 512"
            message = f"math needs {wanted}, not {workers}, {max_batch}, {limit_s} and {memory_mb}"
            raise ValueError(message)
        self._field = field
        self._places = tuple(places)
        self._workers = workers
        self._limit_s = limit_s
        self._memory_mb = memory_mb
        self._max_batch = max_batch
        self._name = name
        self._pool: MathPool | None = None

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision, and a digest of the settings and of the libraries that compare."""
        libraries = [_installed(package) for package in ("math-verify", "latex2sympy2_extended", "sympy")]
        return f"{_REVISION}-{key_of(repr(self._field), repr(self._places), repr(libraries), f'{self._limit_s:g}', str(self._memory_mb)):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    async def start(self) -> None:
        """Start a worker.

        Raises:
            InputError: math-verify is not installed.
        """
        pool = self._started()
        await asyncio.get_running_loop().run_in_executor(pool.executor, pool.start)

    async def close(self) -> None:
        """End the workers; a later `score` starts them again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.close)

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch, as many at once as there are workers; the value is 0 or 1."""
        return await asyncio.gather(*(self._scored(candidate) for candidate in candidates))

    async def _scored(self, candidate: Candidate) -> Score:
        references = [_bare(reference) for reference in references_of(candidate.prompt, self._field)]
        if not references:
            where = "reference" if self._field is None else f"field '{self._field}'"
            return unscored(FailureKind.UNSCORABLE, f"the prompt has no {where} to compare with: add it to its row")
        text = final_answer(candidate.completion.text, self._places)
        if text is None:
            return scored(0.0, "no final answer found")
        found = _found(text, tuple(references))
        if found.verdict is not None and found.form is not None:
            return _judged(found, equal=found.verdict, written=found.form)
        if not is_readable(text):
            return _judged(found, equal=found.verdict is True, written=plain(text))
        return await self._compared(found)

    async def _compared(self, found: _Found) -> Score:
        pool = self._started()
        loop = asyncio.get_running_loop()
        try:
            comparison = await loop.run_in_executor(pool.executor, pool.compare, found.text, found.undecided)
        except InputError:
            raise
        except (OSError, MultigraftError) as error:  # no further process can be had just now
            return unscored(FailureKind.UNAVAILABLE, str(error), retryable=True)
        written = found.form or comparison.form or plain(found.text)
        if found.verdict is not None:
            return _judged(found, equal=found.verdict, written=written)
        if comparison.undecided:
            return unscored(FailureKind.UNSCORABLE, f"answer {_short(found.text)}: {comparison.undecided}")
        return _judged(found, equal=comparison.equal, written=written)

    def _started(self) -> MathPool:
        if self._pool is None:
            self._pool = MathPool(workers=self._workers, limit_s=self._limit_s, memory_mb=self._memory_mb)
        return self._pool


def _found(text: str, references: tuple[str, ...]) -> _Found:
    verdicts = [decided(text, reference) for reference in references]
    undecided = tuple(reference for reference, verdict in zip(references, verdicts, strict=True) if verdict is None and is_readable(reference))
    verdict = True if True in verdicts else None if undecided else False
    return _Found(text, references, form(text), verdict, undecided)


def _judged(found: _Found, *, equal: bool, written: str) -> Score:
    message = f"answer {_short(found.text)} {'equals' if equal else 'differs from'} {_short(found.references[0])}"
    return scored(float(equal), message, answer=written)


def _bare(reference: str) -> str:
    """Return the answer of a reference that is a whole solution, else the reference."""
    return next((part.strip() for part in (boxed(reference), marked(reference)) if part), reference.strip())


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
