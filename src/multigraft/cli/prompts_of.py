"""Reading the prompts that the settings of a run name."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from multigraft.config import RunFile
    from multigraft.types import Prompt


def read_prompts(run_file: "RunFile") -> "list[Prompt]":
    """Read the prompts of a file, or of a task.

    Raises:
        InputError: names file, line and field of what does not fit.
    """
    from multigraft.rewards.rules.ifeval.kinds import check_constraints
    from multigraft.tasks.marks import begins_with_a_mark
    from multigraft.tasks.prompts import load_prompts

    if run_file.task is not None:
        from multigraft.tasks.task import load_task

        items = _from_here(run_file.task.items) if run_file.task.items else None
        found = load_task(run_file.task.name).prompts(items, run_file.task.options, limit=run_file.limit, check_constraints=check_constraints, note=note)
    else:
        found = load_prompts(_from_here(run_file.prompts or ""), run_file.limit, check_constraints, note)
    marked = [prompt.name or prompt.prompt_id for prompt in found if begins_with_a_mark(prompt)]
    if marked:
        note(f"{len(marked)} prompts, such as {marked[0]!r}, begin with a mark that servers add themselves; take it out, or the model sees it twice")
    return found


def read_questions(run_file: "RunFile") -> "list[Prompt]":
    """Read the prompts that graphs are compared on: each once, as one that is in two splits would be chosen by and judged by, and none counts twice.

    Raises:
        InputError: as `read_prompts`.
    """
    from multigraft.tasks.identity import content_hash

    found = read_prompts(run_file)
    # The first of equals in the order of their ids, so that it is the same one whatever the order of the file.
    kept = {
        content_hash(prompt.messages, prompt.reference, prompt.constraints): prompt.prompt_id
        for prompt in sorted(found, key=lambda prompt: prompt.prompt_id, reverse=True)
    }
    ids = set(kept.values())
    distinct = [prompt for prompt in found if prompt.prompt_id in ids]
    if len(distinct) < len(found):
        note(f"{len(found) - len(distinct)} of {len(found)} questions are there more than once, and count once")
    return distinct


def note(line: str) -> None:
    """Tell the user something beside the results."""
    typer.echo(f"note: {line}", err=True)


def _from_here(path: str) -> Path:
    """Return a path as a person here would write it, for messages."""
    whole, here = Path(path), Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else whole
