"""Graphs of well-known shapes, from what is typed."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from multigraft.errors import InputError, UnknownNameError
from multigraft.graphs import blocks
from multigraft.graphs.graph import SELECTORS, SINK, Graph, Node

_TIMES: Final = re.compile(r"([1-9][0-9]*)x(.+)")
_FLAT: Final[Mapping[str, Callable[[Sequence[str], Node], Graph]]] = {"parallel": blocks.parallel, "chain": blocks.chain}
MOST_AGENTS: Final = 1000
SHAPES: Final = ("single", *_FLAT, "grid", "moa")


def made(shape: str, models: str, sink: str, width: int | None, depth: int | None) -> Graph:
    """Make a graph.

    Args:
        shape: one of `SHAPES`.
        models: of the agents, separated by commas; `3xNAME` is NAME three times; layers separated by `/`.
        sink: its model, or `vote` or `best`.
        width: of a grid; None: not said.
        depth: of a grid; None: not said.

    Raises:
        UnknownNameError: there is no such shape.
        InputError: something that the shape needs is missing, or something else is not needed; or there would be more than `MOST_AGENTS` agents.
    """
    if shape not in SHAPES:
        what = "shape"
        raise UnknownNameError(what, shape, SHAPES)
    if (shape == "grid") != (width is not None and depth is not None) or (shape != "grid" and (width or depth)):
        message = "a grid needs --width and --depth" if shape == "grid" else f"--width and --depth belong to a grid; those of '{shape}' follow from its models"
        raise InputError(message, field="--width")
    end = _sink(sink)
    if shape == "single":
        if models:
            message = "a single model is the sink alone; name it with --sink"
            raise InputError(message, field="--models")
        return blocks.single(end)
    if shape == "moa":
        layers = [_named(layer) for layer in models.split("/")]
        _refuse_too_many(sum(map(len, layers)), "--models")
        return blocks.moa(layers, end)
    names = _named(models)
    if width is not None and depth is not None:
        _refuse_too_many(width * depth, "--width")
        return blocks.grid(width, depth, names, end)
    _refuse_too_many(len(names), "--models")
    return _FLAT[shape](names, end)


def _sink(text: str) -> Node:
    role = next((role for role in SELECTORS if role.value == text), None)
    return Node(SINK, text) if role is None else Node(SINK, "", role)


def _named(text: str) -> list[str]:
    names: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        times = _TIMES.fullmatch(word)
        if times is not None and len(times[1]) > len(str(MOST_AGENTS)):
            _refuse_too_many(times[1], "--models")
        names += [word] if times is None else [times[2].strip()] * int(times[1])
    if not all(names):
        message = f"'{text}' does not name the agents' models; write them like small,small,large or 2xsmall,large"
        raise InputError(message, field="--models")
    return names


def _refuse_too_many(agents: int | str, field: str) -> None:
    """Refuse what would take ages to lay out; a number too long to be read comes as it was typed, and is too large."""
    if isinstance(agents, str) or agents > MOST_AGENTS:
        message = f"those would be {agents if isinstance(agents, str) else f'{agents:,}'} agents; a graph has {MOST_AGENTS:,} at most"
        raise InputError(message, field=field)
