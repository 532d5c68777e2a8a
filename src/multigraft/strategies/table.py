"""Strategies by name. One of your own is found through the entry point group `multigraft.strategies`."""

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any, Final, TypeAlias

from multigraft.errors import InputError, UnknownNameError
from multigraft.strategies.base import PlannedStrategy
from multigraft.strategies.graph import Collaboration
from multigraft.strategies.moa import Moa
from multigraft.strategies.parallel import Parallel
from multigraft.strategies.prs import Prs
from multigraft.strategies.random_sampling import RandomSampling
from multigraft.strategies.sequential import Sequential
from multigraft.strategies.settings import checked_settings
from multigraft.strategies.toa import Toa

AnyStrategy: TypeAlias = PlannedStrategy[Any]
"""A strategy whose state is its own business."""

ENTRY_POINT_GROUP: Final = "multigraft.strategies"

STRATEGIES: Final[Mapping[str, type[AnyStrategy]]] = {
    "random": RandomSampling,
    "prs": Prs,
    "parallel": Parallel,
    "sequential": Sequential,
    "moa": Moa,
    "toa": Toa,
    "graph": Collaboration,
}


def strategy_named(name: str) -> type[AnyStrategy]:
    """Look a strategy up: in the table, then among the entry points of installed packages.

    Args:
        name: such as `toa`.

    Raises:
        UnknownNameError: there is none of this name.
        InputError: an entry point of this name is no strategy.
    """
    if name in STRATEGIES:
        return STRATEGIES[name]
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes 20 ms, and is needed on a miss only

    found = entry_points(group=ENTRY_POINT_GROUP)
    if name not in found.names:
        raise UnknownNameError(what="strategy", name=name, known={*STRATEGIES, *found.names})
    loaded: object = found[name].load()
    if not (isinstance(loaded, type) and issubclass(loaded, PlannedStrategy) and is_dataclass(loaded)):
        message = f"entry point '{name}' of group {ENTRY_POINT_GROUP} must name a dataclass that extends multigraft.strategies.base.PlannedStrategy"
        raise InputError(message)
    return loaded


def strategy_from(name: str, settings: Mapping[str, object]) -> AnyStrategy:
    """Build a strategy.

    Args:
        name: such as `toa`.
        settings: by name; those left out keep their defaults.

    Raises:
        UnknownNameError: no strategy, or no setting, of this name.
        InputError: a setting of the wrong type or out of its range.
    """
    strategy_class = strategy_named(name)
    build: Callable[..., AnyStrategy] = strategy_class
    checked = checked_settings(name, strategy_class, settings)
    try:
        return build(**checked)
    except ValueError as error:
        message = f"strategy '{name}': {error}"
        raise InputError(message) from error
