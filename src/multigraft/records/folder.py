"""A run's folder: `run.toml` (of a pilot: `pilot.toml`) with the settings it was started with, `log.db` with the record, `lock` for its one owner."""

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import tomli_w

from multigraft.errors import RecordError, SettingsChangedError, boundary
from multigraft.records.disk import on_disk
from multigraft.types import Json

SETTINGS_NAME = "run.toml"
PILOT_SETTINGS_NAME = "pilot.toml"
LOG_NAME = "log.db"
SEARCH_NAME = "search.db"
"""Record of a graph search or a pilot, in a folder of its own."""

FREE_TO_CHANGE = frozenset({"concurrency", "versions", "prompts", "limit", "task.items", "judge"})
"""Settings that change how fast, from which file or with which version, or what judges from outside, but not what is made; prompts are known by their
content."""


def read_settings(folder: Path, name: str = SETTINGS_NAME) -> dict[str, Json]:
    """Read the settings a run was started with.

    Args:
        folder: of the run.
        name: of the file.

    Raises:
        RecordError: the folder holds no run.
    """
    path = folder / name
    if not path.is_file():
        message = f"{folder}: no run here (no {name}); start one with `multigraft synth PROMPTS -o {folder}`"
        raise RecordError(message)
    with boundary(RecordError, f"reading {path}", OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return tomllib.loads(path.read_text("utf-8"))


def write_settings(folder: Path, settings: Mapping[str, Json], name: str = SETTINGS_NAME) -> None:
    """Write the settings of a new run; complete or not at all.

    Args:
        folder: made where it is missing.
        settings: resolved, TOML-able, without `None` and without secrets.
        name: of the file.
    """
    path = folder / name
    unfinished = path.with_suffix(".unfinished")
    with on_disk(f"writing {path}"):
        folder.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            tomli_w.dump(settings, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)


def refuse_changes(folder: Path, settings: Mapping[str, Json], shaping: Callable[[Mapping[str, Json]], Mapping[str, Json]] = dict) -> None:
    """Refuse to go on with a run under other settings than it was started with.

    Args:
        folder: of the run.
        settings: it is to go on with.
        shaping: chooses, of either, what shapes the responses; everything by default.

    Raises:
        SettingsChangedError: shows each setting that differs.
    """
    changes = differences(shaping(read_settings(folder)), shaping(settings))
    if changes:
        shown = "\n".join(f"  {change}" for change in changes)
        message = (
            f"{folder} was started with other settings, and answers made under different settings must not be mixed:\n{shown}\n"
            f"Take another folder, or go on with the run as it is: `multigraft resume {folder}`."
        )
        raise SettingsChangedError(message)


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[str]:
    """Name every setting that differs, as `path: before -> after`; what is `FREE_TO_CHANGE` is left out."""
    flat_before, flat_after = (
        {name: value for name, value in _flat(settings) if not FREE_TO_CHANGE & {name, name.split(".")[0]}} for settings in (before, after)
    )
    names = sorted(flat_before.keys() | flat_after.keys())
    changed = [name for name in names if flat_before.get(name) != flat_after.get(name)]
    return [f"{name}: {_shown(flat_before, name)} -> {_shown(flat_after, name)}" for name in changed]


def _flat(value: object, name: str = "") -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [pair for key, item in value.items() for pair in _flat(item, f"{name}.{key}" if name else str(key))]
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return [pair for index, item in enumerate(value) for pair in _flat(item, f"{name}[{index}]")]
    return [(name, value)]


def _shown(flat: Mapping[str, object], name: str) -> str:
    return repr(flat[name]) if name in flat else "(not set)"
