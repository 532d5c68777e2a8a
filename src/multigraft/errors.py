"""The error tree. What a model, a server or a scorer did wrong is a value (`types.Failure`, `types.Score`), never one of these.

    MultigraftError            what a user may see; its text says what is wrong and what to do; exit code 1
    |-- InputError             run file, flags or prompts: names file, line and field where there are any; exit code 2
    |   |-- UnknownNameError   a name that is in no table, with "did you mean"
    |   `-- SettingsChangedError   the run was started with other settings
    |-- WeightsError           weights that cannot be found, fetched or verified
    |-- SandboxError           no safe place for generated code can be had here
    |-- RecordError            a run folder that cannot be read or written
    |   |-- RunLockedError     another process owns it
    |   `-- DiskFullError      no space left; exit code 74
    `-- BudgetError            a budget that allows no call at all, or needs a price or size nobody gave; exit code 2

A mistake in the program itself (telling an outcome twice, an unknown call id) raises plain Python errors.
"""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class MultigraftError(Exception):
    """Base of everything a user may see."""

    exit_code = 1


class InputError(MultigraftError):
    """Something the user wrote does not fit.

    Args:
        message: what is wrong and what to do.
        file: path of the file, if it came from one.
        line: 1-based line, if known.
        field: the field or flag, if known.
    """

    exit_code = 2

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, field: str | None = None) -> None:
        place = ":".join(str(part) for part in (file, line) if part is not None)
        named = f"field '{field}': " if field else ""
        super().__init__(f"{place}: {named}{message}" if place else f"{named}{message}")
        self.file, self.line, self.field = file, line, field


class UnknownNameError(InputError):
    """A name that is in no table.

    Args:
        what: the kind of thing named, such as `strategy`.
        name: the name given.
        known: the names there are.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        super().__init__(f"unknown {what} '{name}'.{hint} Known: {', '.join(names)}.")


class SettingsChangedError(InputError):
    """The run was started with other settings; the message shows the difference."""


class WeightsError(MultigraftError):
    """Weights that cannot be found, fetched or verified."""


class SandboxError(MultigraftError):
    """Generated code cannot be run safely here; the message says what to install. Nothing was run."""


class RecordError(MultigraftError):
    """A run folder that cannot be read or written."""


class RunLockedError(RecordError):
    """Another living process owns the run."""


class DiskFullError(RecordError):
    """No space is left for the record; nothing recorded so far is lost."""

    exit_code = 74


class BudgetError(MultigraftError):
    """A budget that allows no call, or that needs a price or a size nobody gave."""

    exit_code = 2


@contextmanager
def boundary(kind: type[MultigraftError], what: str, *caught: type[Exception]) -> Iterator[None]:
    """Turn what a library raises at an edge into an error of ours, keeping the cause.

    Args:
        kind: the class to raise.
        what: what was being done, such as "reading model.gguf".
        caught: the library's exceptions.

    Raises:
        MultigraftError: of class `kind`, for each exception caught.
    """
    try:
        yield
    except MultigraftError:
        raise
    except caught as error:
        message = f"{what}: {str(error) or type(error).__name__}"
        raise kind(message) from error
