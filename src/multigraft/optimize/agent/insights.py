"""What is known of the task beforehand, for the optimiser model: the numbers of the user's own pilot, or general rules that say they stand on no data.

Source: Wang et al., arXiv 2511.00086, section 4: a task prefers certain models and sizes; width and depth each have a best value; they trade.
"""

from collections.abc import Mapping
from typing import Final

from multigraft.optimize.agent.team import Names
from multigraft.optimize.findings import Findings, Measured
from multigraft.types import Json

NO_DATA: Final = "no data: these are general rules, nothing was measured on this task"
MEASURED: Final = "measured on this task; intervals of 95%"

_MODELS_RULE: Final = (
    "Copies of the strongest small model often beat one large model where answers are reasoned out; one large model often wins where they are known."
)
_SHAPE_RULES: Final = (
    "More agents side by side help up to a point, then not any more, or harm.",
    "Longer chains help up to a point, then not any more, or harm.",
    "The wider a graph is, the shorter its best chains are, and the other way round.",
)


def models_insight(findings: Findings | None, names: Names) -> dict[str, Json]:
    """Say which models the task prefers."""
    if findings is None or not (findings.singles or findings.mixes):
        return {"source": NO_DATA, "rules": [_MODELS_RULE]}
    data: dict[str, Json] = {"source": MEASURED}
    singles: list[Json] = [{"model": names.shown(model), **_measured(found)} for model, found in findings.singles.items() if model in names.real]
    if singles:
        data["alone"] = singles
    mixes: list[Json] = [
        {"counts": {names.shown(model): count for model, count in mix.counts.items()}, **_measured(mix.measured)}
        for mix in findings.mixes
        if all(model in names.real for model in mix.counts)
    ]
    if mixes:
        data["side_by_side"] = mixes
    data["preference"] = findings.preference
    return data


def shape_insight(findings: Findings | None) -> dict[str, Json]:
    """Say which widths and depths the task prefers, and how they trade."""
    if findings is None or not (findings.widths or findings.depths or findings.grid):
        return {"source": NO_DATA, "rules": [*_SHAPE_RULES]}
    data: dict[str, Json] = {"source": MEASURED}
    if findings.widths:
        data["width"] = _by_size(findings.widths)
    if findings.depths:
        data["depth"] = _by_size(findings.depths)
    if findings.grid:
        data["width_and_depth"] = [{"width": width, "depth": depth, **_measured(found)} for (width, depth), found in sorted(findings.grid.items())]
    data |= {name: value for name, value in (("best_width", findings.best_width), ("best_depth", findings.best_depth)) if value is not None}
    return data


def _by_size(found: Mapping[int, Measured]) -> list[Json]:
    return [{"agents": size, **_measured(measured)} for size, measured in sorted(found.items())]


def _measured(found: Measured) -> dict[str, Json]:
    data: dict[str, Json] = {"quality": round(found.mean, 3), "interval": [round(found.low, 3), round(found.high, 3)]}
    return data if found.units is None else {**data, "units": float(f"{found.units:.4g}")}
