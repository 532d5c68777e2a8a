"""What a user chose of a task's options: read, checked, and applied to items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from multigraft.errors import InputError, UnknownNameError
from multigraft.tasks.schema import OptionTable, Scalar
from multigraft.types import Json

Given: TypeAlias = Mapping[str, Scalar | Sequence[Scalar]]
"""As from a run file or `--task-option`: texts, integers, lists of them."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options in force."""

    values: Mapping[str, tuple[Scalar, ...]]
    """Every option of the task; no value where it has no effect."""
    by_the_user: frozenset[str]
    """Those that the user gave, and not a default."""


def chosen(tables: Mapping[str, OptionTable], given: Given) -> Chosen:
    """Read what a user gave.

    Args:
        tables: options of the task, by name.
        given: by name; texts are read as the option says.

    Raises:
        UnknownNameError: the task has no such option.
        InputError: a value that does not fit; names the option.
    """
    for name in given:
        if name not in tables:
            if not tables:
                message = "this task has no options"
                raise InputError(message, field=name)
            what = "option of the task"
            raise UnknownNameError(what, name, tables)
    values = {name: _values(name, table, given[name]) if name in given else _default(table) for name, table in tables.items()}
    return Chosen(values, frozenset(given))


def _default(table: OptionTable) -> tuple[Scalar, ...]:
    return () if table.default is None else (table.default,)


def _values(name: str, table: OptionTable, given: Scalar | Sequence[Scalar]) -> tuple[Scalar, ...]:
    listed: Sequence[Scalar] = (given,) if isinstance(given, str | int) else tuple(given)
    if table.many:
        listed = [part.strip() if isinstance(part, str) else part for item in listed for part in (item.split(",") if isinstance(item, str) else (item,))]
    read = tuple(_value(name, table, item) for item in listed)
    if not read or (len(read) > 1 and not table.many):
        message = f"takes {'at least one value' if table.many else 'one value'}, not {given!r}"
        raise InputError(message, field=name)
    return read


def _value(name: str, table: OptionTable, item: Scalar) -> Scalar:
    value: Scalar = item
    if isinstance(item, bool):
        message = f"takes {table.kind}, not {item!r}"
        raise InputError(message, field=name)
    if table.kind == "integer" and isinstance(item, str):
        try:
            value = int(item)
        except ValueError:
            message = f"takes an integer, not '{item}'"
            raise InputError(message, field=name) from None
    elif table.kind == "text":
        value = str(item)
        if not value:
            message = "takes a text, not an empty one"
            raise InputError(message, field=name)
    if table.values and value not in table.values:
        known = ", ".join(map(str, table.values))
        message = f"takes {known}; not {value!r}"
        raise InputError(message, field=name)
    if table.minimum is not None and isinstance(value, int) and value < table.minimum:
        message = f"must be at least {table.minimum}, not {value}"
        raise InputError(message, field=name)
    return value


@dataclass(frozen=True, slots=True)
class Filter:
    """Which items an option keeps."""

    option: str
    field: str
    values: frozenset[str]
    asked_for: bool
    """By the user: an item without the field is then a mistake, and is kept otherwise."""

    def keeps(self, fields: Mapping[str, Json]) -> bool:
        """Tell whether an item stays.

        Raises:
            InputError: it lacks the field, and the user asked for the filter.
        """
        value = fields.get(self.field)
        if value is None:
            if self.asked_for:
                message = f"the option chooses by '{self.field}', which this item does not have"
                raise InputError(message, field=self.option)
            return True
        return str(value).casefold() in self.values


def filters_of(tables: Mapping[str, OptionTable], options: Chosen) -> tuple[Filter, ...]:
    """Make the filters of the options in force."""
    found: list[Filter] = []
    for name, table in tables.items():
        values, asked = options.values[name], name in options.by_the_user
        if table.field is not None and values:
            found.append(Filter(name, table.field, _folded(values), asked))
        found += [
            Filter(name, field, _folded(wanted), asked) for value in values for field, wanted in table.keep.get(str(value), {}).items()
        ]  # fmt: skip
    return tuple(found)


def _folded(values: Sequence[Scalar]) -> frozenset[str]:
    """Tables write `False` and `false`, and subjects in either case."""
    return frozenset(str(value).casefold() for value in values)


def options_of(words: Sequence[str]) -> dict[str, str]:
    """Read options as a command line gives them.

    Args:
        words: each `NAME=VALUE`; several values of one option are separated by commas.

    Raises:
        InputError: a word without `=`, or an option given twice.
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            message = f"write it as NAME=VALUE, not '{word}'"
            raise InputError(message, field="--task-option")
        if name in found:
            message = f"'{name}' is given twice; separate its values by commas"
            raise InputError(message, field="--task-option")
        found[name] = value
    return found
