"""`pilot.json`: everything a pilot found, written for people and programs, and read back for an optimiser model."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from multigraft.analysis.intervals import Estimate
from multigraft.errors import InputError, boundary
from multigraft.graphs.cost import Workload
from multigraft.optimize.findings import Findings, Measured, Mix, Preference
from multigraft.optimize.pilot.runs import PilotRuns
from multigraft.optimize.pilot.verdict import Peak, Trade, Verdict, measured
from multigraft.types import Json

SCHEMA: Final = "multigraft.pilot"
VERSION: Final = 1


def text_of_pilot(runs: PilotRuns, verdict: Verdict, workload: Workload, about: Mapping[str, Json], questions: Sequence[str] = ()) -> str:
    """Write a pilot down.

    Args:
        runs: what was run.
        verdict: what follows.
        workload: tokens of a call of the task.
        about: task, models, seed and whatever else says what was measured.
        questions: their identities, so that no search chooses or compares by what the pilot has seen.

    Returns:
        JSON with a schema version.
    """
    content = content_of_pilot(runs, verdict, workload, about, questions)
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def content_of_pilot(runs: PilotRuns, verdict: Verdict, workload: Workload, about: Mapping[str, Json], questions: Sequence[str] = ()) -> dict[str, Json]:
    """Return what `text_of_pilot` writes, for programs."""
    findings = verdict.findings
    copies = [
        {"model": model, "copies": count, **_point(measured(evaluation)), "gain_per_unit": verdict.gains.get((model, count))}
        for (model, count), evaluation in runs.copies.items()
    ]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "about": dict(about),
        "questions": list(questions),
        "prompt_tokens": workload.prompt_tokens,
        "completion_tokens": workload.completion_tokens,
        "sink": {"model": runs.sink.model, "role": str(runs.sink.role)},
        "block_model": runs.block_model,
        "singles": [{"model": model, **_point(found)} for model, found in findings.singles.items()],
        "copies": cast("Json", copies),
        "mix_nodes": runs.mix_nodes,
        "mixes_there_are": runs.num_mixes,
        "mixes": [{"counts": dict(mix.counts), **_point(mix.measured)} for mix in findings.mixes],
        "widths": [{"width": width, **_point(found)} for width, found in findings.widths.items()],
        "depths": [{"depth": depth, **_point(found)} for depth, found in findings.depths.items()],
        "grid": [{"width": width, "depth": depth, **_point(found)} for (width, depth), found in findings.grid.items()],
        "peaks": {
            "copies": {model: _peak(found) for model, found in verdict.copies_peaks.items()},
            "width": _peak(verdict.width_peak),
            "depth": _peak(verdict.depth_peak),
            "depth_by_width": {str(width): _peak(found) for width, found in verdict.depth_by_width.items()},
            "width_by_depth": {str(depth): _peak(found) for depth, found in verdict.width_by_depth.items()},
            "trade": _trade(verdict.trade),
        },
        "mix_less_largest": _estimate(verdict.mix_difference),
        "preference": findings.preference,
    }


class Told(NamedTuple):
    """What a search takes from a pilot."""

    findings: Findings
    questions: frozenset[str]
    """Identities of those it was made on."""


def told_by(text: str, file: str | None = None) -> Told:
    """Read a pilot back.

    Args:
        text: of a `pilot.json`.
        file: where it comes from, for messages.

    Raises:
        InputError: it is no pilot of this version; names the field.
    """
    with boundary(InputError, file or "pilot", orjson.JSONDecodeError):
        content = orjson.loads(text)
    try:
        found = _PilotFile.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = f"{first['msg']}; is it a pilot.json of this version?"
        raise InputError(message, file=file, field=".".join(map(str, first["loc"])) or None) from error
    findings = Findings(
        singles={single.model: single.measured() for single in found.singles},
        mixes=tuple(Mix(mix.counts, mix.measured()) for mix in found.mixes),
        widths={each.width: each.measured() for each in found.widths},
        depths={each.depth: each.measured() for each in found.depths},
        grid={(each.width, each.depth): each.measured() for each in found.grid},
        best_width=found.peaks.width.setting if found.peaks.width else None,
        best_depth=found.peaks.depth.setting if found.peaks.depth else None,
        preference=found.preference,
    )
    return Told(findings, frozenset(found.questions))


class _Table(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Point(_Table):
    mean: float = Field(ge=0, le=1)
    low: float
    high: float
    questions: int = Field(ge=1)
    units: float | None = None

    def measured(self) -> Measured:
        return Measured(self.mean, self.low, self.high, self.questions, self.units)


class _Single(_Point):
    model: str


class _MixPoint(_Point):
    counts: dict[str, int]


class _Width(_Point):
    width: int = Field(ge=1)


class _Depth(_Point):
    depth: int = Field(ge=1)


class _Cell(_Width, _Depth):
    pass


class _Setting(_Table):
    setting: int = Field(ge=1)


class _Peaks(_Table):
    width: _Setting | None
    depth: _Setting | None


class _PilotFile(_Table):
    singles: Sequence[_Single]
    mixes: Sequence[_MixPoint]
    widths: Sequence[_Width]
    depths: Sequence[_Depth]
    grid: Sequence[_Cell]
    peaks: _Peaks
    preference: Preference
    questions: Sequence[str] = ()
    schema_name: str = Field(alias="schema", pattern=f"^{SCHEMA}$")
    version: int = Field(ge=VERSION, le=VERSION)


def _point(found: Measured | None) -> dict[str, Json]:
    return {} if found is None else cast("dict[str, Json]", found._asdict())


def _peak(found: Peak | None) -> Json:
    return None if found is None else cast("Json", found._asdict())


def _trade(found: Trade | None) -> Json:
    return None if found is None else {"slope": _estimate(found.slope), "widths": list(found.widths), "depths": list(found.depths)}


def _estimate(found: Estimate | None) -> Json:
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high, "questions": found.count}
