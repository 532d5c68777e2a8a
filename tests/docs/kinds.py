"""Types in words, for people who write a run file or a flag."""

import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

WORDS = {str: "text", int: "integer", float: "number", bool: "true or false", Path: "path", object: "anything"}
BOUNDS = (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below"))


def kind_of(annotation: Any, metadata: Any = ()) -> str:
    """Say what values fit an annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return kind_of(arguments[0], [*arguments[1:], *metadata])
    if origin in {Union, types.UnionType}:
        words = [kind_of(argument, metadata) for argument in arguments if argument is not type(None)]
        return " or ".join(dict.fromkeys(words))
    if origin is Literal:
        return ", ".join(f"`{argument}`" for argument in arguments)
    if origin in {tuple, list}:
        return f"list of {kind_of(arguments[0])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    if annotation in WORDS:
        return ", ".join([WORDS[annotation], *bounds_of(metadata)])
    return "table"


def bounds_of(metadata: Any) -> list[str]:
    constraints = [inner for item in metadata for inner in (item, *getattr(item, "metadata", ()))]
    return [f"{word} {getattr(item, name)}" for item in constraints for name, word in BOUNDS if getattr(item, name, None) is not None]
