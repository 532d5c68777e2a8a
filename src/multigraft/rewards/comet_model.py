"""A COMET model in this process: what it takes, what it would cut, and its scores, without Lightning's trainer."""

import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from multigraft.errors import WeightsError, boundary
from multigraft.rewards.comet_checkpoint import load

KNOWN: Mapping[str, str] = {
    name.lower(): f"Unbabel/{name}"
    for name in ("wmt22-cometkiwi-da", "wmt23-cometkiwi-da-xl", "wmt23-cometkiwi-da-xxl", "wmt22-comet-da", "XCOMET-XL", "XCOMET-XXL")
}
"""Names on the hub by short names."""


class Sample(NamedTuple):
    """What COMET scores."""

    source: str
    translation: str
    reference: str | None = None
    """None: not used."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What it says of a sample."""

    value: float
    """May be NaN: not yet checked."""
    details: Mapping[str, float]
    """The scores the value is made of, where the model tells them."""


class CometModel(Protocol):
    """A loaded model."""

    uses_references: bool
    """Whether references go into its scores where there are any."""
    needs_references: bool
    """Whether it has no scores without."""
    digest: str
    """Of its checkpoint's content."""

    def cut(self, sample: Sample) -> tuple[str, ...]:
        """Name the parts of a sample that it would not see to their end."""
        ...

    def judge(self, samples: Sequence[Sample], batch_size: int) -> Sequence[Judgement]:
        """Score samples, all with a reference or none, in their order."""
        ...


class Loaded:
    """A model of unbabel-comet.

    Args:
        model: as its checkpoint gives it.
        devices: torch's names of where it computes; several share the work, each with a copy.
        digest: of its checkpoint's content.
    """

    def __init__(self, model: Any, devices: Sequence[str], digest: str) -> None:  # noqa: ANN401 - a class of unbabel-comet, which has no types
        import torch  # noqa: PLC0415 - an optional extra

        self._torch = torch
        # RegressionMetric names no segments: it takes all three, and its referenceless child two.
        segments = list(model.hparams.get("input_segments") or ["mt", "src", *(["ref"] if model.requires_references() else [])])
        self.uses_references, self.needs_references = "ref" in segments, bool(model.requires_references())
        self._joined = hasattr(model, "concat_inputs")
        self._encoder = model.encoder
        self._replicas = [(model if index == 0 else deepcopy(model)).to(device) for index, device in enumerate(devices)]
        self._devices = tuple(devices)
        self.digest = digest
        # One device is used from the caller's thread: torch makes its own threads anew for every thread that calls it.
        self._pool = ThreadPoolExecutor(len(devices)) if len(devices) > 1 else None

    def cut(self, sample: Sample) -> tuple[str, ...]:
        """Count tokens as COMET does: each part by itself, and together where the model reads them as one sequence."""
        parts = {"translation": sample.translation, "source": sample.source, "reference": sample.reference or ""}
        lengths = {name: self._tokens(text) for name, text in parts.items()}
        most: int = self._encoder.max_positions
        cut = [name for name, tokens in lengths.items() if tokens > most - 4]
        if self._joined and not cut:
            inside = lengths["translation"] + lengths["source"] + (lengths["reference"] if sample.reference is not None else 0)
            count = 2 if sample.reference is None else 3
            # The last of the sequence is lost, which is the end of the source or of the reference.
            if inside + 2 + (count - 1) * int(self._encoder.size_separator) > most:
                cut.append("source" if sample.reference is None else "reference")
        return tuple(cut)

    def judge(self, samples: Sequence[Sample], batch_size: int) -> Sequence[Judgement]:
        """Score samples of like length together, spread over the devices."""
        order = sorted(range(len(samples)), key=lambda index: sum(len(part or "") for part in samples[index]))
        batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
        judged: dict[int, Judgement] = {}
        for lane in self._spread(batches, samples):
            for indices, judgements in lane:
                judged |= zip(indices, judgements, strict=True)
        return [judged[index] for index in range(len(samples))]

    def _spread(self, batches: Sequence[Sequence[int]], samples: Sequence[Sample]) -> Iterable[list[tuple[Sequence[int], list[Judgement]]]]:
        num = len(self._devices)
        if self._pool is None:
            return [self._lane(0, batches, samples)]
        return self._pool.map(self._lane, range(num), [batches[lane::num] for lane in range(num)], [samples] * num)

    def _lane(self, lane: int, batches: Sequence[Sequence[int]], samples: Sequence[Sample]) -> list[tuple[Sequence[int], list[Judgement]]]:
        return [(indices, self._batch(lane, [samples[index] for index in indices])) for indices in batches]

    def _batch(self, lane: int, samples: Sequence[Sample]) -> list[Judgement]:
        model = self._replicas[lane]
        rows = [_row(sample) for sample in samples]
        with self._torch.inference_mode():
            output = model.predict_step(_moved(model.prepare_for_inference(rows), self._devices[lane]))
        values: list[float] = output["scores"].float().reshape(-1).tolist()
        if len(values) != len(samples):
            message = f"COMET returned {len(values)} scores for {len(samples)} samples"
            raise RuntimeError(message)
        columns = dict(_columns(output.get("metadata")))
        return [Judgement(value, {name: column[index] for name, column in columns.items()}) for index, value in enumerate(values)]

    def _tokens(self, text: str) -> int:
        """Count without the two special tokens of each part."""
        return len(self._encoder.tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"])


def open_model(model: str, *, encoder: str | None, revision: str | None, gpus: int | None) -> Loaded:
    """Load a model.

    Args:
        model: a name of `KNOWN`, a hub name, or `file:PATH` of a checkpoint.
        encoder: see `comet_checkpoint.load`.
        revision: of the hub.
        gpus: how many; 0: the CPU; None: one where there is one.

    Raises:
        WeightsError: unbabel-comet is not installed, or the model cannot be found, loaded or put on so many devices.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what its old libraries import
            import comet  # noqa: F401, PLC0415 - an optional extra
        import torch  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        message = f"COMET needs the extra 'comet' ({error}), best in an environment of its own: pip install 'multigraft[comet]', then multigraft reward serve"
        raise WeightsError(message) from error
    logging.getLogger("comet").setLevel(logging.WARNING)  # it tells of frozen encoders, which matter in training only
    there = torch.cuda.device_count()
    wanted = min(there, 1) if gpus is None else gpus
    if wanted > there:
        message = f"{wanted} GPUs are wanted and {there} are there; set gpus to what there is"
        raise WeightsError(message)
    path = Path(model.removeprefix("file:")) if model.startswith("file:") else _fetched(KNOWN.get(model.lower(), model), revision)
    loaded = load(path, encoder)
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()[:32]
    return Loaded(loaded, [f"cuda:{index}" for index in range(wanted)] or ["cpu"], digest)


def _fetched(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - an optional extra
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415 - an optional extra

    what = f"fetching '{name}' from the hub (some of these models must be asked for on its page, and then need HF_TOKEN); a checkpoint of yours is file:PATH"
    with boundary(WeightsError, what, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError):
        folder = snapshot_download(name, revision=revision, allow_patterns=["hparams.yaml", "checkpoints/model.ckpt"])
    return Path(folder) / "checkpoints" / "model.ckpt"


def _row(sample: Sample) -> dict[str, str]:
    row = {"src": sample.source, "mt": sample.translation}
    return row if sample.reference is None else row | {"ref": sample.reference}


def _moved(value: Any, device: str) -> Any:  # noqa: ANN401 - nested inputs of any of its models
    if hasattr(value, "to"):
        return value.to(device)
    if isinstance(value, Mapping):
        return {name: _moved(item, device) for name, item in value.items()}
    return type(value)(_moved(item, device) for item in value) if isinstance(value, list | tuple) else value


def _columns(metadata: Mapping[str, Any] | None) -> Iterator[tuple[str, list[float]]]:
    for name, column in (metadata or {}).items():
        if hasattr(column, "reshape"):
            yield name, column.float().reshape(-1).tolist()
