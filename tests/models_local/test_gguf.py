import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multigraft.errors import WeightsError
from multigraft.models.local.gguf import has_chat_template, read_metadata, trained_context_tokens


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def array(kind: int, items: list[bytes]) -> bytes:
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def gguf(pairs: list[tuple[str, int, bytes]], *, magic: bytes = b"GGUF", version: int = 3, claimed: int | None = None) -> bytes:
    head = magic + struct.pack("<IQQ", version, 7, len(pairs) if claimed is None else claimed)
    return head + b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in pairs)


PAIRS = [
    ("general.architecture", 8, text("llama")),
    ("llama.context_length", 4, struct.pack("<I", 8192)),
    ("llama.rope.freq_base", 6, struct.pack("<f", 0.5)),
    ("a.small", 1, struct.pack("<b", -3)),
    ("a.wide", 11, struct.pack("<q", -(2**40))),
    ("a.flag", 7, b"\x01"),
    ("a.heads", 9, array(5, [struct.pack("<i", n) for n in (4, -4)])),
    ("a.tags", 9, array(8, [text("x"), text("né")])),
    ("tokenizer.ggml.tokens", 9, array(8, [text("t")] * 1025)),
    ("tokenizer.ggml.scores", 9, array(12, [struct.pack("<d", 1.0)] * 2000)),
    ("tokenizer.chat_template", 8, text("{{ messages }}")),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tiny.gguf"


@pytest.mark.parametrize("version", [2, 3])
def test_every_kind_of_value(path: Path, version: int) -> None:
    path.write_bytes(gguf(PAIRS, version=version) + b"tensors follow")
    metadata = read_metadata(path)
    assert metadata == {
        "general.architecture": "llama",
        "llama.context_length": 8192,
        "llama.rope.freq_base": 0.5,
        "a.small": -3,
        "a.wide": -(2**40),
        "a.flag": True,
        "a.heads": [4, -4],
        "a.tags": ["x", "né"],
        "tokenizer.ggml.tokens": {"length": 1025},
        "tokenizer.ggml.scores": {"length": 2000},
        "tokenizer.chat_template": "{{ messages }}",
    }
    assert has_chat_template(metadata)
    assert trained_context_tokens(metadata) == 8192
    assert not has_chat_template({})
    assert trained_context_tokens({}) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "only 0 bytes long"),
        (b"GGUF", "only 4 bytes long"),
        (gguf([], magic=b"FUGG"), "begins with b'FUGG'"),
        (gguf([], version=1), "version 1 is unknown"),
        (gguf([], claimed=2**63), "claims 9223372036854775808 keys"),
        (gguf([], claimed=1), "ends in the middle"),
        (gguf([("a", 13, b"")]), "value type 13 is unknown"),
        (gguf([("a", 4, b"\0\0\0\0")] * 2), "key 'a' comes twice"),
        (gguf([("a", 8, struct.pack("<Q", 2**64 - 1))]), "a text claims 18446744073709551615 bytes"),
        (gguf([("k" * 65_536, 4, b"\0\0\0\0")]), "a text claims 65536 bytes"),
        (gguf([("a", 9, struct.pack("<IQ", 4, 2**62) + bytes(64))]), "an array claims 4611686018427387904 items"),
        (gguf([("a", 9, struct.pack("<IQ", 9, 1) + bytes(64))]), "arrays of type 9 are unknown"),
        (gguf([("a", 9, struct.pack("<IQ", 8, 2000) + struct.pack("<Q", 2**40) + bytes(16_000))]), "ends in the middle"),
    ],
)
def test_what_is_not_well_formed_is_refused(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=message):
        read_metadata(path)


def test_a_missing_file_is_named(path: Path) -> None:
    with pytest.raises(WeightsError, match=r"reading .*tiny\.gguf: .*No such file"):
        read_metadata(path)


WELL_FORMED = gguf(PAIRS)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(offset=st.integers(0, len(WELL_FORMED) - 1), noise=st.binary(min_size=1, max_size=12), end=st.integers(0, len(WELL_FORMED)))
def test_no_garbage_does_more_than_be_refused(path: Path, offset: int, noise: bytes, end: int) -> None:
    path.write_bytes((WELL_FORMED[:offset] + noise + WELL_FORMED[offset + len(noise) :])[:end])
    try:
        metadata = read_metadata(path)
    except WeightsError:
        return
    # Whatever is accepted has bounded size: nothing was invented beyond the bytes of the file.
    assert len(str(metadata)) < 20 * len(WELL_FORMED)
