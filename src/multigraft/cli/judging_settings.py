"""Which scorers are to judge a run that is there: those of its own `[judge]`, of a file, of its task, or named in a flag."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from multigraft.budget.parse import parse_limits
from multigraft.cli.scorers_of import name_of, parts_in
from multigraft.cli.settings import judges_added, judges_named
from multigraft.config import RunFile, checked, read_run_file
from multigraft.errors import InputError
from multigraft.records.folder import SETTINGS_NAME, read_settings
from multigraft.types import Json


def judging_of(
    run: Path,
    named: Sequence[str],
    run_file: Path | None,
    *,
    name: str | None,
    at: str | None,
    budget: str | None,
    unsafe_no_sandbox: bool,
) -> RunFile:
    """Return the settings of a run, with the judges that are to speak in `[judge]`.

    Args:
        run: its folder.
        named: scorers, as on the command line; none: all that `[judge]` holds.
        run_file: a file with `[judge]` and `[[models]]`, which win over the run's own.
        name: for the scorer of a single `named`.
        at: which responses; None: as in `[judge]`, else every one.
        budget: limits of all judges of the run.
        unsafe_no_sandbox: see `RunFile`.

    Raises:
        InputError: a scorer that cannot be found, or settings that do not fit.
    """
    settings = {key: value for key, value in read_settings(run).items() if key not in {"versions", "prompts", "limit"}}
    given = read_run_file(run_file) if run_file else {}
    known = {name_of(part): part for table in (settings, given) for part in parts_in(table, "judge")}
    chosen = [part for word in named for part in _chosen(word, known, settings)] or list(known.values())
    if not chosen:
        message = "this run has no [judge]; name a scorer, such as --with rules or --with judge:MODEL"
        raise InputError(message, field="--with")
    if name is not None:
        if len(chosen) != 1:
            message = f"names one scorer, and here are {len(chosen)}"
            raise InputError(message, field="--name")
        chosen = [chosen[0] | {"name": name}]
    if at is not None:
        chosen = [part | {"at": _at(at)} for part in chosen]
    models = {str(model["name"]): model for table in (settings, given) for model in _listed(table.get("models")) if "name" in model}
    merged: dict[str, object] = {
        **settings,
        "models": list(models.values()),
        "judge": {"parts": chosen, "budget": _limits(budget, settings, given)},
        "unsafe_no_sandbox": unsafe_no_sandbox,
    }
    merged["models"] = judges_added(merged, chosen)
    return checked(merged, str(run_file or run / SETTINGS_NAME))


def _chosen(word: str, known: Mapping[str, dict[str, object]], settings: Mapping[str, Json]) -> list[dict[str, object]]:
    if word in known:
        return [known[word]]
    return [{key: value for key, value in part.items() if key != "normalise"} | {"at": "all"} for part in judges_named(word, settings, "--with")]


def _listed(value: object) -> list[dict[str, object]]:
    return [dict(item) for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _limits(budget: str | None, *tables: Mapping[str, object]) -> dict[str, object]:
    if budget is not None:
        return {kind: value for kind, value in parse_limits(budget)._asdict().items() if value is not None}
    limits: dict[str, object] = {}
    for table in tables:
        judge = table.get("judge")
        found = judge.get("budget") if isinstance(judge, Mapping) else None
        limits |= dict(found) if isinstance(found, Mapping) else {}
    return limits


def _at(text: str) -> str | list[int]:
    if text in {"doubling", "best", "all"}:
        return text
    try:
        return [int(point) for point in text.split(",")]
    except ValueError:
        message = f"must be doubling, best, all, or numbers of responses such as 1,4,16, not {text!r}"
        raise InputError(message, field="--at") from None
