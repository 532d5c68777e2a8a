"""The settings of a pilot: a run file, changed by flags."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from multigraft.cli.optimize_caps import words_of
from multigraft.cli.optimize_settings import SearchFlags, merged
from multigraft.cli.settings import table_of
from multigraft.config import RunFile, checked, read_run_file
from multigraft.errors import InputError
from multigraft.optimize.real.splits import pilot_size

_SHARED: Final = frozenset({"models", "sinks", "tokens", "measured_questions", "scorer", "score_range", "node_scores"})
"""Of `[optimize]`, what a pilot goes by; a method, caps and splits are a search's own."""
_MOST_DIGITS: Final = 9


def pilot_settings_of(flags: SearchFlags, given: Mapping[str, object]) -> RunFile:
    """Merge a run file and flags; a flag wins.

    Args:
        flags: that a pilot has in common with a search.
        given: fields of `[pilot]` that were said.

    Raises:
        InputError: names the file and field, or the flag, that does not fit.
    """
    file = str(flags.run_file) if flags.run_file else None
    table = (table_of(read_run_file(flags.run_file), "pilot") if flags.run_file else {}) | dict(given)
    sink = table.get("sink")
    if isinstance(sink, str) and len(words_of(sink)) != 1:
        message = f"'{sink}' is not one sink; a pilot compares graphs that end alike: name a model, vote or best"
        raise InputError(message, field="--sink")
    settings = merged(replace(flags, sinks=sink if isinstance(sink, str) else ""))
    settings["pilot"] = table
    settings["optimize"] = {name: value for name, value in table_of(settings, "optimize").items() if name in _SHARED} | {"method": "random"}
    return checked(settings, file)


def sized_pilot(run_file: RunFile, num_questions: int) -> RunFile:
    """Choose how many questions a pilot gets, where the user did not.

    Args:
        run_file: of the pilot.
        num_questions: that there are.

    Raises:
        InputError: there are too few.
    """
    search, table = run_file.optimize, run_file.pilot
    if search is None or table is None:
        return run_file
    chosen = table.questions or pilot_size(num_questions)
    if chosen > num_questions:
        message = f"there are {num_questions} questions, not {chosen}"
        raise InputError(message, field="-n")
    tables = {"pilot": table.model_copy(update={"questions": chosen}), "optimize": search.model_copy(update={"train": chosen})}
    return run_file.model_copy(update=tables)


def whole_numbers(text: str, flag: str) -> list[int]:
    """Read whole numbers from 1 on: `1,2,4`.

    Args:
        text: of the flag.
        flag: its name, for messages.

    Raises:
        InputError: it is none of this form.
    """
    words = words_of(text)
    if not words or not all(word.isdecimal() and len(word) <= _MOST_DIGITS and int(word) for word in words):
        message = f"'{text}' are no whole numbers from 1 on; write them like 1,2,4,8"
        raise InputError(message, field=flag)
    return sorted({int(word) for word in words})
