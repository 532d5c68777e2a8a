"""JSON schemas of what an optimiser model may reply: everything bounded and every name listed, so that a server held to one always gives a reply of use.

Lists have a most number of items, texts a most number of letters, and probabilities are chosen from a list, as grammars of open numbers may go on for ever.
"""

import json
from collections.abc import Sequence
from typing import Final

from multigraft.graphs.graph import NodeRole
from multigraft.optimize.agent.team import Team
from multigraft.types import Json

PROBABILITIES: Final = (0.01, *(round(0.05 * step, 2) for step in range(1, 20)), 0.99)
_WHY_CHARACTERS: Final = 200
_CRITIQUE_CHARACTERS: Final = 600


def picks_schema(names: Sequence[str], most_agents: int, picks: int) -> str:
    """Write the schema of the first reply: which models, and how many of each.

    Args:
        names: of the models.
        most_agents: of one model; >= 1.
        picks: asked for; >= 1.
    """
    counts = _object({name: {"type": "integer", "enum": list(range(most_agents + 1))} for name in names})
    candidate = _object({"why": _text(_WHY_CHARACTERS), "counts": counts})
    return _written({"candidates": {"type": "array", "items": candidate, "minItems": 1, "maxItems": picks}})


def graph_schema(team: Team, *, most_edges: int, most_probabilities: int, whole: bool) -> str:
    """Write the schema of a new graph.

    Args:
        team: whose graph.
        most_edges: in the reply; >= 1.
        most_probabilities: in the reply; 0: the reply has no table.
        whole: every agent is listed; else only those that change, at most 4.
    """
    count = len(team.ids)
    node = _object({"id": _one_of(team.ids), "model": _one_of(team.names.all), "role": _one_of([role.value for role in team.space.roles])})
    nodes: dict[str, Json] = {"type": "array", "items": node, "minItems": count if whole else 0, "maxItems": count if whole else min(4, count)}
    fields: dict[str, Json] = {"why": _text(_WHY_CHARACTERS), "nodes": nodes, "edges": _edges(team, most_edges)}
    if most_probabilities:
        fields["probs"] = _probs(team, most_probabilities)
    return _written(fields)


def tables_schema(team: Team, *, most_probabilities: int) -> str:
    """Write the schema of new tables of edge and role probabilities."""
    fields: dict[str, Json] = {"why": _text(_WHY_CHARACTERS), "probs": _probs(team, most_probabilities)}
    if NodeRole.FUSER in team.space.roles:
        role = _object({"id": _one_of(team.ids), "fuser": _probability()})
        fields["roles"] = {"type": "array", "items": role, "maxItems": len(team.ids)}
    return _written(fields)


def critique_schema() -> str:
    """Write the schema of a criticism in words."""
    return _written({"critique": _text(_CRITIQUE_CHARACTERS)})


def _written(fields: dict[str, Json]) -> str:
    return json.dumps(_object(fields), separators=(",", ":"))


def _object(fields: dict[str, Json]) -> dict[str, Json]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _one_of(names: Sequence[str]) -> dict[str, Json]:
    return {"type": "string", "enum": list(names)}


def _text(most_characters: int) -> dict[str, Json]:
    return {"type": "string", "maxLength": most_characters}


def _probability() -> dict[str, Json]:
    return {"type": "number", "enum": list(PROBABILITIES)}


def _edges(team: Team, most: int) -> dict[str, Json]:
    # Pairs of any two: a name that reads the sink or itself is left out later, and the grammar stays small.
    pair: dict[str, Json] = {"type": "array", "items": _one_of((*team.ids, team.sink.node_id)), "minItems": 2, "maxItems": 2}
    return {"type": "array", "items": pair, "minItems": 1, "maxItems": most}


def _probs(team: Team, most: int) -> dict[str, Json]:
    entry = _object({"src": _one_of(team.ids), "dst": _one_of((*team.ids, team.sink.node_id)), "p": _probability()})
    return {"type": "array", "items": entry, "maxItems": most}
