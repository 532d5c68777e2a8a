"""What a GGUF file says of itself: a small strict reader of its header.

The file is untrusted data: every length is checked against what is left of the file before anything is read or allocated.
Source: the GGUF specification of the ggml project, versions 2 and 3.
"""

import mmap
from collections.abc import Mapping
from pathlib import Path
from struct import Struct
from typing import NoReturn

from multigraft.errors import WeightsError, boundary
from multigraft.types import Json

LONGEST_ARRAY = 1024
"""Longer arrays (tokens, merges, scores) are represented by `{"length": n}`."""
LONGEST_KEY_BYTES = 65_535
MOST_KEYS = 65_536

_MAGIC = b"GGUF"
_HEADER_BYTES = 24
_LENGTH = Struct("<Q")
_KIND = Struct("<I")
_STRING = 8
_ARRAY = 9
_SCALARS = {
    0: Struct("<B"),
    1: Struct("<b"),
    2: Struct("<H"),
    3: Struct("<h"),
    4: Struct("<I"),
    5: Struct("<i"),
    6: Struct("<f"),
    7: Struct("<?"),
    10: Struct("<Q"),
    11: Struct("<q"),
    12: Struct("<d"),
}


def read_metadata(path: Path) -> dict[str, Json]:
    """Read the key-value pairs of a GGUF file.

    Args:
        path: the file.

    Returns:
        Keys such as `general.architecture` and their values; an array of more than `LONGEST_ARRAY` items is `{"length": n}`.

    Raises:
        WeightsError: the file cannot be read, or is no well-formed GGUF of version 2 or 3 in little-endian order.
    """
    with boundary(WeightsError, f"reading {path}", OSError), path.open("rb") as stream:
        if path.stat().st_size < _HEADER_BYTES:
            message = f"{path} is no GGUF file: it is only {path.stat().st_size} bytes long"
            raise WeightsError(message)
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _Reader(path, content).metadata()


def has_chat_template(metadata: Mapping[str, Json]) -> bool:
    """Tell whether a model was made for conversations; a base model has no template."""
    return bool(metadata.get("tokenizer.chat_template"))


def trained_context_tokens(metadata: Mapping[str, Json]) -> int | None:
    """Return the context length the model was trained for; None when the file does not say."""
    value = metadata.get(f"{metadata.get('general.architecture')}.context_length")
    return value if isinstance(value, int) and value > 0 else None


class _Reader:
    def __init__(self, path: Path, content: mmap.mmap) -> None:
        self.path, self.content, self.size, self.offset = path, content, len(content), 0

    def metadata(self) -> dict[str, Json]:
        if self.content[: len(_MAGIC)] != _MAGIC:
            self._refuse(f"it begins with {self.content[: len(_MAGIC)]!r}")
        self._skip(len(_MAGIC))
        version = self._number(_KIND)
        if version not in {2, 3}:
            self._refuse(f"version {version} is unknown")
        self._skip(_LENGTH.size)  # the number of tensors
        num_keys = self._number(_LENGTH)
        if num_keys > MOST_KEYS:
            self._refuse(f"it claims {num_keys} keys")
        found: dict[str, Json] = {}
        for _ in range(num_keys):
            key = self._string(LONGEST_KEY_BYTES)
            if key in found:
                self._refuse(f"key '{key[:80]}' comes twice")
            found[key] = self._value(self._number(_KIND))
        return found

    def _value(self, kind: int) -> Json:
        if kind == _STRING:
            return self._string(self.size)
        if kind == _ARRAY:
            return self._array()
        if kind not in _SCALARS:
            self._refuse(f"value type {kind} is unknown")
        return self._scalar(kind)

    def _array(self) -> Json:
        kind, length = self._number(_KIND), self._number(_LENGTH)
        # The shortest item of each type bounds how many can be there; arrays of arrays are not in any known model.
        if kind == _ARRAY or (kind != _STRING and kind not in _SCALARS):
            self._refuse(f"arrays of type {kind} are unknown")
        item_bytes = 8 if kind == _STRING else _SCALARS[kind].size
        if length > (self.size - self.offset) // item_bytes:
            self._refuse(f"an array claims {length} items")
        if length <= LONGEST_ARRAY:
            return [self._value(kind) for _ in range(length)]
        if kind == _STRING:
            for _ in range(length):
                self._skip(self._number(_LENGTH))
        else:
            self._skip(length * item_bytes)
        return {"length": length}

    def _scalar(self, kind: int) -> Json:
        value = self._take(_SCALARS[kind])[0]
        assert isinstance(value, bool | int | float)  # noqa: S101 - a struct of one such item gives nothing else; this tells the type checker
        return value

    def _number(self, form: Struct) -> int:
        return int(self._take(form)[0])

    def _string(self, longest: int) -> str:
        length = self._number(_LENGTH)
        if length > longest:
            self._refuse(f"a text claims {length} bytes")
        start = self.offset
        self._skip(length)
        return self.content[start : self.offset].decode(errors="replace")

    def _take(self, form: Struct) -> tuple[bytes | int | float, ...]:
        start = self.offset
        self._skip(form.size)
        return form.unpack_from(self.content, start)

    def _skip(self, num_bytes: int) -> None:
        if num_bytes > self.size - self.offset:
            self._refuse("it ends in the middle of its header")
        self.offset += num_bytes

    def _refuse(self, what: str) -> NoReturn:
        message = f"{self.path} is no readable GGUF file: {what} (at byte {self.offset})"
        raise WeightsError(message)
