"""What a task adds to the settings of a run: its name and options, its graders, and a reward where none was named."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from multigraft.build.scorers import takes
from multigraft.errors import InputError
from multigraft.tasks.task import Task, load_task

ALL = {"at": "all"}
"""Graders score every response, so that votes and the oracle can be counted."""


def task_table(name: str, items: Path | None, options: Sequence[str]) -> dict[str, object]:
    """Make `[task]` of flags.

    Args:
        name: of a task, or the path of a task file.
        items: file with its items.
        options: `NAME=VALUE`.

    Raises:
        InputError: an option in another form.
        UnknownNameError: no such task.
    """
    load_task(name)
    table: dict[str, object] = {"name": str(Path(name).absolute()) if Path(name).suffix == ".toml" else name}
    if items is not None:
        table["items"] = str(items.absolute())
    chosen = dict(_option(option) for option in options)
    return table | ({"options": chosen} if chosen else {})


def add_task(settings: dict[str, object]) -> list[str]:
    """Add what the task of the settings brings along, where the user did not say otherwise.

    Args:
        settings: of the run, with `[task]`; changed.

    Returns:
        Lines that tell the user what was chosen.

    Raises:
        InputError: no reward was named, and none that the task suggests stands alone.
    """
    table = settings["task"]
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        return []  # the schema says what is wrong
    task, notes = load_task(table["name"]), []
    if "reward" not in settings:
        part = suggested_reward(task)
        settings["reward"] = {"parts": [part]}
        notes.append(f"guided by {part['kind']}, as the task '{task.name}' suggests; --reward names another (`multigraft task show {task.name}`)")
    if "judge" not in settings:
        alone = [part for part in graders_of(task) if "model" in part or not takes(str(part["kind"]), "ask")]
        settings["judge"] = {"parts": alone}
        notes += [f"not graded: {part['kind']} needs a model, as --judge {part['kind']}:MODEL" for part in graders_of(task) if part not in alone]
    return notes


def graders_of(task: Task) -> list[dict[str, object]]:
    """Return the graders of a task, as parts of `[judge]`."""
    return [dict(part) | ALL for part in task.grade]


def suggested_reward(task: Task) -> dict[str, object]:
    """Return the first reward a task suggests that needs no model and no server.

    Raises:
        InputError: there is none; names what would fit.
    """
    parts = [suggestion.part.settings() for suggestion in task.suggested_rewards]
    for part in parts:
        if "model" not in part and "endpoints" not in part and not takes(str(part["kind"]), "ask"):
            return dict(part)
    fitting = ", ".join(dict.fromkeys(str(part["kind"]) for part in parts)) or "any"
    message = f"name the reward that guides the search; for the task '{task.name}' fit: {fitting}"
    raise InputError(message, field="--reward")


def _option(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        message = f"an option of a task is written NAME=VALUE, not {text!r}"
        raise InputError(message, field="--task-option")
    return name.strip(), value.strip()
