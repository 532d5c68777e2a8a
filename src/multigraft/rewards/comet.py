"""COMET: translations scored by source, translation and, for some of its models, a reference translation."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import Literal, TypeAlias

from multigraft.randomness import key_of
from multigraft.rewards.comet_model import CometModel, Judgement, Sample, open_model
from multigraft.rewards.scores import scored, unscored
from multigraft.types import Candidate, FailureKind, Prompt, Score

Part: TypeAlias = Literal["whole", "last_line"]
_REVISION = 1
"""Raised with every change that may change a score."""


class Comet:
    """A COMET model in this process; needs the extra `comet`, best in an environment of its own behind `multigraft reward serve`.

    Whether references are used follows from the model: the Kiwi models take none, `wmt22-comet-da` needs one, XCOMET uses one where it may. A prompt without
    a reference that the model uses cannot be scored, since scores with and without are not on one scale. A part that exceeds the encoder's window (512 tokens)
    is cut by COMET, and the score is marked as truncated.

    Args:
        model: `wmt22-cometkiwi-da`, `wmt23-cometkiwi-da-xl`, `wmt23-cometkiwi-da-xxl`, `wmt22-comet-da`, `xcomet-xl`, `xcomet-xxl`, a hub name, or
            `file:PATH` of a checkpoint, which has `hparams.yaml` one folder above.
        source: field of the prompt that holds the source text; a prompt without it is taken to be the source: its last user message.
        translation: what of a response is the translation: all of it, or its last line that is not empty.
        reference: field of the prompt that holds the reference; None: its `reference`. An empty text: use none, for XCOMET.
        encoder: folder or hub name of the encoder's config and tokenizer, in place of what the checkpoint names.
        revision: of the model on the hub.
        gpus: how many share the work; 0: the CPU. None: one where there is one.
        batch_size: samples in one forward pass; >= 1.
        max_batch: candidates that one `score` takes; >= 1.
        name: what records know it by.

    Raises:
        ValueError: a setting out of its range.

    Source:
        Rei et al., "CometKiwi" (arXiv 2209.06243); Rei et al., "COMET-22" (WMT 2022); Guerreiro et al., "xCOMET" (arXiv 2310.10482).
    """

    def __init__(
        self,
        *,
        model: str = "wmt22-cometkiwi-da",
        source: str = "source",
        translation: Part = "whole",
        reference: str | None = None,
        encoder: str | None = None,
        revision: str | None = None,
        gpus: int | None = None,
        batch_size: int = 16,
        max_batch: int = 64,
        name: str = "comet",
    ) -> None:
        if batch_size < 1 or max_batch < 1 or (gpus is not None and gpus < 0) or translation not in {"whole", "last_line"}:
            settings = f"{batch_size}, {max_batch}, {gpus} and {translation!r}"
            message = f"{name} needs batch_size and max_batch of at least 1, gpus of at least 0 and translation 'whole' or 'last_line', not {settings}"
            raise ValueError(message)
        self._model, self._encoder, self._revision, self._gpus = model, encoder, revision, gpus
        self._source, self._translation, self._reference = source, translation, reference
        self._batch_size = batch_size
        self._name, self._max_batch = name, max_batch
        self._loaded: CometModel | None = None
        self._weights = ""
        # One thread: torch spreads a forward pass over the cores by itself.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="comet")

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision, and a digest of the model, once it is loaded of its weights too, and of what is read from where."""
        parts = (self._model, self._revision, self._encoder, self._weights, self._source, self._translation, self._reference)
        return f"{_REVISION}-{key_of(repr(parts)):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    async def start(self) -> None:
        """Load the weights.

        Raises:
            WeightsError: they cannot be loaded; the message says what to do.
        """
        if self._loaded is None:
            self._loaded = await asyncio.get_running_loop().run_in_executor(self._thread, self._opened)
            self._weights = self._loaded.digest

    async def close(self) -> None:
        """Give the weights back."""
        self._loaded = None

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch; the value is about 0 to 1, higher is better."""
        await self.start()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._scores, candidates)

    def _opened(self) -> CometModel:
        return open_model(self._model, encoder=self._encoder, revision=self._revision, gpus=self._gpus)

    def _scores(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        model = self._loaded
        if model is None:
            return [unscored(FailureKind.ABORTED, f"{self._name} was closed", retryable=True)] * len(candidates)
        samples = [self._sample(candidate, model) for candidate in candidates]
        ready = [sample for sample in samples if isinstance(sample, Sample)]
        judgements = iter(model.judge(ready, self._batch_size) if ready else ())
        return [sample if isinstance(sample, Score) else _score(next(judgements), model.cut(sample)) for sample in samples]

    def _sample(self, candidate: Candidate, model: CometModel) -> Sample | Score:
        prompt = candidate.prompt
        source, translation = _text(prompt, self._source), candidate.completion.text.strip()
        if source is None:
            source = next((message.content for message in reversed(prompt.messages) if message.role == "user"), "")
        if self._translation == "last_line":
            translation = translation.splitlines()[-1].strip() if translation else ""
        if not source.strip() or not translation:
            return unscored(FailureKind.UNSCORABLE, f"there is no {'translation' if source.strip() else 'source text'} to score")
        if not model.uses_references or (self._reference == "" and not model.needs_references):
            return Sample(source, translation)
        reference = prompt.reference if self._reference is None else _text(prompt, self._reference)
        if reference is None or not reference.strip():
            what = "reference" if self._reference is None else f"field '{self._reference}'"
            remedy = "use a Kiwi model" if model.needs_references else "set reference to an empty text to score without"
            return unscored(FailureKind.UNSCORABLE, f"the prompt has no {what}, which {self._name} compares with; {remedy}")
        return Sample(source, translation, reference)


def _score(judgement: Judgement, cut: Sequence[str]) -> Score:
    message = f"COMET saw only the beginning of the {' and the '.join(cut)}" if cut else ""
    details = {name: value for name, value in judgement.details.items() if isfinite(value)}
    return scored(judgement.value, message, truncated=bool(cut), details=details)


def _text(prompt: Prompt, field: str) -> str | None:
    value = prompt.fields.get(field)
    return value if isinstance(value, str) else None
