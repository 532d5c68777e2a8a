"""Which reward is served, and which may not be."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from multigraft.build.rewards import parts_of
from multigraft.build.sandbox import SandboxOfRun
from multigraft.build.scorers import NESTED, Surroundings, asked_models, build_scorer, is_reward, takes
from multigraft.config import ConcurrencyTable, RewardPartTable, RewardTable, RunFile, checked, checked_table, read_run_file
from multigraft.errors import InputError
from multigraft.types import Ask, Reward

if TYPE_CHECKING:
    from multigraft.sandbox.sandbox import Sandbox


def chosen(named: str | None, run_file: Path | None, name: str | None) -> tuple[RewardPartTable, str]:
    """Find the table of the reward to serve.

    Args:
        named: as on the command line, such as `classifier:FOLDER`.
        run_file: in place of that, a file with a `[reward]`.
        name: which of its parts.

    Returns:
        The table, and where it stands.

    Raises:
        InputError: neither or both are given, or they name no reward, or several.
    """
    if (named is None) == (run_file is None):
        message = "say what to serve: either --reward KIND:MODEL, or a run file with -c"
        raise InputError(message)
    if run_file is None:
        parts = [checked_table(RewardPartTable, part, "--reward") for part in parts_of(named or "")]
        table, place = RewardTable(parts=tuple(parts)), "--reward"
    else:
        table, place = checked(read_run_file(run_file), str(run_file)).reward, "reward.parts"
    names = [part.name or part.kind for part in table.parts]
    indices = [index for index, known in enumerate(names) if name in {None, known}]
    if len(indices) != 1:
        there = ", ".join(f"'{known}'" for known in names)
        message = f"one reward is served, and there are {there}; name one of them with --name" if indices else f"there is no '{name}', only {there}"
        raise InputError(message, field="--name")
    (index,) = indices
    return table.parts[index], place if run_file is None else f"{place}[{index}]"


def scorer(part: RewardPartTable, place: str, *, allow_code: bool) -> tuple[Reward, Sequence[object]]:
    """Make the scorer to serve.

    Args:
        part: its table.
        place: where it stands.
        allow_code: whether it may run generated code, in the sandbox.

    Returns:
        The scorer, and all that is to be started before it is used and closed afterwards, itself included.

    Raises:
        InputError: it runs generated code and may not, asks a chat model, only compares, or has a setting that does not fit.
    """
    if _runs_code(part) and not allow_code:
        message = f"'{part.kind}' runs the code it is sent; a server does so only when started with --allow-code"
        raise InputError(message, field=place)
    if takes(part.kind, "ask") or any(True for _ in asked_models(part)):
        message = f"'{part.kind}' asks a chat model, which a run reaches through its own budget; serve local rewards, and name judges in the run file itself"
        raise InputError(message, field=place)
    sandbox = SandboxOfRun(RunFile()) if allow_code else _no_sandbox
    surroundings = Surroundings(ask_of=_no_model, identities={}, concurrency=ConcurrencyTable(), sandbox=sandbox)
    made = build_scorer(part, place, surroundings)
    if not is_reward(made):
        message = f"'{part.kind}' only compares the responses of one prompt when all are there, so it scores none that comes alone"
        raise InputError(message, field=place)
    return made, surroundings.opened


def _runs_code(part: RewardPartTable) -> bool:
    nested = part.__pydantic_extra__.get(NESTED, ())
    inner = [table.get("kind") for table in nested if isinstance(table, Mapping)] if isinstance(nested, tuple | list) else []
    return any(takes(str(kind), "sandbox") for kind in (part.kind, *inner))


def _no_model(model: str, judge: str) -> Ask:
    message = f"'{judge}' asks the chat model '{model}', and a server has none"
    raise InputError(message)


def _no_sandbox() -> "Sandbox":
    message = "generated code runs only where a server was started with --allow-code"
    raise InputError(message)
