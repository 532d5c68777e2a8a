"""Overlap with reference translations, by sacreBLEU: BLEU, chrF++ and TER of single sentences."""

import asyncio
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from multigraft.errors import InputError
from multigraft.randomness import key_of
from multigraft.rewards.references import references_of
from multigraft.rewards.scores import scored, unscored
from multigraft.types import Candidate, FailureKind, Score

_REVISION = 1
"""Raised with every change that may change a score."""
Metric: TypeAlias = Literal["bleu", "chrf", "ter"]
METRICS: tuple[Metric, ...] = ("chrf", "bleu", "ter")
TOKENIZERS = ("13a", "intl", "zh", "char", "none")
"""Those of sacreBLEU's that need neither a download nor a further package."""


class _Sentence(Protocol):
    score: float


class _Metric(Protocol):
    def sentence_score(self, hypothesis: str, references: Sequence[str]) -> _Sentence: ...

    def get_signature(self) -> object: ...


class SacreBleu:
    """Value = BLEU or chrF++ of the response against its references, in [0, 100]; or the negative of TER, so that higher is always better.

    As for single sentences: BLEU with effective order and exponential smoothing. Needs `multigraft[checkers]`.

    Args:
        metric: `chrf`, `bleu` or `ter`.
        field: of the prompt's row that holds the reference, or a list of them; None: the reference.
        word_order: of chrF: 2 makes it chrF++, 0 plain chrF; [0, 4].
        tokenize: of BLEU: `13a`, `intl`, `zh`, `char` or `none`; `zh` for translations into Chinese, `char` for other texts without spaces.
        lowercase: whether case matters not. TER never minds it.
        max_batch: responses scored in one go; >= 1.
        name: what records know it by.

    Raises:
        ValueError: a setting out of its range.

    Source: arXiv 1804.08771 (sacreBLEU); W15-3049 (chrF), W17-4770 (chrF++) and AMTA 2006 (TER) for the metrics.
    """

    def __init__(
        self,
        *,
        metric: Metric = "chrf",
        field: str | None = None,
        word_order: int = 2,
        tokenize: str = "13a",
        lowercase: bool = False,
        max_batch: int = 16,
        name: str = "sacrebleu",
    ) -> None:
        if metric not in METRICS:
            message = f"metric must be one of {', '.join(METRICS)}, not {metric!r}"
            raise ValueError(message)
        if tokenize not in TOKENIZERS:
            message = f"tokenize must be one of {', '.join(TOKENIZERS)}, not {tokenize!r}"
            raise ValueError(message)
        if not 0 <= word_order <= 4 or max_batch < 1:
            message = f"word_order must be in [0, 4] and max_batch at least 1, not {word_order} and {max_batch}"
            raise ValueError(message)
        self._metric: Metric = metric
        self._field = field
        self._word_order = word_order
        self._tokenize = tokenize
        self._lowercase = lowercase
        self._max_batch = max_batch
        self._name = name
        self._made: _Metric | None = None

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision, a digest of the field, and sacreBLEU's signature, the number of references left open."""
        return f"{_REVISION}-{key_of(repr(self._field)):016x} {self.signature}"

    @property
    def signature(self) -> str:
        """SacreBLEU's own name of the metric, its settings and its version, such as `case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0`.

        Raises:
            InputError: sacreBLEU is not installed.
        """
        metric = self._new()
        # A signature is known only once something was scored.
        metric.sentence_score("a", ["a"])
        return str(metric.get_signature()).removeprefix("nrefs:1|")

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    async def start(self) -> None:
        """Load the metric.

        Raises:
            InputError: sacreBLEU is not installed.
        """
        await asyncio.to_thread(self._ready)

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch in a thread; no references: unscorable."""
        return await asyncio.to_thread(lambda: [self._scored(candidate) for candidate in candidates])

    def _scored(self, candidate: Candidate) -> Score:
        references = references_of(candidate.prompt, self._field)
        if not references:
            where = "reference" if self._field is None else f"field '{self._field}'"
            return unscored(FailureKind.UNSCORABLE, f"the prompt has no {where} to compare with: add it to its row")
        value = self._ready().sentence_score(candidate.completion.text, references).score
        return scored(-value if self._metric == "ter" else value, f"{self._metric} {value:.2f} against {len(references)} references")

    def _ready(self) -> _Metric:
        if self._made is None:
            self._made = self._new()
        return self._made

    def _new(self) -> _Metric:
        try:
            from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415 - an optional extra
            from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415 - an optional extra
            from sacrebleu.metrics.ter import TER  # noqa: PLC0415 - an optional extra
        except ImportError as error:
            message = "BLEU, chrF and TER need sacreBLEU: pip install 'multigraft[checkers]'"
            raise InputError(message) from error
        made: _Metric
        if self._metric == "bleu":
            made = BLEU(effective_order=True, tokenize=self._tokenize, lowercase=self._lowercase)
        elif self._metric == "chrf":
            made = CHRF(word_order=self._word_order, lowercase=self._lowercase)
        else:
            made = TER()
        return made
