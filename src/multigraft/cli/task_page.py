"""A task on a page, and as JSON."""

from collections.abc import Iterator, Mapping

from multigraft.cli.text import shown, shown_lines
from multigraft.prompting.render import render
from multigraft.tasks.schema import OptionTable, SuggestionTable
from multigraft.tasks.task import Task
from multigraft.types import Call, Message, Prompt, Role

EARLIER: Mapping[int, str] = {0: "(an earlier response)", 1: "(another response)"}
_PARENTS: Mapping[Role, tuple[int, ...]] = {Role.ANSWER: (), Role.REFINE: (0,), Role.AGGREGATE: (0, 1), Role.FUSE: (0, 1), Role.CONCLUDE: (0, 1)}


def messages_by_role(task: Task, prompt: Prompt) -> dict[Role, tuple[Message, ...]]:
    """Render one item for every role, with made-up earlier responses."""
    templates = task.templates()
    return {
        role: render(prompt, Call(call_id=len(parents), model="model", parents=parents, role=role, seed=0), EARLIER, templates)
        for role, parents in _PARENTS.items()
    }  # fmt: skip


def task_json(task: Task, prompt: Prompt | None) -> dict[str, object]:
    """Return the whole task as JSON, and one item as it is asked in each role."""
    item: dict[str, object] = {}
    if prompt is not None:
        roles = {role.value: [{"role": turn.role, "content": turn.content} for turn in turns] for role, turns in messages_by_role(task, prompt).items()}
        item = {"item": {"name": prompt.name, "reference": prompt.reference, "fields": dict(prompt.fields), "messages": roles}}
    templates = task.templates()
    wording = {"refine": templates.refine, "aggregate": templates.aggregate, "fuse": templates.fuse, "conclude": templates.conclude}
    return {"name": task.name, **task.table.model_dump(mode="json"), "templates": wording, **item}


def page_of(task: Task, prompt: Prompt | None) -> Iterator[str]:
    """Write the task for people, line by line."""
    table = task.table
    yield f"{shown(task.name)}: {shown(table.title)}"
    yield shown(table.description)
    yield f"licence: {shown(table.licence)}"
    yield from (f"origin: {shown(text)}" for text in table.origin)
    yield from (f"known mistakes: {shown(text)}" for text in table.errata)
    for source in table.source:
        when = ", ".join(f"{name} = {' or '.join(map(str, values))}" for name, values in source.when.items())
        yield f"items: {shown(source.named)}{f' (when {shown(when)})' if when else ''}"
    if not table.source:
        yield "items: only from a file of your own"
    yield from (f"option {shown(name)}: {_option(option)}" for name, option in table.options.items())
    yield f"answers are read as {table.read.form}: {shown(table.read.meaning)}"
    yield from (f"graded by {_part(part)}" for part in task.grade)
    yield from (f"a reward that fits: {_suggestion(entry)}" for entry in task.suggested_rewards)
    yield from (f"a judge that fits: {_suggestion(entry)}" for entry in task.suggested_judges)
    by = f", by {', '.join(table.summary.by)}" if table.summary.by else ""
    yield f"summarised as {', '.join(table.summary.metrics)}{shown(by)}"
    yield from _wording(task) if prompt is None else _rendered(task, prompt)


def _option(option: OptionTable) -> str:
    values = f"; {', '.join(map(str, option.values))}" if option.values else ""
    default = "" if option.default is None else f"; default {option.default}"
    return shown(f"{option.meaning}{values}{'; several, with commas' if option.many else ''}{default}")


def _part(part: Mapping[str, object]) -> str:
    return shown(", ".join(f"{name} = {_value(value)}" for name, value in part.items()))


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_value(inner)}' for name, inner in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _suggestion(entry: SuggestionTable) -> str:
    return f"{_part(entry.part.settings())} ({shown(entry.why)})"


def _rendered(task: Task, prompt: Prompt) -> Iterator[str]:
    yield f"item {shown(prompt.name or prompt.prompt_id)}" + (f", reference {shown(prompt.reference, 200)}" if prompt.reference else "")
    for role, turns in messages_by_role(task, prompt).items():
        for turn in turns:
            yield f"--- {role}: {turn.role}"
            yield shown_lines(turn.content)


def _wording(task: Task) -> Iterator[str]:
    ask, templates = task.table.ask, task.templates()
    asked = [("system", ask.system), ("answer", ask.answer or "(the row's own prompt, instruction or messages)")]
    shown_to = [("refine", templates.refine), ("aggregate", templates.aggregate), ("fuse", templates.fuse), ("conclude", templates.conclude)]
    for role, text in (*asked, *shown_to):
        if text is not None:
            yield f"--- wording of {role}"
            yield shown_lines(text)
