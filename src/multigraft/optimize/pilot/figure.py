"""The picture of a pilot: four panels, every point with its interval. Needs matplotlib."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from multigraft.errors import InputError
from multigraft.optimize.findings import Measured
from multigraft.optimize.pilot.runs import PilotRuns
from multigraft.optimize.pilot.verdict import Verdict, measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK = "#4053d3"
_SECOND = "#b51d14"


def svg_of_pilot(runs: PilotRuns, verdict: Verdict) -> bytes:
    """Draw a pilot.

    Returns:
        An SVG file. Equal pilots give equal files.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: PLC0415 - an optional extra
        from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra
    except ModuleNotFoundError as error:
        message = "the figure of a pilot needs matplotlib; type: pip install 'multigraft[plots]'"
        raise InputError(message) from error
    written = BytesIO()
    # Names of models are text, never markup of formulas.
    with matplotlib.rc_context({"svg.hashsalt": "multigraft", "svg.fonttype": "none", "text.parse_math": False}):
        figure = Figure(figsize=(11, 8), layout="constrained")
        singles, copies, lines, grid = figure.subplots(2, 2).flatten()
        _bars(singles, verdict)
        _copies(copies, runs)
        _shapes(lines, runs, verdict)
        _grid(grid, verdict)
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def _bars(axes: "Axes", verdict: Verdict) -> None:
    rows = [(model, found, _INK) for model, found in verdict.findings.singles.items()]
    rows += [(" + ".join(f"{count} {model}" for model, count in mix.counts.items()), mix.measured, _SECOND) for mix in verdict.findings.mixes]
    for place, (label, found, colour) in enumerate(rows):
        axes.errorbar([found.mean], [place], xerr=_reach([found]), fmt="o", color=colour, capsize=3)
        axes.text(0.01, place - 0.18, label, va="bottom", fontsize=8, transform=axes.get_yaxis_transform())
    axes.set_yticks([])
    axes.set_ylim(len(rows), -1)
    axes.set_xlabel("score, 95% interval")
    axes.set_title("single models (blue) and mixes at one budget (red)", fontsize=10)


def _copies(axes: "Axes", runs: PilotRuns) -> None:
    for model in runs.singles:
        points = [(count, found) for (name, count), evaluation in runs.copies.items() if name == model and (found := measured(evaluation))]
        if points:
            _line(axes, [count for count, _ in points], [found for _, found in points], model)
    axes.set_xlabel("copies side by side, and a sink")
    axes.set_ylabel("score")
    axes.set_title("copies of one model", fontsize=10)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)


def _shapes(axes: "Axes", runs: PilotRuns, verdict: Verdict) -> None:
    findings = verdict.findings
    curves = (("width", findings.widths, verdict.width_peak, _INK), ("depth", findings.depths, verdict.depth_peak, _SECOND))
    for label, curve, peak, colour in curves:
        if curve:
            _line(axes, list(curve), list(curve.values()), label, colour)
        if peak is not None:
            axes.axvline(peak.setting, linestyle=":", color=colour)
    axes.set_xlabel(f"agents ({runs.block_model})")
    axes.set_title("width and depth; dotted: the smallest within one standard error of the best", fontsize=10)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)


def _grid(axes: "Axes", verdict: Verdict) -> None:
    cells = verdict.findings.grid
    widths, depths = sorted({width for width, _ in cells}), sorted({depth for _, depth in cells})
    if not cells:
        axes.set_axis_off()
        return
    values = [[cells[width, depth].mean if (width, depth) in cells else float("nan") for width in widths] for depth in depths]
    axes.imshow(values, origin="lower", aspect="auto", cmap="viridis")
    middle = sum(found.mean for found in cells.values()) / len(cells)
    for (width, depth), found in cells.items():
        best = width in verdict.depth_by_width and verdict.depth_by_width[width].setting == depth
        colour = "black" if found.mean > middle else "white"
        axes.text(widths.index(width), depths.index(depth), f"{found.mean:.0%}{' *' if best else ''}", ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(widths)), [str(width) for width in widths])
    axes.set_yticks(range(len(depths)), [str(depth) for depth in depths])
    axes.set_xlabel("width")
    axes.set_ylabel("depth")
    axes.set_title("width x depth; *: best depth of its width", fontsize=10)


def _line(axes: "Axes", settings: Sequence[int], points: Sequence[Measured], label: str, colour: str | None = None) -> None:
    axes.errorbar(settings, [found.mean for found in points], yerr=_reach(points), marker="o", capsize=3, label=label, color=colour)
    axes.set_xscale("log", base=2)
    axes.set_xticks(settings, [str(setting) for setting in settings])


def _reach(points: Sequence[Measured]) -> list[list[float]]:
    return [[max(0.0, found.mean - found.low) for found in points], [max(0.0, found.high - found.mean) for found in points]]
