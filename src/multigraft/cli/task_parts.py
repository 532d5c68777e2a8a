"""Whether the scorers that a task file names can be made: they are built as a run would build them, and thrown away."""

from typing import TYPE_CHECKING

from multigraft.build.scorers import Surroundings, build_scorer
from multigraft.config import ConcurrencyTable, RewardPartTable, checked_table
from multigraft.errors import InputError
from multigraft.tasks.task import Task
from multigraft.types import Ask, Candidate, Failure, FailureKind, Request, Sample

if TYPE_CHECKING:  # only tasks that run code load it
    from multigraft.sandbox.sandbox import Sandbox


class _AnyModel(dict[str, str]):
    """Models of a run file that is yet to be written: every name is one."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __missing__(self, name: str) -> str:
        return name


async def _nobody(candidate: Candidate, request: Request) -> Sample:  # noqa: ARG001 - the signature of `Ask`
    return Failure(FailureKind.UNAVAILABLE, "no model is asked while a task is checked")


def _ask_of(model: str, judge: str) -> Ask:  # noqa: ARG001 - as above
    return _nobody


def _sandbox() -> "Sandbox":
    from multigraft.sandbox.sandbox import Sandbox  # only tasks that run code load it

    return Sandbox()


def check_parts(task: Task, file: str) -> int:
    """Make every scorer that a task names.

    Args:
        task: as loaded.
        file: its file, for messages.

    Returns:
        How many there are.

    Raises:
        InputError: a kind or a setting that there is not; names file and field.
    """
    suggested = {"reward": task.suggested_rewards, "judge": task.suggested_judges}
    parts = [(f"grade[{index}]", part) for index, part in enumerate(task.grade)]
    parts += [(f"suggest.{role}[{index}].part", entry.part.settings()) for role, entries in suggested.items() for index, entry in enumerate(entries)]
    surroundings = Surroundings(ask_of=_ask_of, identities=_AnyModel(), concurrency=ConcurrencyTable(), sandbox=_sandbox)
    for place, settings in parts:
        try:
            build_scorer(checked_table(RewardPartTable, settings, place), place, surroundings)
        except InputError as error:
            raise InputError(str(error).removeprefix(f"field '{error.field}': "), file=file, field=error.field or place) from error
    return len(parts)
