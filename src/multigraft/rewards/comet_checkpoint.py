"""COMET checkpoints, read without running anything that is in them.

A COMET checkpoint is a pickle: unpickling one runs whatever code its author put in. `comet.load_from_checkpoint` leaves it to Lightning how far a file is
trusted, reads `hparams.yaml` with a loader for whole Python objects, and takes a checkpoint that lacks weights as if it had them. So the model is made here:
its class from `hparams.yaml`, its settings and weights from the checkpoint by torch's loader for tensors and plain values alone.
"""

import inspect
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from multigraft.errors import WeightsError, boundary

_FLAT = re.compile(r"^(\w+):[ \t]*[\"']?([\w./-]+)[\"']?[ \t]*$", re.MULTILINE)
_CODE_IN_IT = re.compile(r"GLOBAL ([\w.]+)")


def load(path: Path, encoder: str | None) -> Any:  # noqa: ANN401 - a class of unbabel-comet, which has no types
    """Make the model of a checkpoint, in evaluation mode, on the CPU.

    Args:
        path: `.../checkpoints/model.ckpt`; `hparams.yaml` lies one folder above.
        encoder: folder or hub name of the encoder's config and tokenizer, in place of what the checkpoint names.

    Raises:
        WeightsError: it is no such checkpoint, holds code, or lacks weights.
    """
    from comet.models import str2model  # noqa: PLC0415 - an optional extra

    read = _tensors_and_plain_values(path)
    settings, weights = read.get("hyper_parameters"), read.get("state_dict")
    if not isinstance(settings, dict) or not isinstance(weights, dict) or not weights:
        message = f"{path} is no COMET checkpoint: it has no hyper_parameters or no state_dict"
        raise WeightsError(message)
    beside = _beside(path)
    kind = beside.get("class_identifier", settings.get("class_identifier"))
    if kind not in str2model:
        message = f"{path} is of the class {kind!r}; COMET has {', '.join(sorted(str2model))}"
        raise WeightsError(message)
    if beside.get("layer_transformation") == "sparsemax_patch":
        # Trained while sparsemax was softmax by mistake; COMET itself loads them so since its version 2.2.4.
        settings = settings | {"layer_transformation": "softmax"}
    made = str2model[kind]
    taken = inspect.signature(made).parameters
    given = {name: value for name, value in settings.items() if name in taken} | {"load_pretrained_weights": False}
    if encoder is not None:
        given["pretrained_model"] = encoder
    with boundary(WeightsError, f"the encoder '{given.get('pretrained_model')}' of {path}", OSError, ValueError, TypeError):
        model = made(**given)
    _fill(model, weights, path)
    return model.eval()


def _tensors_and_plain_values(path: Path) -> Mapping[str, Any]:
    import torch  # noqa: PLC0415 - an optional extra
    from pytorch_lightning.utilities.parsing import AttributeDict  # noqa: PLC0415 - an optional extra

    if not path.is_file():
        message = f"there is no COMET checkpoint at {path}"
        raise WeightsError(message)
    with boundary(WeightsError, f"reading {path}", OSError, RuntimeError, EOFError, KeyError, ValueError):
        try:
            # A dict under another name, in which Lightning keeps settings.
            with torch.serialization.safe_globals([AttributeDict]):
                read = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
        except Exception as error:
            if type(error).__name__ != "UnpicklingError":
                raise
            named = _CODE_IN_IT.search(str(error))
            what = f"'{named[1]}'" if named else "something"
            message = f"{path} holds {what}, which is neither a tensor nor a plain value, and was not loaded: such a file may run code. Get it from its author"
            raise WeightsError(message) from error
    if not isinstance(read, dict):
        message = f"{path} is no COMET checkpoint but holds a {type(read).__name__}"
        raise WeightsError(message)
    return read


def _beside(path: Path) -> Mapping[str, str]:
    """Read the plain settings of the `hparams.yaml` that belongs to a checkpoint; none where there is no such file."""
    file = path.parent.parent / "hparams.yaml"
    if not file.is_file():
        return {}
    with boundary(WeightsError, f"reading {file}", OSError, UnicodeDecodeError):
        return {match[1]: match[2] for match in _FLAT.finditer(file.read_text("utf-8"))}


def _fill(model: Any, weights: Mapping[str, Any], path: Path) -> None:  # noqa: ANN401 - see `load`
    with boundary(WeightsError, f"the weights of {path}", RuntimeError):
        missing = set(model.load_state_dict(weights, strict=False).missing_keys)
    # Buffers are made with the model; a parameter that is missing would be left as it was drawn at random.
    lacking = sorted(missing & {name for name, _ in model.named_parameters()})
    if lacking:
        message = f"{path} lacks {len(lacking)} weights of its model, such as '{lacking[0]}'"
        raise WeightsError(message)
