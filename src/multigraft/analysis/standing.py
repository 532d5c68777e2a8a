"""Several runs measured by one baseline: win rates of each, and their ranking. Needs numpy and scipy."""

from collections.abc import Mapping
from dataclasses import dataclass

from multigraft.analysis.bradley_terry import STRONG_WEIGHT, Rank, battles_of, ranking_of
from multigraft.analysis.comparisons import Compared, is_graded
from multigraft.analysis.intervals import DEFAULT, Bootstrap
from multigraft.analysis.win_rate import WinRate, difficulties_of, win_rate_of
from multigraft.errors import InputError

BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class Standing:
    """What the runs are worth against the baseline."""

    win_rates: Mapping[str, WinRate]
    """By run."""
    num_missing: Mapping[str, int]
    """Prompts without a comparison, by run."""
    ranking: tuple[Rank, ...]
    """The best first, the baseline among them; empty for one run."""


def standing_of(runs: Mapping[str, Compared], *, strong_weight: float = STRONG_WEIGHT, bootstrap: Bootstrap = DEFAULT) -> Standing:
    """Compute win rates, and a ranking of several runs. The difficulty of prompts for a run is learnt from the other runs.

    Args:
        runs: by name; none is called `baseline`.
        strong_weight: of a verdict of "much better" in the ranking.
        bootstrap: over prompts.

    Raises:
        InputError: a run is called `baseline`.
    """
    if BASELINE in runs:
        message = f"a run is called '{BASELINE}', as the answers it is compared with are; give it another name, or its whole path"
        raise InputError(message)
    rates: dict[str, WinRate] = {}
    for name, found in runs.items():
        others = [other.comparisons for other_name, other in runs.items() if other_name != name]
        rates[name] = win_rate_of(found.comparisons, difficulties=difficulties_of(others) if others else None, bootstrap=bootstrap)
    missing = {name: found.num_missing for name, found in runs.items()}
    if len(runs) < 2:
        return Standing(rates, missing, ())
    graded = is_graded(each for found in runs.values() for each in found.comparisons)
    battles = [battle for name, found in runs.items() for battle in battles_of(name, found.comparisons, BASELINE, graded=graded, strong_weight=strong_weight)]
    return Standing(rates, missing, tuple(ranking_of(battles, BASELINE, bootstrap=bootstrap)))
