"""The results of a run's task, computed as the task's `[summary]` says: as tables for people, and as JSON for programs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from rich.console import Console
from rich.text import Text

from multigraft.analysis.results import ALL, Result, results_of
from multigraft.cli.curve_report import estimate_json, estimate_text, plain_table, print_wide
from multigraft.cli.scorers_of import guiding_scorers, is_the_same, name_of, parts_in
from multigraft.cli.text import shown
from multigraft.errors import MultigraftError, RecordError
from multigraft.records.reader import RunRecord
from multigraft.tasks.task import load_task
from multigraft.types import Json

COMPARING = ("win_rate", "length_controlled_win_rate")
"""Metrics that not every scorer, and not every installation, can give."""
_WIDTH = 30
_MOST_GROUPS = 30


@dataclass(frozen=True, slots=True)
class TaskResults:
    """What the graders of a task say of a run."""

    task: str
    results: tuple[Result, ...] = ()
    """Of each grader that is in the record, in the order of the task file."""
    guiding: frozenset[str] = frozenset()
    """Those of them that guided the search."""
    notes: tuple[str, ...] = ()
    """Why there are no results."""


def results_of_task(record: RunRecord, scorers: Collection[str]) -> TaskResults | None:
    """Summarise a run as its task says.

    Args:
        record: of the run.
        scorers: that are in the record.

    Returns:
        None for a run without a task.
    """
    table = record.settings.get("task")
    named = table.get("name") if isinstance(table, Mapping) else None
    if not isinstance(named, str):
        return None
    try:
        task = load_task(named)
    except MultigraftError as error:  # a task file of the user's may have moved since
        return TaskResults(named, notes=(str(error),))
    graders = [name_of(part) for part in task.grade]
    speaking = list(dict.fromkeys(name for part in task.grade for name in _names(part, task.name, record.settings) if name in scorers))
    if not speaking:
        why = f"none of its graders ({', '.join(graders)}) has scored this run; add them: multigraft score {record.folder} --with task"
        return TaskResults(task.name, notes=(why if graders else "it has no graders",))
    summary = task.table.summary
    found = tuple(result for name in speaking for result in _results(record, summary.metrics, name, summary.by))
    return TaskResults(task.name, found, guiding_scorers(record.settings) & frozenset(speaking))


def _names(grader: Mapping[str, object], task: str, settings: Mapping[str, Json]) -> list[str]:
    """Name the scorers that may be this grader: those of the run that score as it does, and one that was added later under the name it would get."""
    parts = [*parts_in(settings, "reward"), *parts_in(settings, "judge")]
    others = {name_of(part) for part in parts if not is_the_same(part, grader)}
    later = [name for name in (name_of(grader), f"{task}_{name_of(grader)}") if name not in others]
    return [*later, *(name_of(part) for part in parts if is_the_same(part, grader))]


def _results(record: RunRecord, metrics: Sequence[str], scorer: str, by: Sequence[str]) -> list[Result]:
    found = results_of(record.prompts(), [metric for metric in metrics if metric not in COMPARING], scorer, by=by)
    for metric in (metric for metric in metrics if metric in COMPARING):
        try:
            found += results_of(record.prompts(), [metric], scorer, by=by if metric == "win_rate" else ())
        except RecordError:
            raise
        except MultigraftError as error:
            found.append(Result(metric, "", ALL, scorer, None, 0, str(error)))
    return sorted(found, key=lambda result: metrics.index(result.metric))


def print_task_results(console: Console, found: TaskResults) -> None:
    """Print the results of a task."""
    console.print(Text(f"results of the task {shown(found.task, _WIDTH)}", style="bold"))
    for note in found.notes:
        console.print(Text(f"  {shown(note)}"))
    overall = [result for result in found.results if not result.by]
    if overall:
        table = plain_table("grader", "metric", "value", "prompts", "left out")
        for result in overall:
            cells = (result.metric, estimate_text(result.estimate), str(result.estimate.count if result.estimate else 0), str(result.num_missing or "-"))
            table.add_row(Text(f"  {shown(result.scorer, _WIDTH)}"), *map(Text, cells))
        console.print(table)
    for result in overall:
        if result.note:
            console.print(Text(f"  {shown(result.scorer, _WIDTH)}, {result.metric}: {shown(result.note)}"))
    for name in sorted(found.guiding):
        console.print(Text(f"  {shown(name, _WIDTH)} guided the search, so it is no judge from outside", style="yellow"))
    for by in dict.fromkeys(result.by for result in found.results if result.by):
        _print_groups(console, by, [result for result in found.results if result.by == by])


def _print_groups(console: Console, by: str, results: Sequence[Result]) -> None:
    groups = sorted({result.group for result in results}, key=_order)
    if len(groups) < 2:
        return  # the same as all prompts
    several = len({result.scorer for result in results}) > 1
    columns: dict[str, dict[str, Result]] = {}
    for result in results:
        heading = f"{shown(result.scorer, _WIDTH)}, {result.metric}" if several else result.metric
        columns.setdefault(heading, {})[result.group] = result
    shown_groups = groups[:_MOST_GROUPS]
    first = next(iter(columns.values()))
    rows = [(shown(group, _WIDTH), str(_prompts(first[group]))) for group in shown_groups]
    cells = {heading: [estimate_text(of_group[group].estimate) for group in shown_groups] for heading, of_group in columns.items()}
    print_wide(console, (shown(by, _WIDTH), "prompts"), rows, cells)
    if len(groups) > len(shown_groups):
        console.print(Text(f"  {len(groups) - len(shown_groups)} more of them with --json"))


def task_results_json(found: TaskResults) -> dict[str, Json]:
    """Return the results of a task as a JSON object."""
    scorers: dict[str, Json] = {}
    for scorer in dict.fromkeys(result.scorer for result in found.results):
        own = [result for result in found.results if result.scorer == scorer]
        by: dict[str, Json] = {}
        for name in dict.fromkeys(result.by for result in own if result.by):
            groups = dict.fromkeys(result.group for result in own if result.by == name)
            by[name] = {group: _metrics_json([result for result in own if (result.by, result.group) == (name, group)]) for group in groups}
        scorers[scorer] = {"guided": scorer in found.guiding, "metrics": _metrics_json([result for result in own if not result.by]), "by": by}
    return {"name": found.task, "scorers": scorers, "notes": list(found.notes)}


def _metrics_json(results: Sequence[Result]) -> Json:
    return {result.metric: {"estimate": estimate_json(result.estimate), "missing": result.num_missing, "note": result.note} for result in results}


def _order(group: str) -> tuple[float, str]:
    """Levels and difficulties in the order of their numbers, then names."""
    return (float(group), group) if group.isdecimal() else (inf, group)


def _prompts(result: Result) -> int:
    return result.num_missing + (result.estimate.count if result.estimate else 0)
