"""Responses compared with those of a baseline, as a pairwise scorer recorded them."""

from collections.abc import Iterable
from dataclasses import dataclass

from multigraft.errors import InputError
from multigraft.records.progress import best_so_far, responses_of
from multigraft.records.reader import PromptRecord

LENGTH, OPPONENT_LENGTH = "length", "opponent_length"
"""Details of a pairwise scorer: characters of the response, and of the baseline's."""
VERDICTS = ("verdict_first", "verdict_second")
"""Details of a pairwise scorer: its verdict with the response shown first, and shown second, from 2 (the response is much better) to -2 (much worse)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One response against the baseline's to the same prompt."""

    prompt_id: str
    preference: float
    """Probability, or share of verdicts, in favour of the response: in [0, 1]; a tie is 0.5."""
    length: float | None = None
    """Of the response, in characters."""
    opponent_length: float | None = None
    verdicts: tuple[float, ...] = ()
    """One for each order in which the two were shown, in [-2, 2]; empty where the scorer keeps none."""


@dataclass(frozen=True, slots=True)
class Compared:
    """All comparisons of a run: the response with the best reward of each finished prompt."""

    comparisons: tuple[Comparison, ...]
    num_missing: int
    """Finished prompts whose best response has no score of the scorer, or that have none."""


def compared(prompts: Iterable[PromptRecord], scorer: str) -> Compared:
    """Collect what a pairwise scorer said of the best responses of a run.

    Args:
        prompts: of the run; those that have not ended are passed over.
        scorer: its name.

    Raises:
        InputError: a value is no preference.
    """
    found: list[Comparison] = []
    missing = 0
    for record in prompts:
        if record.ended is None:
            continue
        total = len(responses_of(record))
        chosen = best_so_far(record, [total]).get(total)
        scored = record.calls[chosen].scores.get(scorer) if chosen is not None else None
        if scored is None or scored.score.value is None:
            missing += 1
            continue
        value, details = scored.score.value, scored.score.details
        if not 0.0 <= value <= 1.0:
            message = (
                f"scorer '{scorer}' gave {value:g} to prompt {record.number}: no preference over a baseline, which lies between 0 and 1; name a pairwise scorer"
            )
            raise InputError(message)
        verdicts = tuple(details[name] for name in VERDICTS if name in details)
        found.append(Comparison(record.prompt.prompt_id, value, details.get(LENGTH), details.get(OPPONENT_LENGTH), verdicts))
    return Compared(tuple(found), missing)
