"""Where a reward model's weights are, and what they are. Only safetensors are read: a pickle runs whatever its author wrote into it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from multigraft.errors import InputError, WeightsError, boundary
from multigraft.rewards.hf.extra import required
from multigraft.types import Json

_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack")
_FETCHED = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja")
_SMALL_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "chat_template.json",
)
"""Beside the weights, what may change a score."""
_WHOLE_BYTES = 64 << 20
_BLOCK_BYTES = 64 << 10
_BLOCKS = 64
_INDEX = "model.safetensors.index.json"


class _Hash(Protocol):
    def update(self, content: bytes, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Weights:
    """A folder with a model in it."""

    origin: str
    """What the run file calls it."""
    folder: Path
    config: Mapping[str, Json]
    """`config.json`."""
    files: tuple[Path, ...]
    """Of safetensors, in the order of their names."""

    @property
    def architecture(self) -> str:
        """The class the checkpoint was written by; empty when it says none."""
        named = self.config.get("architectures")
        return str(named[0]) if isinstance(named, list) and named else ""

    def integer(self, name: str) -> int | None:
        """Return a whole number of the config, if there is one."""
        found = self.config.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def digest(self) -> str:
        """Return what the model is, as a hash.

        Of each file of weights: its size, its header, and its content, which of a file above 64 MiB is 64 blocks spread over it, so that it takes no minute;
        of the config and the tokenizer the whole content.
        """
        found = sha256()
        for path in self.files:
            found.update(f"{path.name}\0{path.stat().st_size}\0".encode())
            _update(found, path)
        for name in _SMALL_FILES:
            path = self.folder / name
            if path.is_file():
                found.update(f"{name}\0".encode() + path.read_bytes())
        return found.hexdigest()[:32]


def find_weights(model: str, *, revision: str | None, trust_remote_code: bool) -> Weights:
    """Find a local folder, or fetch a repository of the hub.

    Args:
        model: path of a folder, or the name of a repository.
        revision: branch, tag or commit of the repository; None: its main branch.
        trust_remote_code: whether its Python files are fetched as well.

    Raises:
        InputError: the folder is not there, holds no safetensors, or holds an adapter.
        WeightsError: the hub cannot be reached, or has no such repository.
    """
    folder = local_folder(model)
    return read_folder(model, _fetched(model, revision, trust_remote_code=trust_remote_code) if folder is None else folder)


def local_folder(model: str) -> Path | None:
    """Return the folder a model's name means; None when it is the name of a repository.

    Raises:
        InputError: it looks like a path, and nothing is there.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if path.exists() or model.startswith((".", "/", "~", "\\")) or model.count("/") > 1:
        message = f"there is no folder '{model}'; a reward model is a folder with config.json and safetensors, or a repository such as 'owner/name'"
        raise InputError(message, field="model")
    return None


def read_folder(origin: str, folder: Path) -> Weights:
    """Look at a folder without reading its weights.

    Raises:
        InputError: as `find_weights`.
    """
    if not (folder / "config.json").is_file():
        adapter = (folder / "adapter_config.json").is_file()
        message = (
            f"'{origin}' is an adapter: merge it into its base model first" if adapter else f"'{origin}' has no config.json, so it is no model of transformers"
        )
        raise InputError(message, field="model")
    with boundary(InputError, f"reading config.json of '{origin}'", ValueError, OSError):
        config = json.loads((folder / "config.json").read_bytes())
    files = tuple(sorted(folder.glob("*.safetensors")))
    if not isinstance(config, dict) or (folder / "adapter_config.json").is_file():
        message = f"'{origin}' has an adapter beside its weights, or a config.json that is no table: merge the adapter first"
        raise InputError(message, field="model")
    if not files:
        pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
        what = f"its weights only as pickles ({pickles[0]})" if pickles else "no weights as safetensors"
        message = (
            f"'{origin}' has {what}. A pickle can run any code when it is read, so none is ever opened here. Use a copy in safetensors: on the hub the "
            "bot's conversion is often there as revision = 'refs/pr/N', or save one yourself with save_pretrained(..., safe_serialization=True)"
        )
        raise InputError(message, field="model")
    _check_index(origin, folder)
    return Weights(origin, folder, config, files)


def _check_index(origin: str, folder: Path) -> None:
    """An index may send the loader to any file, so it must name nothing but safetensors of its own folder."""
    path = folder / _INDEX
    if not path.is_file():
        return
    with boundary(InputError, f"reading {_INDEX} of '{origin}'", ValueError, OSError):
        index = json.loads(path.read_bytes())
        named = {str(name) for name in index["weight_map"].values()} if isinstance(index, dict) and isinstance(index.get("weight_map"), dict) else set()
    bad = sorted(name for name in named if not name.endswith(".safetensors") or Path(name).name != name or not (folder / name).is_file())
    if bad or not named:
        message = f"{_INDEX} of '{origin}' names {bad[:1] or 'no file'}, which is no safetensors file of its folder"
        raise InputError(message, field="model")


def _fetched(model: str, revision: str | None, *, trust_remote_code: bool) -> Path:
    hub = required("huggingface_hub")
    errors = required("huggingface_hub.errors")
    wanted = [*_FETCHED, *(["*.py"] if trust_remote_code else [])]
    with boundary(
        WeightsError,
        f"fetching '{model}' from the hub (a local folder needs no hub; a gated model needs HF_TOKEN)",
        OSError,
        ValueError,
        errors.HfHubHTTPError,
        errors.LocalEntryNotFoundError,
    ):
        return Path(hub.snapshot_download(model, revision=revision, allow_patterns=wanted, ignore_patterns=["original/*", "onnx/*"]))


def _update(found: _Hash, path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= _WHOLE_BYTES:
            found.update(file.read())
            return
        header = int.from_bytes(file.read(8), "little")
        found.update(file.read(min(header, _WHOLE_BYTES)))
        for block in range(_BLOCKS):
            file.seek(size * block // _BLOCKS)
            found.update(file.read(_BLOCK_BYTES))
        file.seek(max(0, size - _BLOCK_BYTES))
        found.update(file.read())
