"""The generated parts of the reference, made of the program itself: `python -m tests.docs.reference` writes them anew.

A page holds hand-written text and, between `<!-- generated -->` and `<!-- end of generated -->`, what this file makes.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args, get_type_hints

import typer
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from tests.docs.blocks import ROOT
from tests.docs.docstrings import arguments_of, cell, field_texts, opening_of
from tests.docs.kinds import kind_of
from typer.models import ArgumentInfo, OptionInfo

from multigraft import config
from multigraft.build.rules import RULES
from multigraft.cli.main import app
from multigraft.rewards.combine import Combination
from multigraft.rewards.rules.ifeval.kinds import KINDS
from multigraft.rewards.table import REWARDS, reward_class
from multigraft.strategies.base import PlannedStrategy
from multigraft.strategies.table import STRATEGIES

BEGIN, END = "<!-- generated -->", "<!-- end of generated -->"
NOT_OF_THE_RUN_FILE = frozenset({"ask", "endpoints", "identity", "sandbox", "judges", "baselines", "faults", "parts", "how", "name", "num_responses"})
"""Arguments of constructors that a run file does not set as such."""


def command_line() -> str:
    """Every command with its arguments and options."""
    return "\n".join(line for name, command in commands(app, "multigraft") for line in command_lines(name, command))


def commands(group: typer.Typer, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for command in group.registered_commands:
        assert command.callback is not None
        yield f"{prefix} {command.name or command.callback.__name__}", command.callback
    for subgroup in group.registered_groups:
        assert subgroup.typer_instance is not None
        yield from commands(subgroup.typer_instance, f"{prefix} {subgroup.name}")


def command_lines(name: str, command: Callable[..., Any]) -> Iterator[str]:
    opening, _, example = opening_of(command).partition("\n\nExample: ")
    yield from (f"## {name}", "", opening, "")
    if example:
        yield from (f"Example: `{example}`", "")
    yield from ("| argument or option | value | default | meaning |", "| --- | --- | --- | --- |")
    hints = get_type_hints(command, include_extras=True)
    for parameter in inspect.signature(command).parameters.values():
        kind, info = get_args(hints[parameter.name])[:2]
        assert isinstance(info, ArgumentInfo | OptionInfo)
        spelt = ", ".join(f"`{option}`" for option in options_of(info)) if isinstance(info, OptionInfo) else f"`{parameter.name.upper()}`"
        required = parameter.default is inspect.Parameter.empty
        value = "" if kind is bool else kind_of(kind)
        default = "**required**" if required else "" if parameter.default in {None, False, True} else f"`{parameter.default}`"
        yield f"| {spelt} | {cell(value)} | {default} | {cell(info.help or '')} |"
    yield ""


def options_of(info: OptionInfo) -> tuple[str, ...]:
    """How an option is spelt; inside `Annotated` the first spelling stands where a default would."""
    first = (info.default,) if isinstance(info.default, str) else ()
    return (*first, *(info.param_decls or ()))


def run_file() -> str:
    """Every table of a run file with its fields."""
    return "\n".join(line for heading, table in tables(config.RunFile, "") for line in table_lines(heading, table))


def tables(table: type[BaseModel], path: str) -> Iterator[tuple[str, type[BaseModel]]]:
    """The tables below this one, each under the heading it has in a run file."""
    yield path, table
    for name, field in table.model_fields.items():
        for inner, many in inner_tables(field.annotation):
            below = f"{path}.{name}" if path else name
            yield from tables(inner, f"{below}[]" if many else below)


def inner_tables(annotation: Any) -> Iterator[tuple[type[BaseModel], bool]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, False
        return
    many = getattr(annotation, "__origin__", None) is tuple
    for argument in get_args(annotation):
        yield from ((inner, many or repeated) for inner, repeated in inner_tables(argument))


def table_lines(path: str, table: type[BaseModel]) -> Iterator[str]:
    texts = {name: texts for module in (config.base, config.models, config.optimize, config.run_file) for name, texts in field_texts(module).items()}
    heading = f"[{path}]" if "[]" not in path else f"[[{path.removesuffix('[]').replace('[]', '')}]]" if path.endswith("[]") else f"[{path.replace('[]', '')}]"
    yield from (f"## `{heading}`" if path else "## At the top", "", opening_of(table), "")
    yield from ("| field | value | default | meaning |", "| --- | --- | --- | --- |")
    for name, field in table.model_fields.items():
        if any(True for _ in inner_tables(field.annotation)) and not texts_of(texts, table).get(name):
            continue
        default = field.get_default(call_default_factory=True)
        said = "**required**" if default is PydanticUndefined else "" if default is None or default in ((), {}) else f"`{toml(default)}`"
        if isinstance(default, BaseModel) or (isinstance(default, tuple) and default and isinstance(default[0], BaseModel)):
            said = ""
        yield f"| `{name}` | {cell(kind_of(field.annotation, field.metadata))} | {said} | {cell(texts_of(texts, table).get(name, ''))} |"
    yield ""


def texts_of(texts: Mapping[str, Mapping[str, str]], table: type[BaseModel]) -> dict[str, str]:
    return {name: text for base in reversed(table.__mro__) for name, text in texts.get(base.__name__, {}).items()}


def strategies() -> str:
    """Every strategy with its settings."""
    lines = ["## Settings of every strategy", "", *setting_lines(PlannedStrategy, {})]
    common = {field.name: field.default for field in fields(PlannedStrategy)}
    for name, strategy in STRATEGIES.items():
        lines += [f"## {name}", "", opening_of(sys.modules[strategy.__module__]).split("\n\n")[0], "", opening_of(strategy), ""]
        lines += setting_lines(strategy, common)
    return "\n".join(lines)


def setting_lines(strategy: type, common: Mapping[str, object]) -> Iterator[str]:
    hints, arguments = get_type_hints(strategy), arguments_of(strategy)
    own = [
        field
        for field in fields(strategy)
        if field.init and field.name not in NOT_OF_THE_RUN_FILE and (field.name not in common or field.default != common[field.name])
    ]
    if not own:
        yield from ("No settings of its own.", "")
        return
    yield from ("| setting | value | default | meaning |", "| --- | --- | --- | --- |")
    for field in own:
        assert field.default is not MISSING
        default = "" if field.default is None else f"`{toml(field.default)}`"
        yield f"| `{field.name}` | {cell(kind_of(hints[field.name]))} | {default} | {cell(arguments[field.name])} |"
    yield ""


def rewards() -> str:
    """Every kind of reward, and every rule, with its settings."""
    lines: list[str] = []
    for kind in REWARDS:
        reward = reward_class(kind)
        lines += [f"## {kind}", "", opening_of(reward), "", *argument_lines(reward)]
    lines += ["## Rules of the kind `rules`", ""]
    for name, rule in RULES.items():
        lines += [f"### {name}", "", opening_of(rule), "", *argument_lines(rule)]
    lines += ["## Combining", "", opening_of(Combination), ""]
    return "\n".join(lines)


def argument_lines(made: Callable[..., Any]) -> Iterator[str]:
    arguments = arguments_of(made)
    signature = inspect.signature(made)
    named = [parameter for parameter in signature.parameters.values() if parameter.name not in NOT_OF_THE_RUN_FILE and parameter.name in arguments]
    if not named:
        return
    yield from ("| setting | default | meaning |", "| --- | --- | --- |")
    for parameter in named:
        plain = isinstance(parameter.default, str | int | float | bool | tuple) and len(str(parameter.default)) < 60
        required = parameter.default is inspect.Parameter.empty
        default = "**required**" if required else f"`{toml(parameter.default)}`" if plain and is_plain(parameter.default) else ""
        yield f"| `{parameter.name}` | {default} | {cell(arguments[parameter.name])} |"
    yield ""


def is_plain(value: object) -> bool:
    return all(isinstance(item, str | int | float) for item in value) if isinstance(value, tuple) else True


def toml(value: object) -> str:
    """A default as a run file would write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(toml(item) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def constraints() -> str:
    """Every kind of constraint with its arguments."""
    lines = ["| kind | arguments | what holds |", "| --- | --- | --- |"]
    for name, kind in KINDS.items():
        arguments = ", ".join(f"`{argument}`" for argument in kind.parameters)
        lines.append(f"| `{name}` | {arguments} | {cell(opening_of(kind.check))} |")
    return "\n".join(lines)


GENERATED: Mapping[str, Callable[[], str]] = {
    "command-line.md": command_line,
    "run-file.md": run_file,
    "strategies.md": strategies,
    "rewards.md": rewards,
    "prompts.md": constraints,
}


def renewed(page: str, made: str) -> str:
    """The page with its generated part put in anew."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    assert pattern.search(page), f"the page lacks {BEGIN}"
    return pattern.sub(lambda _: f"{BEGIN}\n\n{made.strip()}\n\n{END}", page)


if __name__ == "__main__":
    for name, make in GENERATED.items():
        path = ROOT / "docs" / "reference" / name
        path.write_text(renewed(path.read_text("utf-8"), make()), "utf-8")
