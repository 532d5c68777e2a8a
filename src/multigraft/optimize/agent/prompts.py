"""The words an optimiser model is asked in. The wording is ours, in text files, one folder a style; data goes into it as JSON in a quotation."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from multigraft.graphs.graph import NodeRole
from multigraft.optimize.agent.feedback import Amounts, Situation, models_data, quoted, situation_data, task_data
from multigraft.optimize.agent.insights import models_insight, shape_insight
from multigraft.optimize.agent.notes import shown
from multigraft.optimize.agent.schemas import critique_schema, graph_schema, picks_schema, tables_schema
from multigraft.optimize.agent.team import Team
from multigraft.optimize.combinations import Combination
from multigraft.optimize.problem import Consult, Problem
from multigraft.prompting.places import fill
from multigraft.types import Json, Message

Style: TypeAlias = Literal["full", "compact"]

AMOUNTS: Final[Mapping[Style, Amounts]] = MappingProxyType(
    {
        "full": Amounts(tried=40, history=2, probabilities=48, task_characters=2000),
        "compact": Amounts(tried=6, history=0, probabilities=0, task_characters=300),
    }
)
_SMALL_PARAMETERS: Final = 4e9
_MOST_LISTED: Final[Mapping[Style, int]] = MappingProxyType({"full": 40, "compact": 8})
_MOST_EDGES: Final[Mapping[Style, int]] = MappingProxyType({"full": 64, "compact": 16})


def style_for(parameters: float | None) -> Style:
    """Choose the style for a model of a size: short prompts where instructions of a page are beyond it.

    Args:
        parameters: of the optimiser model; None: not known, as of most served models, which are large.
    """
    return "compact" if parameters is not None and parameters < _SMALL_PARAMETERS else "full"


def picks_consult(
    problem: Problem,
    team: Team,
    listed: Sequence[Combination],
    *,
    picks: int,
    style: Style,
    tried: Sequence[Mapping[str, Json]] = (),
    attempt: int = 0,
    trouble: str = "",
) -> Consult:
    """Ask which models a team should have.

    Args:
        problem: what is searched for.
        team: any; for the names.
        listed: combinations to choose from.
        picks: wanted; >= 1.
        style: of the wording.
        tried: shapes of graphs tried already, and what they achieved.
        attempt: from 0.
        trouble: what was wrong with the reply before.
    """
    names = [team.names.shown(model) for model in problem.space.models]
    options: list[Json] = [{name: count for name, count in zip(names, combination, strict=True) if count} for combination in listed[: _MOST_LISTED[style]]]
    data: dict[str, Json] = {
        "task": task_data(problem, AMOUNTS[style]),
        "caps": {kind: cap for kind, cap in problem.space.caps._asdict().items() if cap is not None},
        "models": models_data(problem, team),
        "pilot": models_insight(problem.findings, team.names),
        "options": options,
    }
    if tried:
        data["tried"] = [dict(shape) for shape in tried[-AMOUNTS[style].tried :]]
    form = '{"candidates":[{"why":"...","counts":{' + ",".join(f'"{name}":0' for name in names[:2]) + "}}]}"
    user = fill(_template(style, "picks"), {"data": quoted(data), "picks": str(picks), "form": form})
    schema = picks_schema(names, max(max(combination) for combination in listed), picks)
    return _consult(style, user, schema, attempt, trouble)


def graph_consult(situation: Situation, *, style: Style, attempt: int = 0, trouble: str = "") -> Consult:
    """Ask for the next graph, insights included."""
    values = {"insight": quoted(shape_insight(situation.problem.findings)), "situation": quoted(situation_data(situation, AMOUNTS[style]))}
    return _graph(situation, "graph", values, style=style, attempt=attempt, trouble=trouble)


def rewrite_consult(situation: Situation, critique: str, *, amounts: Amounts, style: Style, attempt: int = 0, trouble: str = "") -> Consult:
    """Ask for a graph that mends what a critique says."""
    values = {"critique": quoted({"critique": critique}), "situation": quoted(situation_data(situation, amounts))}
    return _graph(situation, "rewrite", values, style=style, attempt=attempt, trouble=trouble)


def critique_consult(situation: Situation, *, amounts: Amounts, style: Style, attempt: int = 0, trouble: str = "") -> Consult:
    """Ask what is wrong with the last graph."""
    values = {"situation": quoted(situation_data(situation, amounts)), "form": '{"critique":"..."}'}
    return _consult(style, fill(_template(style, "critique"), values), critique_schema(), attempt, trouble)


def tables_consult(situation: Situation, *, amounts: Amounts, style: Style, attempt: int = 0, trouble: str = "") -> Consult:
    """Ask for new tables of probabilities."""
    roles = ',"roles":[{"id":"a1","fuser":0.3}]' if NodeRole.FUSER in situation.team.space.roles else ""
    values = {
        "situation": quoted(situation_data(situation, amounts)),
        "form": f'{{"why":"...","probs":[{{"src":"a1","dst":"{situation.team.sink.node_id}","p":0.6}}]{roles}}}',
    }
    schema = tables_schema(situation.team, most_probabilities=max(8, amounts.probabilities))
    return _consult(style, fill(_template(style, "tables"), values), schema, attempt, trouble)


def _graph(situation: Situation, template: str, values: Mapping[str, str], *, style: Style, attempt: int, trouble: str) -> Consult:
    team = situation.team
    whole = style == "full"
    node = f'{{"id":"a1","model":"{team.names.shown(team.nodes[0].model)}","role":"assistant"}}'
    num_probabilities = AMOUNTS[style].probabilities if situation.table and template == "graph" else 0
    probs = f',"probs":[{{"src":"a1","dst":"{team.sink.node_id}","p":0.6}}]' if num_probabilities else ""
    form = f'{{"why":"...","nodes":[{node}],"edges":[["a1","a2"],["a2","{team.sink.node_id}"]]{probs}}}'
    most_edges = min(_MOST_EDGES[style], len(team.candidates))
    schema = graph_schema(team, most_edges=most_edges, most_probabilities=min(num_probabilities, 24), whole=whole)
    return _consult(style, fill(_template(style, template), {**values, "form": form}), schema, attempt, trouble)


def _consult(style: Style, user: str, schema: str, attempt: int, trouble: str) -> Consult:
    if trouble:
        user = f"{user}\n\n{fill(_template(style, 'trouble'), {'trouble': shown(trouble)})}"
    return Consult((Message("system", _template(style, "system")), Message("user", user)), schema, attempt)


@cache
def _template(style: Style, name: str) -> str:
    return files("multigraft.optimize.agent").joinpath("templates", style, f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
