"""Settings of a strategy as a run file or a command line gives them."""

import math
import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from multigraft.errors import InputError, UnknownNameError

_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "none": None}


def parse_setting(text: str) -> tuple[str, object]:
    """Read `name=value`: an integer, a float, true, false, none, or a string (in quotes, if it looks like one of the others).

    Args:
        text: such as `tau=0.1`.

    Raises:
        InputError: there is no name or no `=`.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not name or not equals:
        message = f"'{text}' is no setting; write name=value, such as tau=0.1"
        raise InputError(message)
    return name, _parsed(value)


def checked_settings(strategy: str, settings_class: type, settings: Mapping[str, object], *, kind: str = "strategy") -> dict[str, object]:
    """Check names and types of settings against the fields of a strategy's dataclass; integers are taken for floats.

    Args:
        strategy: its name, for the message.
        settings_class: its class, a dataclass.
        settings: what was given.
        kind: of thing it is, for the message.

    Raises:
        InputError: a setting the strategy does not have, or of the wrong type; the message names it and those there are.
    """
    hints = get_type_hints(settings_class)
    known = [item.name for item in fields(settings_class) if item.init]
    checked: dict[str, object] = {}
    for name, value in settings.items():
        if name not in known:
            raise UnknownNameError(what=f"setting of {kind} '{strategy}'", name=name, known=known)
        fitted = _fitted(value, hints[name])
        if fitted is _MISFIT:
            message = f"setting {name} of {kind} '{strategy}' must be {_described(hints[name])}, not {value!r}. Known settings: {', '.join(sorted(known))}."
            raise InputError(message)
        checked[name] = fitted
    return checked


_MISFIT = object()


def _parsed(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _fitted(value: object, hint: Any) -> object:  # noqa: ANN401 - a type hint has no type of its own
    if get_origin(hint) in {Union, types.UnionType}:
        return next((fitted for option in get_args(hint) if (fitted := _fitted(value, option)) is not _MISFIT), _MISFIT)
    if get_origin(hint) is Literal:
        return value if any(type(value) is type(option) and value == option for option in get_args(hint)) else _MISFIT
    if hint is float and type(value) in {int, float}:
        number = float(value)  # type: ignore[arg-type]  # its type was checked just now
        return number if math.isfinite(number) else _MISFIT
    return value if type(value) is hint else _MISFIT


def _described(hint: Any) -> str:  # noqa: ANN401 - as above
    if get_origin(hint) in {Union, types.UnionType}:
        return " or ".join(_described(option) for option in get_args(hint))
    if get_origin(hint) is Literal:
        return " or ".join(repr(option) for option in get_args(hint))
    names = {int: "an integer", float: "a finite number", bool: "true or false", str: "a string", type(None): "none"}
    return names.get(hint, str(hint))
