"""From runs of search methods to curves, evaluations needed and comparisons, all paired by seed and with 95% intervals."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from multigraft.analysis.intervals import Estimate, bootstrap_mean, estimated, mean, resampled_means
from multigraft.types import Json

ENOUGH: Final = 0.95
"""Share of the best known quality that counts as found."""
BASELINE: Final = "random"


class Searched(NamedTuple):
    """One search."""

    case: str
    method: str
    seed: int
    by_validation: tuple[float, ...]
    """True quality of the graph that the search would return, after 1, 2, ... evaluations."""
    by_training: tuple[float, ...]
    """The same for the graph with the highest score in training."""
    evaluations: int
    """Graphs evaluated until it stopped."""
    consults: int
    calls: int
    """Model calls paid, over all graphs and questions."""
    cpu_s: float
    notes: Mapping[str, int]


class Summary(NamedTuple):
    """A method on a case."""

    method: str
    seeds: int
    final: Estimate
    """True quality at the end."""
    final_by_training: Estimate
    gain: Estimate
    """Over the baseline, paired by seed."""
    reached: float
    """Share of seeds that came to `ENOUGH` of the best known."""
    needed: Estimate
    """Evaluations to come there; a seed that never did counts with all it had (a restricted mean)."""
    ratio: Estimate
    """Of evaluations needed, to the baseline's."""
    share_of_best: float
    """Mean final quality over the best known."""
    evaluations: float
    calls: float
    consults: float
    cpu_s: float


def needed(curve: Sequence[float], enough: float) -> int | None:
    """Return after how many evaluations a curve first comes to a quality; None: never."""
    return next((place for place, quality in enumerate(curve, start=1) if quality >= enough), None)


def summaries(runs: Sequence[Searched], best: Mapping[int, float]) -> list[Summary]:
    """Summarise the runs of one case; methods are compared on the seeds of the baseline.

    Args:
        runs: of one case; each method has run the same seeds.
        best: quality of the best known graph, by seed.
    """
    by_method: dict[str, list[Searched]] = {}
    for run in sorted(runs, key=lambda run: run.seed):
        by_method.setdefault(run.method, []).append(run)
    base = by_method.get(BASELINE, [])
    return [_summary(method, found, base, best) for method, found in by_method.items()]


def _summary(method: str, runs: Sequence[Searched], base: Sequence[Searched], best: Mapping[int, float]) -> Summary:
    base = base or runs
    if [run.seed for run in runs] != [run.seed for run in base]:
        message = f"'{method}' and '{BASELINE}' ran different seeds, so they cannot be paired"
        raise ValueError(message)
    reached = [needed(run.by_validation, ENOUGH * best[run.seed]) for run in runs]
    times = [float(place or len(run.by_validation)) for place, run in zip(reached, runs, strict=True)]
    base_times = [float(needed(run.by_validation, ENOUGH * best[run.seed]) or len(run.by_validation)) for run in base]
    mine, theirs = resampled_means([times, base_times])
    ratios = [one / other for one, other in zip(mine, theirs, strict=True)]
    finals = [run.by_validation[-1] for run in runs]
    return Summary(
        method,
        len(runs),
        estimate(finals),
        estimate([run.by_training[-1] for run in runs]),
        estimate([run.by_validation[-1] - other.by_validation[-1] for run, other in zip(runs, base, strict=True)]),
        mean([float(place is not None) for place in reached]),
        estimate(times),
        estimated(mean(times) / mean(base_times), ratios, len(times)),
        mean([final / best[run.seed] for final, run in zip(finals, runs, strict=True)]),
        mean([float(run.evaluations) for run in runs]),
        mean([float(run.calls) for run in runs]),
        mean([float(run.consults) for run in runs]),
        mean([run.cpu_s for run in runs]),
    )


def curves(runs: Sequence[Searched]) -> dict[str, Json]:
    """Return mean, lower and upper end of the true quality after each number of evaluations, by method."""
    found: dict[str, Json] = {}
    for method in dict.fromkeys(run.method for run in runs):
        mine = [run for run in runs if run.method == method]
        found[method] = {
            "by_validation": [rounded(estimate([run.by_validation[place] for run in mine])) for place in range(len(mine[0].by_validation))],
            "by_training": [rounded(estimate([run.by_training[place] for run in mine])) for place in range(len(mine[0].by_training))],
        }
    return found


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate a mean over seeds."""
    found = bootstrap_mean(values)
    assert found is not None
    return found


def rounded(found: Estimate) -> list[Json]:
    """Value, low and high, to four decimals."""
    return [None if number is None else round(number, 4) for number in (found.value, found.low, found.high)]


def described(row: Summary) -> dict[str, Json]:
    """Return a summary as JSON."""
    return {name: rounded(value) if isinstance(value, Estimate) else value for name, value in row._asdict().items() if name != "method"}


def table(title: str, found: Sequence[Summary]) -> str:
    """Write the summaries of a case as a table in Markdown."""
    head = (
        f"### {title}\n\n"
        "| method | final quality | by training alone | over random | of best | seeds at 95% of best | evaluations to it | ratio to random | calls | CPU s |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
    )
    rows = [
        f"| {row.method} | {shown(row.final)} | {shown(row.final_by_training)} | {shown(row.gain, sign=True)} | {row.share_of_best:.1%} | {row.reached:.0%} "
        f"| {shown(row.needed, digits=1)} | {shown(row.ratio, digits=2)} | {row.calls:.0f} | {row.cpu_s:.2f} |\n"
        for row in sorted(found, key=lambda row: -row.final.value)
    ]
    return head + "".join(rows)


def shown(found: Estimate, *, digits: int = 3, sign: bool = False) -> str:
    """Write a value and its interval."""
    plus = "+" if sign else ""
    ends = "" if found.low is None or found.high is None else f" [{found.low:{plus}.{digits}f}, {found.high:{plus}.{digits}f}]"
    return f"{found.value:{plus}.{digits}f}{ends}"
