"""Docstrings taken apart: Google style for classes and functions, a text below the field for the tables of a run file."""

import ast
import inspect
import re
from collections.abc import Mapping
from typing import Any


def opening_of(thing: Any) -> str:
    """What a docstring says before its sections, in one line a paragraph."""
    doc = inspect.getdoc(thing) or ""
    before = re.split(r"^(?:Args|Raises|Returns|Yields|Source):$", doc, maxsplit=1, flags=re.MULTILINE)[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in before.strip().split("\n\n"))


def arguments_of(thing: Any) -> dict[str, str]:
    """The `Args:` of a docstring by name."""
    doc = inspect.getdoc(thing) or ""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)*)", doc, flags=re.MULTILINE)
    found: dict[str, str] = {}
    name = ""
    for line in section[1].splitlines() if section else []:
        start = re.fullmatch(r"    (\w+): (.*)", line)
        if start:
            name = start[1]
            found[name] = start[2]
        elif line.strip():
            found[name] += " " + line.strip()
    return found


def field_texts(module: Any) -> Mapping[str, Mapping[str, str]]:
    """The text below each field of each class of a module."""
    texts: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        texts[node.name] = {}
        for field, text in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                texts[node.name][field.target.id] = " ".join(str(text.value.value).split())
    return texts


def cell(text: object) -> str:
    """A text for one cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|")
