"""The optimiser model's table of edge probabilities, checked against the one before.

Source: Wang et al., arXiv 2511.00086, section 5.2: probabilities are raised for sampled, useful edges only. The limits of one step are ours.
"""

from collections.abc import Container, Iterable, Mapping
from math import isfinite
from typing import Final

from multigraft.graphs.graph import Edge
from multigraft.optimize.agent.notes import Notes
from multigraft.types import Json

LEAST: Final = 0.01
MOST: Final = 0.99
LARGEST_CHANGE: Final = 0.3
_EPSILON: Final = 1e-9


def checked_table(
    given: Json, before: Mapping[Edge, float], *, sampled: Container[Edge], notes: Notes, largest_change: float = LARGEST_CHANGE
) -> dict[Edge, float]:
    """Take over what a reply says of edge probabilities, as far as it may.

    Args:
        given: a list of `{"src", "dst", "p"}`, or anything.
        before: the table so far; its edges are all there are.
        sampled: edges of the graph that was evaluated last: only these may become more probable.
        notes: what was changed is added: `edge unknown`, `p kept`, `p clipped`, `p limited`, `increase reverted`.
        largest_change: of one probability, [0, 1].

    Returns:
        A probability in [0.01, 0.99] for every edge of `before`.
    """
    table = {edge: min(MOST, max(LEAST, p)) for edge, p in before.items()}
    if given is None:
        return table
    if not isinstance(given, list):
        notes.add("p kept", "probs is no list")
        return table
    seen: set[Edge] = set()
    # A longer list than there are edges says some of them twice.
    for entry in given[: 2 * len(table) + 16]:
        edge, value = _entry(entry)
        if edge is None or edge not in table:
            notes.add("edge unknown", entry)
        elif edge in seen or value is None:
            notes.add("p kept", entry)
        else:
            seen.add(edge)
            table[edge] = _limited(edge, value, table[edge], sampled=sampled, notes=notes, largest_change=largest_change)
    return table


def _entry(entry: Json) -> tuple[Edge | None, float | None]:
    parts: Iterable[Json] = ()
    if isinstance(entry, dict):
        parts = (entry.get("src"), entry.get("dst"), entry.get("p"))
    elif isinstance(entry, list) and len(entry) == 3:
        parts = entry
    found = tuple(parts)
    if len(found) != 3 or not isinstance(found[0], str) or not isinstance(found[1], str):
        return None, None
    return (found[0], found[1]), number_of(found[2])


def number_of(value: Json) -> float | None:
    """Read a finite number; None: it is none. Truth values and texts are none, and an integer too large for a float is none either."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _limited(edge: Edge, value: float, before: float, *, sampled: Container[Edge], notes: Notes, largest_change: float) -> float:
    clipped = min(MOST, max(LEAST, value))
    if clipped != value:
        notes.add("p clipped", f"{edge[0]}>{edge[1]} {value:.6g}")
    if clipped > before + _EPSILON and edge not in sampled:
        notes.add("increase reverted", f"{edge[0]}>{edge[1]}")
        return before
    limited = min(before + largest_change, max(before - largest_change, clipped))
    if abs(limited - clipped) > _EPSILON:
        notes.add("p limited", f"{edge[0]}>{edge[1]} {before:.3g} to {clipped:.3g}")
    return limited
