"""A pilot and a search in one folder: what one paid for is known to the other, so all that answers and grades depend on must be the same."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from multigraft.errors import InputError, SettingsChangedError
from multigraft.records.folder import PILOT_SETTINGS_NAME, SETTINGS_NAME, differences, read_settings
from multigraft.types import Json

PILOT_NAME: Final = "pilot.json"
FIGURE_NAME: Final = "pilot.svg"

_OF_THE_ANSWERS: Final = ("tokens", "scorer", "score_range", "node_scores")
"""Of `[optimize]`."""
_APART: Final = frozenset({"budget", "optimize", "pilot", "judge", "strategy", "models", "reward"})
"""Tables that are compared in part, or not at all."""


def refuse_mixing(folder: Path, before: Mapping[str, Json], after: Mapping[str, Json]) -> None:
    """Refuse settings under which answers of the same models to the same questions would be others, or be graded otherwise.

    Args:
        folder: of both.
        before: settings that its answers were made with.
        after: settings that it is to go on with.

    Raises:
        SettingsChangedError: shows each setting that differs.
    """
    models = _models(before).keys() & _models(after).keys()
    changes = differences(_of_the_answers(before, after, models), _of_the_answers(after, before, models))
    if changes:
        shown = "\n".join(f"  {change}" for change in changes)
        message = f"a pilot and a search share {folder}, and these settings of one are not those of the other:\n{shown}\nTake another folder (-o)."
        raise SettingsChangedError(message)


def refuse_another_pilot(folder: Path, kept: Mapping[str, Json]) -> None:
    """Refuse a pilot where a search goes by another one, or by none: it would go on otherwise than it began.

    Args:
        folder: of both.
        kept: settings of the pilot.

    Raises:
        InputError: says what the search goes by.
    """
    if not (folder / SETTINGS_NAME).is_file():
        return
    search = read_settings(folder)
    if not isinstance(search.get("optimize"), dict):
        message = f"{folder} holds another kind of run; take another folder (-o)"
        raise InputError(message)
    refuse_mixing(folder, search, kept)
    if not (folder / PILOT_NAME).is_file() or not (folder / PILOT_SETTINGS_NAME).is_file():
        what = "a pilot made elsewhere" if (folder / PILOT_NAME).is_file() else "no pilot"
        message = f"the search in {folder} was started with {what}, and goes on as it began; take another folder (-o) for this pilot"
        raise InputError(message)
    changes = differences({"pilot": read_settings(folder, PILOT_SETTINGS_NAME).get("pilot")}, {"pilot": kept.get("pilot")})
    if changes:
        message = f"the search in {folder} was started with its pilot ({'; '.join(changes)}); take another folder (-o) for another one"
        raise InputError(message)


def _of_the_answers(settings: Mapping[str, Json], other: Mapping[str, Json], models: set[str]) -> dict[str, Json]:
    search, budget = settings.get("optimize"), settings.get("budget")
    kept: dict[str, Json] = {name: value for name, value in settings.items() if name not in _APART}
    if isinstance(search, dict):
        pool = search.get("models")
        of_search: dict[str, Json] = {name: search.get(name) for name in _OF_THE_ANSWERS}
        of_search["models"] = [*sorted(map(str, pool))] if isinstance(pool, list) else pool
        kept["optimize"] = of_search
    kept["models"] = {name: table for name, table in _models(settings).items() if name in models}
    kept["budget"] = {"cost_form": budget.get("cost_form")} if isinstance(budget, dict) else {}
    # Elsewhere judges come and go; here they say what is right.
    kept["graded by"] = settings.get("judge")
    if not _judged(settings) or (_chooses(settings) and _chooses(other)):
        kept["reward"] = settings.get("reward")
    return kept


def _models(settings: Mapping[str, Json]) -> dict[str, Json]:
    models = settings.get("models")
    return {str(model.get("name")): model for model in models if isinstance(model, dict)} if isinstance(models, list) else {}


def _judged(settings: Mapping[str, Json]) -> bool:
    judge = settings.get("judge")
    return isinstance(judge, dict) and bool(judge.get("parts"))


def _chooses(settings: Mapping[str, Json]) -> bool:
    """Whether a graph may end in a node that chooses, for which the reward is what it goes by."""
    search = settings.get("optimize")
    sinks = search.get("sinks") if isinstance(search, dict) else None
    return isinstance(sinks, list) and bool({"vote", "best"} & set(map(str, sinks)))
