"""The settings of a graph search: a run file, changed by flags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from multigraft.budget.parse import parse_limits
from multigraft.build.rewards import parts_of
from multigraft.cli.graph_settings import answer_form
from multigraft.cli.optimize_caps import parse_caps, parse_split, parse_tokens, words_of
from multigraft.cli.scorers_of import asked_models, parts_in
from multigraft.cli.settings import add_source, allow_code, judges_added, judges_named, model_named, models_named, table_of
from multigraft.cli.task_settings import graders_of, suggested_reward
from multigraft.config import RunFile, checked, read_run_file
from multigraft.errors import InputError
from multigraft.optimize.real.splits import Sizes, default_sizes
from multigraft.strategies.settings import parse_setting
from multigraft.tasks.task import library, load_task
from multigraft.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFlags:
    """What may be said on the command line; None: not said."""

    questions: str | None
    """A task, a task file, or a file of prompts."""
    items: Path | None = None
    task_options: Sequence[str] = ()
    run_file: Path | None = None
    models: str | None = None
    reward: str | None = None
    judge: str | None = None
    budget: str | None = None
    spend: str | None = None
    method: str | None = None
    objective: str | None = None
    evaluations: int | None = None
    patience: int | None = None
    max_agents: int | None = None
    max_in_degree: int | None = None
    sinks: str | None = None
    split: str | None = None
    optimizer: str | None = None
    tokens: str | None = None
    pilot: Path | None = None
    seed: int | None = None
    changes: Sequence[str] = ()
    unsafe_no_sandbox: bool = False


def search_settings_of(flags: SearchFlags) -> RunFile:
    """Merge a run file and flags; a flag wins.

    Raises:
        InputError: names the file and field, or the flag, that does not fit.
    """
    settings = merged(flags)
    settings.pop("pilot", None)
    return checked(settings, str(flags.run_file) if flags.run_file else None)


def merged(flags: SearchFlags) -> dict[str, object]:
    """Merge a run file and flags without checking them as a whole; as `search_settings_of`."""
    settings = read_run_file(flags.run_file) if flags.run_file else {}
    _add_questions(settings, flags)
    if flags.seed is not None:
        settings["seed"] = flags.seed
    allow_code(settings, typed=flags.unsafe_no_sandbox)
    chosen = table_of(settings, "optimize")
    _add_scorers(settings, flags, chosen)
    _add_models(settings, flags, chosen)
    _add_search(chosen, flags)
    settings["optimize"] = chosen
    if flags.spend is not None:
        limits = {kind: value for kind, value in parse_limits(flags.spend)._asdict().items() if value is not None}
        settings["budget"] = table_of(settings, "budget") | limits
    return settings


def sized(run_file: RunFile, num_questions: int, num_seen: int = 0, *, test: bool = True) -> RunFile:
    """Choose how many questions each split gets, where the user did not.

    Args:
        run_file: of the search.
        num_questions: that there are.
        num_seen: of them that a pilot has seen.
        test: whether what was found is compared on questions of their own.

    Raises:
        InputError: there are too few.
    """
    table = run_file.optimize
    if table is None or (table.train and table.validation):
        return run_file if table is None or test else run_file.model_copy(update={"optimize": table.model_copy(update={"test": 0})})
    sizes = default_sizes(num_questions, num_seen)
    sizes = Sizes(table.train or sizes.train, table.validation or sizes.validation, (table.test or sizes.test) if test else 0)
    return run_file.model_copy(update={"optimize": table.model_copy(update=sizes._asdict())})


def of_the_results(settings: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out what may change while a search goes on: how much it may spend, how long it goes on, and what it is compared on at the end.

    Args:
        settings: of a search, as its folder keeps them.
    """
    kept = {name: value for name, value in settings.items() if name not in {"budget", "optimize", "judge", "strategy"}}
    table, budget = settings.get("optimize"), settings.get("budget")
    if isinstance(table, dict):
        kept["optimize"] = {name: value for name, value in table.items() if name not in {"evaluations", "patience", "test", "pilot"}}
    if isinstance(budget, dict):
        kept["budget"] = {"cost_form": budget.get("cost_form")}
    # Elsewhere judges come and go; here they say which graph is the best.
    kept["graded by"] = settings.get("judge")
    return kept


def _add_questions(settings: dict[str, object], flags: SearchFlags) -> None:
    words = flags.questions
    if words is None and not ("task" in settings or "prompts" in settings):
        message = "name a task (`multigraft task list`), a task file, or a file of prompts"
        raise InputError(message, field="QUESTIONS")
    is_task = words is not None and (words in library() or words.endswith(".toml"))
    task = words if is_task else None
    prompts = flags.items if is_task else Path(words) if words is not None else None
    if flags.items is not None and not is_task and not (words is None and "task" in settings):
        message = "are items of a task; name one"
        raise InputError(message, field="--items")
    add_source(settings, prompts if words is not None else flags.items, task, flags.task_options)


def _add_scorers(settings: dict[str, object], flags: SearchFlags, chosen: Mapping[str, object]) -> None:
    """Say what grades: judges that were named, else the graders of the task, else the reward."""
    if flags.reward is not None:
        settings["reward"] = {"parts": list(parts_of(flags.reward))}
    if flags.judge is not None:
        settings["judge"] = table_of(settings, "judge") | {"parts": judges_named(flags.judge, settings)}
    name = table_of(settings, "task").get("name")
    if not isinstance(name, str):
        if "reward" not in settings and not table_of(settings, "judge").get("parts"):
            # The reward that runs have by default lets every answer pass, and graphs that are all right cannot be told apart.
            message = "nothing says which answers are right: name a reward or a judge, here or in a run file, or take a task (`multigraft task list`)"
            raise InputError(message, field="--reward")
        return
    task = load_task(name)
    if "judge" not in settings:
        parts = graders_of(task, settings)
        asking = [part for part in parts if isinstance(part.get("model"), str) and str(part["model"]).isupper()]
        if asking:
            message = f"the grader '{asking[0]['kind']}' of the task '{task.name}' needs a model: --judge task:MODEL"
            raise InputError(message, field="--judge")
        settings["judge"] = {"parts": parts}
    sinks = words_of(flags.sinks) if flags.sinks is not None else chosen.get("sinks", ())
    if "reward" not in settings and isinstance(sinks, list | tuple) and {"best", "vote"} & set(sinks):
        # As a run of the graph will have it.
        settings["reward"] = {"parts": [suggested_reward(task) if "best" in sinks else {"kind": "final_answer", "form": answer_form(settings)}]}


def _add_models(settings: dict[str, object], flags: SearchFlags, chosen: dict[str, object]) -> None:
    tables = settings.get("models", [])
    known = {str(table.get("name")): table for table in tables if isinstance(table, dict)} if isinstance(tables, list) else {}
    if flags.models is not None:
        settings["models"] = models_named(flags.models, settings)
        chosen["models"] = [str(model_named(word, known)["name"]) for word in words_of(flags.models)]
    if flags.optimizer is not None:
        found = model_named(flags.optimizer.strip(), known)
        chosen["optimizer"] = found["name"]
        listed = settings.get("models", [])
        if isinstance(listed, list) and all(model.get("name") != found["name"] for model in listed):
            settings["models"] = [*listed, found]
    if isinstance(settings.get("models", []), list):
        settings["models"] = judges_added(settings, [*parts_in(settings, "reward"), *parts_in(settings, "judge")])
    if flags.models is None and "models" not in chosen:
        outside = {*asked_models([*parts_in(settings, "reward"), *parts_in(settings, "judge")]), chosen.get("optimizer")}
        names = [name for name, table in known.items() if name not in outside or table.get("answers_too")]
        if names:
            chosen["models"] = names


def _add_search(chosen: dict[str, object], flags: SearchFlags) -> None:
    """Put flags into `[optimize]`; the settings of another method do not carry over."""
    if flags.method is not None and chosen.get("method", "agent_reinforce") != flags.method:
        chosen["settings"] = {}
        chosen["method"] = flags.method
    if flags.changes:
        kept = chosen.get("settings")
        chosen["settings"] = (dict(kept) if isinstance(kept, dict) else {}) | dict(parse_setting(change) for change in flags.changes)
    if flags.budget is not None:
        chosen["caps"] = parse_caps(flags.budget)
    if flags.sinks is not None:
        chosen["sinks"] = words_of(flags.sinks)
    if flags.split is not None:
        chosen |= dict(zip(("train", "validation", "test"), parse_split(flags.split), strict=True))
    if flags.tokens is not None:
        chosen["tokens"] = list(parse_tokens(flags.tokens))
    if flags.pilot is not None:
        chosen["pilot"] = str(flags.pilot.absolute())
    for name in ("objective", "evaluations", "patience", "max_agents", "max_in_degree"):
        value = getattr(flags, name)
        if value is not None:
            chosen[name] = value
