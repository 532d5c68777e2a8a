"""Prompts from a file: what a row may hold, and one error that names file, line and field when it holds something else."""

from collections.abc import Callable, Sequence
from itertools import islice
from math import isfinite
from operator import is_
from pathlib import Path
from typing import TypeAlias

from multigraft.errors import InputError
from multigraft.tasks.files import Row, read_rows
from multigraft.tasks.identity import content_hash, number_equals
from multigraft.tasks.strict_json import StrictJsonError, parse
from multigraft.tasks.text import without_surrogates
from multigraft.types import Constraint, Json, Message, Prompt

CheckConstraints: TypeAlias = Callable[[Sequence[Constraint]], None]
"""Raises `InputError` for constraints that cannot be checked."""

NORMALISED = "multigraft_normalised"
"""Field that is true in a prompt whose texts held half a surrogate pair, which became U+FFFD."""

_ROLES = ("system", "user", "assistant")
_SOURCES = ("messages", "prompt", "instruction")
_LISTS = ("messages", "instruction_id_list", "kwargs")
"""May be given as JSON text."""
_MAX_DEPTH = 64
"""Deeper nesting than any prompt file has, and shallow enough for every reader of the record and the datasets."""
_LEAST, _MOST = -(2**63), 2**63 - 1


def load_prompts(
    path: Path,
    limit: int | None = None,
    check_constraints: CheckConstraints | None = None,
    note: Callable[[str], None] | None = None,
) -> list[Prompt]:
    """Read the prompts of a file.

    A row holds one of `prompt` (a text, or a list of messages), `instruction` (with an optional `input`, which follows after an empty line) and `messages`
    (a list of `role` and `content`, the user's last). It may hold `id`, `reference` (a text or a number), and constraints in the IFEval format:
    `instruction_id_list` and `kwargs`, lists of equal length. Lists may also be given as JSON text, as a CSV has to. All further fields travel along.

    Args:
        path: JSONL (`.jsonl`, `.ndjson`), CSV or Parquet.
        limit: only so many rows from the beginning; >= 1.
        check_constraints: told the constraints of each row that has some.
        note: told, once, how many prompts held half a surrogate pair; those became U+FFFD, as no request could carry them.

    Returns:
        At least one prompt, in the order of the file.

    Raises:
        InputError: for the first bad row, or when there is no row.
    """
    if limit is not None and limit < 1:
        message = f"limit must be at least 1, not {limit}"
        raise InputError(message, field="limit")
    prompts = list(islice((checked_prompt(row, None, check_constraints) for row in read_rows(path)), limit))
    if not prompts:
        message = "no prompt in it"
        raise InputError(message, file=str(path))
    return numbered(prompts, str(path), note)


def numbered(prompts: list[Prompt], origin: str, note: Callable[[str], None] | None) -> list[Prompt]:
    """Give equal prompts their ordinals, and say how many texts were changed.

    Args:
        prompts: as read, in order.
        origin: where they come from, for the note.
        note: see `load_prompts`.

    Returns:
        The same list.
    """
    number_equals(prompts)
    changed = sum(NORMALISED in prompt.fields for prompt in prompts)
    if changed and note is not None:
        note(f"{origin}: {changed} prompt(s) held half a surrogate pair, which no UTF-8 text can carry; U+FFFD stands in its place")
    return prompts


def checked_prompt(row: Row, messages: Sequence[Message] | None, check_constraints: CheckConstraints | None) -> Prompt:
    """Read one row, and check its constraints.

    Raises:
        InputError: names the place and the field.
    """
    prompt = prompt_of(row, messages)
    if check_constraints is not None and prompt.constraints:
        try:
            check_constraints(prompt.constraints)
        except InputError as error:
            field = error.field or "instruction_id_list"
            raise row.error(str(error).removeprefix(f"field '{error.field}': "), field) from error
    return prompt


def prompt_of(row: Row, messages: Sequence[Message] | None = None) -> Prompt:
    """Read one row.

    Args:
        row: with its place.
        messages: how it is asked; None: as the row itself says.

    Returns:
        The prompt, numbered 0 among its equals.

    Raises:
        InputError: names the place and the field.
    """
    fields: dict[str, Json] = {}
    normalised = False
    for column, value in row.values.items():
        given = _listed_text(value, row, column) if column in _LISTS and isinstance(value, str) else value
        key, kept = without_surrogates(column), _clean(given, row, column)
        normalised |= kept is not given or key is not column
        fields[key] = kept
    asked = _messages(fields, row) if messages is None else tuple(Message(turn.role, without_surrogates(turn.content)) for turn in messages)
    name = _scalar_text(fields.pop("id", None), row, "id")
    reference = _scalar_text(fields.pop("reference", None), row, "reference")
    constraints = _constraints(fields, row)
    if normalised:
        fields[NORMALISED] = True
    digest = content_hash(asked, reference, constraints)
    return Prompt(f"{digest}-0", asked, name, reference, constraints, fields)


def _clean(value: Json, row: Row, field: str, depth: int = 0) -> Json:
    """Refuse what cannot be stored, and replace what cannot be written as UTF-8; the same object when nothing was replaced."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, int):
        if not _LEAST <= value <= _MOST:
            message = f"{str(value)[:30]} does not fit 64 bits; write it as a text"
            raise row.error(message, field)
        return value
    if isinstance(value, float):
        if not isfinite(value):
            message = f"{value} is no number that JSON can carry; use null"
            raise row.error(message, field)
        return value
    if depth == _MAX_DEPTH:
        message = f"nested deeper than {_MAX_DEPTH} levels"
        raise row.error(message, field)
    if isinstance(value, list):
        items = [_clean(item, row, field, depth + 1) for item in value]
        return value if all(map(is_, items, value)) else items
    cleaned = {without_surrogates(name): _clean(item, row, field, depth + 1) for name, item in value.items()}
    same = all(map(is_, cleaned.values(), value.values())) and all(map(is_, cleaned, value))
    return value if same else cleaned


def _kind(value: Json) -> str:
    names = {type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}
    return names[type(value)]


def _messages(fields: dict[str, Json], row: Row) -> tuple[Message, ...]:
    found = [source for source in _SOURCES if fields.get(source) is not None]
    if not found:
        has = ", ".join(sorted(fields)) or "none"
        message = f"a row needs one of 'prompt', 'instruction' and 'messages' (it has the fields: {has[:200]})"
        raise row.error(message, "prompt")
    if len(found) > 1:
        message = f"a row holds only one of 'prompt', 'instruction' and 'messages', this has '{found[0]}' and '{found[1]}'"
        raise row.error(message, found[0])
    source = found[0]
    value = fields[source]
    for name in _SOURCES:
        fields.pop(name, None)
    if source == "messages" or (source == "prompt" and isinstance(value, list)):
        return _conversation(_listed(value, row, source), row, source)
    text = _visible(value, row, source)
    if source == "instruction" and "input" in fields:
        context = fields.pop("input")
        if context is not None and not isinstance(context, str):
            message = f"must be a text, not {_kind(context)}"
            raise row.error(message, "input")
        if context is not None and context.strip():
            text = f"{text}\n\n{context}"
    return (Message("user", text),)


def _visible(value: Json, row: Row, field: str) -> str:
    if not isinstance(value, str):
        message = f"must be a text, not {_kind(value)}"
        raise row.error(message, field)
    if not value.strip():
        message = "is empty"
        raise row.error(message, field)
    return value


def _listed_text(text: str, row: Row, field: str) -> Json:
    if not text.strip():
        return None
    try:
        return parse(text)
    except StrictJsonError as error:
        message = f"must be a list, and as a text it is no JSON ({error})"
        raise row.error(message, field) from None


def _listed(value: Json, row: Row, field: str) -> list[Json]:
    if not isinstance(value, list):
        message = f"must be a list, not {_kind(value)}"
        raise row.error(message, field)
    return value


def _conversation(turns: list[Json], row: Row, field: str) -> tuple[Message, ...]:
    if not turns:
        message = "holds no message"
        raise row.error(message, field)
    messages: list[Message] = []
    for index, turn in enumerate(turns):
        place = f"{field}[{index}]"
        if not isinstance(turn, dict):
            message = f"must be an object with 'role' and 'content', not {_kind(turn)}"
            raise row.error(message, place)
        role = turn.get("role")
        if role not in _ROLES:
            message = f"unknown role {str(role)[:40]!r}; known: {', '.join(_ROLES)}"
            raise row.error(message, f"{place}.role")
        messages.append(Message(str(role), _visible(turn.get("content"), row, f"{place}.content")))
    if messages[-1].role != "user":
        message = f"the last message must be the user's, not the {messages[-1].role}'s"
        raise row.error(message, f"{field}[{len(turns) - 1}].role")
    return tuple(messages)


def _scalar_text(value: Json, row: Row, field: str) -> str | None:
    """Read a text or a number; nothing and an empty text are None, and 42.0 is 42 (tables with gaps turn integers into floats)."""
    if value is None or isinstance(value, str):
        return value if value and value.strip() else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"must be a text or a number, not {_kind(value)}"
        raise row.error(message, field)
    return str(_whole(value))


def _whole(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value


def _constraints(fields: dict[str, Json], row: Row) -> tuple[Constraint, ...]:
    kinds, arguments = fields.pop("instruction_id_list", None), fields.pop("kwargs", None)
    if kinds is None and arguments is None:
        return ()
    for value, field in ((kinds, "instruction_id_list"), (arguments, "kwargs")):
        if value is None:
            message = "is missing; 'instruction_id_list' and 'kwargs' come together (a constraint without arguments has {})"
            raise row.error(message, field)
    listed, given = _listed(kinds, row, "instruction_id_list"), _listed(arguments, row, "kwargs")
    if len(listed) != len(given):
        message = f"has {len(given)} entries for {len(listed)} in 'instruction_id_list'"
        raise row.error(message, "kwargs")
    return tuple(_constraint(kind, given[index], index, row) for index, kind in enumerate(listed))


def _constraint(kind: Json, arguments: Json, index: int, row: Row) -> Constraint:
    if not isinstance(kind, str) or not kind.strip():
        message = f"must be the name of a constraint, not {_kind(kind) if not isinstance(kind, str) else 'an empty text'}"
        raise row.error(message, f"instruction_id_list[{index}]")
    if arguments is not None and not isinstance(arguments, dict):
        message = f"must be an object, not {_kind(arguments)}"
        raise row.error(message, f"kwargs[{index}]")
    # Tables carry every argument's name in every row, with null where it does not belong.
    kept = {name: _whole(value) for name, value in (arguments or {}).items() if value is not None}
    return Constraint(kind, kept)
