"""Responses compared with those of a baseline, as a pairwise scorer recorded them."""

from collections.abc import Iterable
from dataclasses import dataclass

from multigraft.errors import InputError, UnknownNameError
from multigraft.records.progress import best_so_far, responses_of
from multigraft.records.reader import PromptRecord, ScoreRecord

LENGTH, OPPONENT_LENGTH = "length", "opponent_length"
"""Details of a pairwise scorer: characters of the response, and of the baseline's."""
ORDERS = ("shown_first", "shown_second")
"""Details of a pairwise scorer: the preference with the response shown first, and shown second, in [0, 1]."""
SCORER = "scorer"
_GRADES = frozenset({0.0, 0.25, 0.5, 0.75, 1.0})


@dataclass(frozen=True, slots=True)
class Comparison:
    """One response against the baseline's to the same prompt."""

    prompt_id: str
    preference: float
    """Probability, or share of verdicts, in favour of the response: in [0, 1]; a tie is 0.5."""
    length: float | None = None
    """Of the response, in characters."""
    opponent_length: float | None = None
    orders: tuple[float, ...] = ()
    """The preference in each order in which the two were shown; empty where the scorer keeps none."""


@dataclass(frozen=True, slots=True)
class Compared:
    """All comparisons of a run: the response with the best reward of each finished prompt."""

    comparisons: tuple[Comparison, ...]
    """At least one."""
    num_missing: int
    """Finished prompts whose best response has no score of the scorer, or that have none."""
    versions: frozenset[str]
    """Of the scorer; several where it changed between two scorings."""


def comparison_of(record: PromptRecord, scorer: str) -> Comparison | None:
    """Read what a pairwise scorer said of a prompt's best response; None where it said nothing."""
    scored = _scored(record, scorer)
    if scored is None or scored.score.value is None:
        return None
    details = scored.score.details
    orders = tuple(details[name] for name in ORDERS if name in details)
    return Comparison(record.prompt.prompt_id, scored.score.value, details.get(LENGTH), details.get(OPPONENT_LENGTH), orders)


def check_preferences(comparisons: Iterable[Comparison], scorer: str) -> None:
    """Check that all values are preferences.

    Raises:
        InputError: one is not; then the scorer compares nothing.
    """
    for each in comparisons:
        if not 0.0 <= each.preference <= 1.0:
            message = (
                f"scorer '{scorer}' gave {each.preference:g} to prompt {each.prompt_id}: no preference, which lies between 0 and 1; name a pairwise scorer"
            )
            raise InputError(message)


def compared(prompts: Iterable[PromptRecord], scorer: str, run: str) -> Compared:
    """Collect what a pairwise scorer said of the best responses of a run.

    Args:
        prompts: of the run; those that have not ended are passed over.
        scorer: its name.
        run: folder of the run, for messages.

    Raises:
        InputError: it said nothing, or a value is no preference.
        UnknownNameError: no such scorer, and there are others.
    """
    found: list[Comparison] = []
    missing = 0
    versions: set[str] = set()
    known: set[str] = set()
    for record in prompts:
        known |= {name for call in record.calls.values() for name in call.scores}
        if record.ended is None:
            continue
        comparison, scored = comparison_of(record, scorer), _scored(record, scorer)
        if comparison is None or scored is None:
            missing += 1
            continue
        found.append(comparison)
        versions.add(scored.version)
    if known and scorer not in known:
        raise UnknownNameError(SCORER, scorer, known)
    if not found:
        message = f"{run}: no best response has a score of '{scorer}'; add it: multigraft score {run} --with {scorer}"
        raise InputError(message)
    check_preferences(found, scorer)
    return Compared(tuple(found), missing, frozenset(versions))


def _scored(record: PromptRecord, scorer: str) -> ScoreRecord | None:
    total = len(responses_of(record))
    chosen = best_so_far(record, [total]).get(total)
    return None if chosen is None else record.calls[chosen].scores.get(scorer)


def is_graded(comparisons: Iterable[Comparison]) -> bool:
    """Tell whether the verdicts say by how much: all are of five grades, and one of them is a quarter or three."""
    said = {value for each in comparisons for value in each.orders}
    return said <= _GRADES and bool(said & {0.25, 0.75})
