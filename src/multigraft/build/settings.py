"""A thing made of the settings a user wrote: their names are checked against what its constructor takes."""

import inspect
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args

from multigraft.errors import InputError, UnknownNameError

Thing = TypeVar("Thing")

NOT_FOR_USERS = frozenset({"name", "identity", "ask", "comparer", "endpoints", "judges", "baselines", "sandbox"})
"""Parameters that the run fills in; a run file cannot hold them."""
PLAIN: Mapping[object, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
"""What values of one kind are called in messages."""


def parameters_of(maker: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Return what a constructor takes, by name."""
    return inspect.signature(maker).parameters


def made(maker: Callable[..., Thing], place: str, settings: Mapping[str, Any], **filled: object) -> Thing:
    """Make a thing.

    Args:
        maker: its constructor.
        place: where its settings stand in the run file, for messages.
        settings: what the user wrote, by name.
        filled: what the run fills in.

    Raises:
        InputError: a setting without a default is missing, or one is a text where a number is wanted, and the like.
        UnknownNameError: a setting it does not have; names the nearest.
    """
    parameters = parameters_of(maker)
    open_ended = any(found.kind is inspect.Parameter.VAR_KEYWORD for found in parameters.values())
    for name, found in parameters.items():
        if found.default is inspect.Parameter.empty and found.kind is not inspect.Parameter.VAR_KEYWORD and name not in {*settings, *filled}:
            message = f"needs the setting '{name}'"
            raise InputError(message, field=place)
    free = parameters.keys() - filled.keys() - NOT_FOR_USERS
    for name in settings:
        if name not in free and not open_ended:
            what = f"setting of {place}:"
            raise UnknownNameError(what, name, free)
        if name in parameters:
            _refuse_other_type(settings[name], parameters[name].annotation, f"{place}.{name}")
    return maker(**{name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}, **filled)


def _refuse_other_type(value: object, annotation: object, place: str) -> None:
    wanted = set(get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)) - {NoneType}
    if not wanted <= PLAIN.keys():
        return  # a constructor checks by itself what is more than one plain value
    fits = type(value) in wanted or (type(value) is int and float in wanted)
    if not fits:
        message = f"must be {' or '.join(words for kind, words in PLAIN.items() if kind in wanted)}, not {value!r}"
        raise InputError(message, field=place)
