"""Which models and how many of each: the optimiser's first reply.

Source: Wang et al., arXiv 2511.00086, section 5.2 (initialisation).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from multigraft.optimize.agent.notes import Notes
from multigraft.optimize.agent.reading import read_object
from multigraft.optimize.agent.team import Names
from multigraft.optimize.agent.validator import Refused
from multigraft.optimize.combinations import Combination
from multigraft.types import Json


class Picks(NamedTuple):
    """What the optimiser would try."""

    combinations: tuple[Combination, ...]
    """Distinct, each allowed; at least one."""
    notes: tuple[str, ...]


def validated_picks(text: str, listed: Sequence[Combination], models: Sequence[str], names: Names, *, most: int) -> Picks | Refused:
    """Read picks, each made one of the combinations that were listed.

    Args:
        text: what the model wrote; anything.
        listed: what it could choose from; at least one.
        models: of the pool, in the order of the counts.
        names: by which the model knows them.
        most: picks to take; >= 1.

    Returns:
        The picks; or why there are none.
    """
    read = read_object(text, "candidates")
    if read.found is None:
        return Refused(read.problem)
    value = read.found["candidates"]
    if not isinstance(value, list):
        return Refused("candidates is no list")
    notes = Notes()
    picks: dict[Combination, None] = {}
    for entry in value:
        counts = _counts(entry, models, names, notes)
        if counts is None:
            continue
        nearest = counts if counts in listed else min(listed, key=lambda combination: sum(abs(a - b) for a, b in zip(combination, counts, strict=True)))
        if nearest != counts:
            notes.add("pick moved", f"{list(counts)} to {list(nearest)}")
        if nearest in picks:
            notes.add("pick twice", list(nearest))
        elif len(picks) == most:
            notes.add("pick dropped", list(nearest))
        else:
            picks[nearest] = None
    return Picks(tuple(picks), notes.listed()) if picks else Refused("no candidate with counts of models")


def _counts(entry: Json, models: Sequence[str], names: Names, notes: Notes) -> Combination | None:
    given = entry.get("counts") if isinstance(entry, dict) else None
    if not isinstance(given, dict):
        notes.add("pick malformed", entry)
        return None
    counts: dict[str, int] = dict.fromkeys(models, 0)
    for name, value in given.items():
        model = names.model(name)
        if model not in counts:
            notes.add("model unknown", name)
        elif isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1_000_000:
            notes.add("count malformed", f"{name} {value!r:.40}")
        else:
            counts[model] = value
    if not any(counts.values()):
        notes.add("pick empty", list(given)[:4])
        return None
    return tuple(counts.values())


def best_listed(listed: Sequence[Combination], models: Sequence[str], scores: Mapping[str, float], *, most: int) -> tuple[Combination, ...]:
    """Choose without a model: the combinations with the best mean score of their agents alone, then those of most agents.

    Args:
        listed: at least one.
        models: in the order of the counts.
        scores: of each model alone, from a pilot; empty: none is known, and the first, the middle and the last of the list are taken.
        most: to choose; >= 1.
    """
    if not scores:
        # The list goes from many small ones to few large ones.
        places = sorted({0, len(listed) - 1, len(listed) // 2}, key=lambda place: (place not in {0, len(listed) - 1}, place))
        return tuple(listed[place] for place in places[:most])

    def value(combination: Combination) -> tuple[float, int]:
        total = sum(combination)
        return sum(count * scores.get(model, 0.0) for model, count in zip(models, combination, strict=True)) / max(1, total), total

    return tuple(sorted(listed, key=value, reverse=True)[:most])
