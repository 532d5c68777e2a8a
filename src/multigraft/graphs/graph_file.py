"""The text of a graph file, and back: `graph.json`.

One node and one edge a line, so that two graphs can be compared line by line. What the file says of where the graph comes from (`about`) is free.
"""

import json
from collections.abc import Mapping
from typing import Final

from multigraft.errors import InputError
from multigraft.graphs.graph import SELECTORS, Graph, Node, NodeRole
from multigraft.graphs.json_text import line_of, parse
from multigraft.types import Json

SCHEMA: Final = "multigraft.graph"
VERSION: Final = 1
NOTHING_SAID: Final[Mapping[str, Json]] = {}

_FIELDS: Final = ("schema", "version", "nodes", "edges", "sink", "about")
_NODE_FIELDS: Final = ("id", "model", "role")
_EDGE_ENDS: Final = 2


def text_of(graph: Graph, *, about: Mapping[str, Json] = NOTHING_SAID) -> str:
    """Write a graph.

    Args:
        graph: any.
        about: what to remember of it, such as the method that found it, its scores and its costs; finite numbers only.

    Returns:
        JSON, ending in a line break; equal for equal arguments.
    """
    nodes = [_line(_node_fields(node)) for node in graph.nodes]
    edges = [_line(list(edge)) for edge in graph.edges]
    told = json.dumps(dict(about), ensure_ascii=False, allow_nan=False, indent=2).replace("\n", "\n  ")
    members = (
        f'"schema": {_line(SCHEMA)}',
        f'"version": {VERSION}',
        f'"nodes": {_list(nodes)}',
        f'"edges": {_list(edges)}',
        f'"sink": {_line(graph.sink)}',
        f'"about": {told}',
    )
    text = "{\n  " + ",\n  ".join(members) + "\n}\n"
    # Half of a surrogate pair, as broken model output has it, cannot be written to a file; as a JSON escape it can.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def graph_of(text: str, *, file: str | None = None) -> Graph:
    """Read a graph.

    Args:
        text: of a graph file. A node's `role` may be left out: `assistant`; so may `about`, and the model of a sink that chooses.
        file: where it comes from, for messages.

    Raises:
        InputError: names file, line and field of what does not fit.
    """
    return _Reader(text, file).graph()


def about_of(text: str, *, file: str | None = None) -> Mapping[str, Json]:
    """Read what a graph file says of where its graph comes from.

    Args:
        text: of a graph file.
        file: where it comes from, for messages.

    Raises:
        InputError: the file is no graph file. The graph itself is not looked at.
    """
    return _Reader(text, file).about()


class _Reader:
    """One file, and its mistakes."""

    def __init__(self, text: str, file: str | None) -> None:
        self._text, self._file = text, file
        value = parse(text, file=file)
        if not isinstance(value, dict):
            message = f"this is {_kind(value)}, no graph; a graph file is an object with {', '.join(_FIELDS)}"
            raise InputError(message, file=file, line=1)
        self._members = value
        schema, version = value.get("schema"), value.get("version")
        if schema != SCHEMA:
            raise self._mistake(field="schema", message=f"{_quoted(schema)} is no graph file; it must be '{SCHEMA}'")
        if isinstance(version, bool) or version != VERSION or not isinstance(version, int):
            raise self._mistake(field="version", message=f"{_quoted(version)} is not a version this program reads; it reads version {VERSION}")

    def graph(self) -> Graph:
        members = self._members
        for name in members:
            if name not in _FIELDS:
                raise self._mistake(field=name, message=f"there is no such field; a graph file has {', '.join(_FIELDS)}")
        nodes = tuple(self._node(f"nodes[{index}]", item) for index, item in enumerate(self._list("nodes")))
        edges = tuple(self._edge(f"edges[{index}]", item) for index, item in enumerate(self._list("edges")))
        sink = self._text_of("sink", members.get("sink"))
        self.about()
        try:
            return Graph(nodes, edges, sink)
        except InputError as error:
            field = error.field or "nodes"
            raise self._mistake(field=field, message=str(error).removeprefix(f"field '{field}': ")) from None

    def about(self) -> Mapping[str, Json]:
        value = self._members.get("about", {})
        if not isinstance(value, dict):
            raise self._mistake(field="about", message=f"this is {_kind(value)}; an object is needed")
        return value

    def _node(self, place: str, item: Json) -> Node:
        if not isinstance(item, dict):
            raise self._mistake(field=place, message=f'this is {_kind(item)}; a node is an object like {{"id": "a1", "model": "llama", "role": "assistant"}}')
        for name in item:
            if name not in _NODE_FIELDS:
                raise self._mistake(field=f"{place}.{name}", message=f"there is no such field; a node has {', '.join(_NODE_FIELDS)}")
        role_name = self._text_of(f"{place}.role", item.get("role", NodeRole.ASSISTANT.value))
        try:
            role = NodeRole(role_name)
        except ValueError:
            raise self._mistake(field=f"{place}.role", message=f"{_quoted(role_name)} is no role; choose one of {', '.join(NodeRole)}") from None
        model = item.get("model", "" if role in SELECTORS else None)
        return Node(self._text_of(f"{place}.id", item.get("id")), self._text_of(f"{place}.model", model), role)

    def _edge(self, place: str, item: Json) -> tuple[str, str]:
        if not isinstance(item, list) or len(item) != _EDGE_ENDS:
            raise self._mistake(field=place, message=f'{_quoted(item)} is no edge; an edge is a list of two node ids, such as ["a1", "sink"]')
        return self._text_of(f"{place}[0]", item[0]), self._text_of(f"{place}[1]", item[1])

    def _list(self, name: str) -> list[Json]:
        value = self._members.get(name)
        if not isinstance(value, list):
            raise self._mistake(field=name, message="a list is needed" if value is None else f"this is {_kind(value)}; a list is needed")
        return value

    def _text_of(self, place: str, value: Json) -> str:
        if not isinstance(value, str):
            raise self._mistake(field=place, message="it is missing; a text is needed" if value is None else f"this is {_kind(value)}; a text is needed")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self._mistake(field=place, message="it holds half of a surrogate pair, which is no character") from None
        return value

    def _mistake(self, *, field: str, message: str) -> InputError:
        return InputError(message, file=self._file, line=line_of(self._text, field), field=field if len(field) <= 80 else f"{field[:79]}\u2026")


def _node_fields(node: Node) -> dict[str, Json]:
    return {"id": node.node_id, **({} if node.selects else {"model": node.model}), "role": node.role.value}


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _list(lines: list[str]) -> str:
    return "[\n    " + ",\n    ".join(lines) + "\n  ]" if lines else "[]"


def _quoted(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"
