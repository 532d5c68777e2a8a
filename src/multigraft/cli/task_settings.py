"""What a task adds to the settings of a run: its name and options, its graders, and a reward where none was named."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from multigraft.build.scorers import takes
from multigraft.cli.scorers_of import is_the_same, name_of, parts_in
from multigraft.errors import InputError
from multigraft.tasks.options import options_of
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
        InputError: an option in another form, or a value that does not fit.
        UnknownNameError: no such task, or no such option of it.
    """
    chosen = load_task(name).options(options_of(options))
    given = {option: list(values) if len(values) > 1 else values[0] for option, values in chosen.values.items() if option in chosen.by_the_user}
    table: dict[str, object] = {"name": str(Path(name).absolute()) if Path(name).suffix == ".toml" else name}
    if items is not None:
        table["items"] = str(items.absolute())
    return table | ({"options": given} if given else {})


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
        graders = graders_of(task, settings)
        settings["judge"] = {"parts": [part for part in graders if not _wants_a_model(part)]}
        notes += [f"not graded: {part['kind']} needs a model, as --judge task:MODEL" for part in graders if _wants_a_model(part)]
    return notes


def graders_of(task: Task, settings: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the graders of a task, as parts of `[judge]`.

    Args:
        task: the task.
        settings: of the run. A grader that guides the search already is left out; where another scorer of the reward has its name, the task's goes before it.
    """
    guiding = {name_of(part): part for part in parts_in(settings, "reward")}
    graders: list[dict[str, object]] = []
    for part in task.grade:
        name = name_of(part)
        if name not in guiding:
            graders.append(dict(part) | ALL)
        elif not is_the_same(guiding[name], part):
            graders.append(dict(part) | {"name": f"{task.name}_{name}"} | ALL)
    return graders


def judging_graders(name: str, model: str | None, settings: Mapping[str, object], flag: str) -> list[dict[str, object]]:
    """Return the graders that `task` or `task:MODEL` names.

    Args:
        name: of the task, or the path of its file.
        model: for those that ask a chat model.
        settings: of the run.
        flag: where it was written, for messages.

    Raises:
        InputError: a model is missing, or is one too many.
    """
    task = load_task(name)
    graders = graders_of(task, settings)
    asking = [part for part in graders if _wants_a_model(part)]
    if asking and model is None:
        message = f"the grader '{asking[0]['kind']}' of the task '{task.name}' needs a model: write task:MODEL"
        raise InputError(message, field=flag)
    if model is not None and not asking:
        message = f"no grader of the task '{task.name}' asks a model; write task alone"
        raise InputError(message, field=flag)
    for part in asking:
        part["model"] = model
    return graders


def suggested_reward(task: Task) -> dict[str, object]:
    """Return the first reward a task suggests that needs no model and no server.

    Raises:
        InputError: there is none; names what would fit.
    """
    parts = [suggestion.part.settings() for suggestion in task.suggested_rewards]
    for part in parts:
        if "model" not in part and "endpoints" not in part and not takes(str(part["kind"]), "ask"):
            return dict(part)
    fitting = ", ".join(dict.fromkeys(f"{part['kind']}:{part['model']}" if "model" in part else str(part["kind"]) for part in parts)) or "any"
    message = f"name the reward that guides the search; for the task '{task.name}' fit: {fitting}"
    raise InputError(message, field="--reward")


def _wants_a_model(part: Mapping[str, object]) -> bool:
    """Whether a chat model is still to be named: task files hold a word in capitals in its place."""
    model = part.get("model")
    return takes(str(part["kind"]), "ask") and (not isinstance(model, str) or model.isupper())
