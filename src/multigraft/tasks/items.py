"""From a row to an item: its fields, the messages that ask it, and the prompt that comes of both."""

from collections.abc import Mapping
from string import ascii_uppercase

from multigraft.errors import InputError
from multigraft.prompting.places import fill, places
from multigraft.tasks.files import Row
from multigraft.tasks.options import Chosen
from multigraft.tasks.readers import read
from multigraft.tasks.schema import AskTable, TaskTable, ValueTable
from multigraft.tasks.strict_json import dump
from multigraft.types import Json, Message


def fields_of(row: Row, table: TaskTable, options: Chosen) -> Row:
    """Read the fields of an item.

    Args:
        row: as it stands in the source.
        table: of the task; one without `[fields]` keeps rows as they are.
        options: in force.

    Returns:
        The same place, with the fields by name; one that no column gives is missing.

    Raises:
        InputError: a field that the task needs is missing; names the place and the field.
    """
    if not table.fields:
        return row
    found: dict[str, Json] = {}
    for name, alternatives in table.fields.items():
        for alternative in alternatives:
            value = _value(row, alternative, options)
            if value is not None and value != "":
                found[name] = value
                break
    for name in (*sorted(table.ask.places), *table.needs):
        if name not in found:
            wanted = ", ".join(_named(alternative) for alternative in table.fields[name])
            has = ", ".join(sorted(row.values)) or "none"
            message = f"is missing; it comes from {wanted} (the row has: {has[:200]})"
            raise row.error(message, name)
    return Row(row.file, row.line, found)


def _named(alternative: str | ValueTable) -> str:
    if isinstance(alternative, str):
        return f"'{alternative}'"
    how = f", read as {alternative.read}" if alternative.read else ""
    return f"option {alternative.option}{how}" if alternative.option else f"'{alternative.column}'{how}"


def _value(row: Row, alternative: str | ValueTable, options: Chosen) -> Json:
    if isinstance(alternative, str):
        return _column(row.values, alternative)
    if alternative.option is not None:
        values = options.values[alternative.option]
        value: Json = values[0] if values else None
    else:
        value = _column(row.values, alternative.column or "")
    if value is None or alternative.read is None:
        return value
    try:
        return read(alternative.read, value, options.values)
    except InputError as error:
        raise row.error(str(error), alternative.option or alternative.column) from error


def _column(values: Mapping[str, Json], path: str) -> Json:
    if path in values:
        return values[path]
    value: Json = dict(values)
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def messages_of(item: Row, ask: AskTable, options: Chosen) -> tuple[Message, ...] | None:
    """Ask an item.

    Args:
        item: with its fields.
        ask: how.
        options: in force; `shots` is the number of worked examples.

    Returns:
        The messages; None where the row itself says how it is asked.

    Raises:
        InputError: a field that is shown is empty, or no text, number or list; names the place and the field.
    """
    if ask.answer is None:
        return None
    shown = {name: _shown(item, name) for name in ask.places}
    shots = options.values.get("shots", ())
    examples = ask.examples[: int(shots[0])] if shots else ask.examples
    texts = [] if ask.system is None else [("system", ask.system)]
    for turn in examples:
        texts += [("user", turn.user), ("assistant", turn.assistant)]
    return tuple(Message(role, fill(text, {name: shown[name] for name in places(text)})) for role, text in (*texts, ("user", ask.answer)))


def _shown(item: Row, name: str) -> str:
    value = item.values[name]
    if isinstance(value, list):
        return _lettered(item, name, value)
    text = value if isinstance(value, str) else dump(value)
    if not text.strip():
        message = "is empty"
        raise item.error(message, name)
    return text


def _lettered(item: Row, name: str, values: list[Json]) -> str:
    """Write choices, one a line, with their letters."""
    if not 1 <= len(values) <= len(ascii_uppercase):
        message = f"must hold 1 to {len(ascii_uppercase)} choices, not {len(values)}"
        raise item.error(message, name)
    return "\n".join(f"{letter}. {value if isinstance(value, str) else dump(value)}" for letter, value in zip(ascii_uppercase, values, strict=False))
