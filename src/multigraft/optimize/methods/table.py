"""Search methods by name. One of your own is found through the entry point group `multigraft.methods`."""

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final, cast

from multigraft.errors import InputError, MultigraftError, UnknownNameError
from multigraft.optimize.problem import Method
from multigraft.strategies.settings import checked_settings

ENTRY_POINT_GROUP: Final = "multigraft.methods"

METHODS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "agent_reinforce": "multigraft.optimize.methods.agent_reinforce:AgentReinforce",
        "bayes": "multigraft.optimize.methods.bayes:Bayes",
        "exhaustive": "multigraft.optimize.methods.exhaustive:Exhaustive",
        "maao": "multigraft.optimize.methods.maao:Maao",
        "random": "multigraft.optimize.methods.random_graphs:RandomGraphs",
        "reinforce": "multigraft.optimize.methods.reinforce:Reinforce",
        "surrogate": "multigraft.optimize.methods.surrogate:Surrogate",
        "textgrad": "multigraft.optimize.methods.textgrad:TextGrad",
    }
)
"""Module and class by name; loaded when asked for, as some need libraries that come with an extra."""


def method_named(name: str) -> type[Method]:
    """Look a method up: in the table, then among the entry points of installed packages.

    Args:
        name: such as `reinforce`.

    Raises:
        UnknownNameError: there is none of this name.
        InputError: an entry point of this name is no method.
        MultigraftError: a library it needs is not installed; says which extra brings it.
    """
    loaded: object
    if name in METHODS:
        module, _, attribute = METHODS[name].partition(":")
        try:
            loaded = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("multigraft"):
                raise
            message = f"method '{name}' needs {error.name}: pip install 'multigraft[optimize]'"
            raise MultigraftError(message) from error
    else:
        from importlib.metadata import entry_points  # noqa: PLC0415 - takes 20 ms, and is needed on a miss only

        found = entry_points(group=ENTRY_POINT_GROUP)
        if name not in found.names:
            raise UnknownNameError(what="method", name=name, known={*METHODS, *found.names})
        loaded = found[name].load()
    if not (isinstance(loaded, type) and is_dataclass(loaded) and callable(getattr(loaded, "search", None)) and hasattr(loaded, "consults")):
        message = f"entry point '{name}' of group {ENTRY_POINT_GROUP} must name a dataclass with `consults` and `search`, as multigraft.optimize.problem.Method"
        raise InputError(message)
    return cast("type[Method]", loaded)


def method_from(name: str, settings: Mapping[str, object]) -> Method:
    """Build a method.

    Args:
        name: such as `reinforce`.
        settings: by name; those left out keep their defaults.

    Raises:
        UnknownNameError: no method, or no setting, of this name.
        InputError: a setting of the wrong type or out of its range.
        MultigraftError: a library it needs is not installed.
    """
    method_class = method_named(name)
    build: Callable[..., Method] = method_class
    checked = checked_settings(name, method_class, settings, kind="method")
    try:
        return build(**checked)
    except ValueError as error:
        message = f"method '{name}': {error}"
        raise InputError(message) from error
