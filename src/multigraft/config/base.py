"""What all tables of a run file share, and how one is checked."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from multigraft.errors import InputError, boundary

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=1)]
TableT = TypeVar("TableT", bound=BaseModel)
Scalar = str | int | float | bool


class Table(BaseModel):
    """A table of the run file: unknown fields are refused, nothing is converted behind the user's back."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def read_run_file(path: Path) -> dict[str, object]:
    """Read a run file without checking it yet: the command line may still add to it.

    One that a folder keeps says with which version it was written; that is left out.

    Raises:
        InputError: it cannot be read, or is no TOML.
    """
    with boundary(InputError, f"reading {path}", OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {name: value for name, value in tomllib.loads(path.read_text("utf-8")).items() if name != "versions"}


def checked_table(table: type[TableT], settings: Mapping[str, object], place: str) -> TableT:
    """Check one table that stands inside a place whose settings are free.

    Args:
        table: its schema.
        settings: what it holds.
        place: where it stands, for messages.

    Raises:
        InputError: names the first field that does not fit.
    """
    return validated(table, settings, None, place)


def validated(table: type[TableT], settings: Mapping[str, object], file: str | None, place: str = "") -> TableT:
    """Check a table.

    Args:
        table: its schema.
        settings: what it holds.
        file: where they come from, for messages.
        place: where it stands, for messages.

    Raises:
        InputError: names the first field that does not fit, and how many more there are.
    """
    try:
        return table.model_validate(_tuples(settings))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # Names of branches of a choice, such as `literal['all']`, are no names of the file.
        location = [str(part) for part in first["loc"] if "[" not in str(part)]
        field = ".".join(part for part in (place, *location) if part) or None
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        given = "" if first["type"] in _WITHOUT_VALUE else f", not {first['input']!r}"
        message = f"{first['msg'].removeprefix('Value error, ')}{given}{more}"
        raise InputError(message, file=file, field=field) from error


_WITHOUT_VALUE = frozenset({"missing", "value_error", "extra_forbidden"})
"""Errors whose message leaves the value out: it adds nothing, and an unknown field may hold a key."""


def _tuples(value: object) -> object:
    """Make tuples of TOML's lists: the tables are frozen, and strict about types."""
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
