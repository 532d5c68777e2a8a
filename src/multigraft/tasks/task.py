"""A task: where its items come from, how they are asked in each role, how answers are read and graded."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from multigraft.errors import InputError, UnknownNameError, boundary
from multigraft.prompting.library import load_templates
from multigraft.prompting.render import Templates
from multigraft.tasks.files import Row, read_rows
from multigraft.tasks.items import fields_of, messages_of
from multigraft.tasks.options import Chosen, Given, chosen, filters_of
from multigraft.tasks.prompts import CheckConstraints, checked_prompt, numbered
from multigraft.tasks.schema import SourceTable, SuggestionTable, TaskTable
from multigraft.tasks.sources import rows_of
from multigraft.tasks.toml_place import line_of
from multigraft.types import Prompt

NO_OPTIONS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Task:
    """A task as its file describes it."""

    name: str
    """Of the file, without its suffix."""
    folder: Path
    """Where its file is; paths in it are relative to that."""
    table: TaskTable

    @property
    def grade(self) -> tuple[dict[str, object], ...]:
        """The grader: parts as `[[reward.parts]]` of a run file has them; none for the user's own prompts."""
        return tuple(part.settings() for part in self.table.grade)

    @property
    def suggested_rewards(self) -> tuple[SuggestionTable, ...]:
        """Scorers that may guide a search."""
        return self.table.suggest.reward

    @property
    def suggested_judges(self) -> tuple[SuggestionTable, ...]:
        """Scorers that judge from outside."""
        return self.table.suggest.judge

    @property
    def needs_the_hub(self) -> bool:
        """Whether its items are fetched over the network, unless a file is given."""
        return any(source.needs_the_hub for source in self.table.source)

    def templates(self) -> Templates:
        """Return the wording of the roles that show earlier responses."""
        ask = self.table.ask
        return load_templates(ask.family, refine=ask.refine, aggregate=ask.aggregate, fuse=ask.fuse, conclude=ask.conclude)

    def options(self, given: Given = NO_OPTIONS) -> Chosen:
        """Read and check options.

        Raises:
            InputError: an option or a value that there is not; names the option.
        """
        return chosen(self.table.options, given)

    def source(self, options: Chosen) -> SourceTable | None:
        """Choose where items come from; None when only from the user's file."""
        for source in self.table.source:
            if all(set(options.values.get(name, ())) & set(values) for name, values in source.when.items()):
                return source
        if self.table.source:
            wanted = ", ".join(f"{name}={'|'.join(map(str, values))}" for source in self.table.source for name, values in source.when.items())
            message = f"no source of the task '{self.name}' fits the options; there are sources for {wanted}"
            raise InputError(message)
        return None

    def prompts(
        self,
        items: Path | None = None,
        options: Given = NO_OPTIONS,
        *,
        limit: int | None = None,
        check_constraints: CheckConstraints | None = None,
        note: Callable[[str], None] | None = None,
        cache: Path | None = None,
    ) -> list[Prompt]:
        """Read the items and ask them.

        Args:
            items: JSONL, CSV or Parquet with the same fields; None: from the task's own source.
            options: by name, as a user gives them.
            limit: only so many items from the beginning, after the options chose; >= 1.
            check_constraints: told the constraints of each item that has some.
            note: told what was changed in texts.
            cache: where `datasets` keeps what it reads; None: its own place.

        Returns:
            At least one prompt, in the order of the source. Their fields are the item's, and the task's name as `task`.

        Raises:
            InputError: an option that does not fit, a source that cannot be read, or the first bad row.
        """
        if limit is not None and limit < 1:
            message = f"limit must be at least 1, not {limit}"
            raise InputError(message, field="limit")
        taken = self.options(options)
        source = None if items is not None else self.source(taken)
        if items is None and source is None:
            message = f"the task '{self.name}' has no items of its own; give them as a file"
            raise InputError(message)
        rows = rows_of(source, taken, self.folder, cache) if source is not None else read_rows(items or self.folder)
        origin = source.named if source is not None else str(items)
        prompts = list(islice(self._prompts(rows, taken, check_constraints), limit))
        if not prompts:
            used = {name: values for name, values in taken.values.items() if name in taken.by_the_user}
            message = f"no item in it{f' that fits the options {used}' if used else ''}"
            raise InputError(message, file=origin)
        return numbered(prompts, origin, note)

    def _prompts(self, rows: Iterator[Row], options: Chosen, check_constraints: CheckConstraints | None) -> Iterator[Prompt]:
        filters = filters_of(self.table.options, options)
        for row in rows:
            item = fields_of(row, self.table, options)
            try:
                kept = all(chosen_by.keeps(item.values) for chosen_by in filters)
            except InputError as error:
                raise item.error(str(error)) from error
            if kept:
                yield checked_prompt(item, messages_of(item, self.table.ask, options), check_constraints)


def library() -> tuple[str, ...]:
    """Return the names of the tasks that come with the package, in order."""
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in files("multigraft.tasks").joinpath("library").iterdir() if entry.name.endswith(".toml")))


def load_task(name: str | Path) -> Task:
    """Load a task.

    Args:
        name: of a task that comes with the package, or the path of a task file: one that ends in `.toml` or holds a slash.

    Raises:
        UnknownNameError: no task of this name.
        InputError: the file cannot be read, or a field of it does not fit; names file, line and field.
    """
    text = str(name)
    if isinstance(name, Path) or text.endswith(".toml") or "/" in text:
        path = Path(name)
        with boundary(InputError, f"reading {path}", OSError, UnicodeDecodeError):
            return Task(path.stem, path.parent, _table(path.read_text("utf-8"), str(path)))
    if text not in library():
        what = "task"
        raise UnknownNameError(what, text, library())
    resource = files("multigraft.tasks").joinpath("library", f"{text}.toml")
    return Task(text, Path(str(resource)).parent, _table(resource.read_text("utf-8"), str(resource)))


def _table(text: str, file: str) -> TaskTable:
    with boundary(InputError, file, tomllib.TOMLDecodeError):
        settings = tomllib.loads(text)
    try:
        return TaskTable.model_validate(_tuples(settings))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # Names of branches of a choice are no names of the file.
        location = [part for part in first["loc"] if isinstance(part, int) or part.isidentifier()]
        given = "" if first["type"] in _WITHOUT_VALUE else f", not {first['input']!r}"[:200]
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        message = f"{first['msg'].removeprefix('Value error, ')}{given}{more}"
        field = ".".join(map(str, location)) or None
        raise InputError(message, file=file, line=line_of(text, location), field=field) from error


_WITHOUT_VALUE = frozenset({"missing", "value_error", "extra_forbidden"})


def _tuples(value: object) -> object:
    """Make tuples of TOML's lists: the tables are frozen, and strict about types."""
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
