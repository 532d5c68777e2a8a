"""An optimiser without a model: reads the feedback a model would be shown, and climbs from the best graph it finds there.

It knows nothing but the text of the prompt, remembers nothing, and draws nothing: what it achieves is what the feedback allows anybody to. For tests, for
comparisons of search methods, and as a measure of what a real optimiser model adds.
"""

import json
from collections.abc import Container, Mapping, Sequence
from typing import Final

from multigraft.optimize.agent.feedback import CLOSING, OPENING
from multigraft.optimize.agent.shapes import Agent, Features, Planned, Shape, cost_of, features, longest_s, neighbours, planned
from multigraft.optimize.problem import Consult, Reply
from multigraft.types import Json, Message

_STEP: Final = 0.2
_STARTS: Final = (Shape(1, 1), Shape(2, 2), Shape(3, 1), Shape(1, 3))


def sensible_reply(consult: Consult) -> Reply:
    """Reply as the optimiser model of a search that is driven on the spot."""
    return Reply(sensible_text(consult.messages, consult.json_schema or "{}", consult.attempt))


def sensible_text(messages: Sequence[Message], json_schema: str, attempt: int = 0) -> str:
    """Write a reply.

    Args:
        messages: as an optimiser model gets them.
        json_schema: of the reply: says what is asked for.
        attempt: another one brings another graph.
    """
    data: dict[str, Json] = {}
    for message in messages:
        # The words around the data name its marks, too.
        for piece in message.content.split(OPENING + "{")[1:]:
            # Of insights and the rest alike; each has its own keys.
            data |= _object(json.loads("{" + piece.partition(CLOSING)[0]))
    wanted = _object(json.loads(json_schema)).get("properties")
    asked = wanted if isinstance(wanted, dict) else {}
    if "candidates" in asked:
        reply = _picks(data, int(_number(_object(asked["candidates"]).get("maxItems"))))
    elif "edges" in asked:
        reply = _graph(data, attempt, with_table="probs" in asked)
    elif "critique" in asked:
        reply = _critique(data)
    else:
        reply = {"why": "edges of the best graph", "probs": [*_table(data, set(_edges(_best(data))))], "roles": []}
    return json.dumps(reply)


def _picks(data: Mapping[str, Json], most: int) -> dict[str, Json]:
    """Take what is most like the best so far; at first what did best in the pilot; without one, the two ends, small and large."""
    options = [_object(option) for option in _list(data.get("options"))]
    prices = {str(entry.get("name")): _price(entry) for entry in map(_object, _list(data.get("models")))}

    def size(option: Mapping[str, Json]) -> float:
        return sum(_number(count) for count in option.values())

    def price(option: Mapping[str, Json]) -> float:
        return sum(_number(count) * prices.get(name, 1.0) for name, count in option.items()) / max(1.0, size(option))

    def distance(option: Mapping[str, Json], other: Mapping[str, Json]) -> float:
        return sum(prices.get(name, 1.0) * abs(_number(option.get(name)) - _number(other.get(name))) for name in {*option, *other})

    tried = sorted(map(_object, _list(data.get("tried"))), key=lambda entry: -_value(entry))
    measured = _measured(_object(data.get("pilot")), options)
    if tried:
        best = _object(tried[0].get("counts"))
        why, ranked = "near the best", sorted(options, key=lambda option: distance(option, best))
    elif measured:
        nearest = [min(options, key=lambda option: distance(option, counts)) for counts in measured]
        why, ranked = "as measured", nearest
    else:
        pure = [option for option in options if len(option) == 1] or options
        why, ranked = (
            "the two ends",
            [max(pure, key=lambda option: (size(option), -price(option))), max(pure, key=lambda option: (price(option), size(option)))],
        )
    chosen = [option for place, option in enumerate(ranked) if option not in ranked[:place]]
    return {"candidates": [{"why": why, "counts": dict(option)} for option in chosen[:most]]}


def _measured(pilot: Mapping[str, Json], options: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
    """List what the pilot tried, the best first: models side by side, and models alone as the option that has them only."""
    found = [(_value(entry), _object(entry.get("counts"))) for entry in map(_object, _list(pilot.get("side_by_side")))]
    for entry in map(_object, _list(pilot.get("alone"))):
        alone = next((option for option in options if set(option) == {str(entry.get("model"))}), None)
        if alone is not None:
            found.append((_value(entry), alone))
    return [counts for _, counts in sorted(found, key=lambda item: -item[0])]


def _graph(data: Mapping[str, Json], attempt: int, *, with_table: bool) -> dict[str, Json]:
    """Go from the best graph to a neighbour that is not on the list of what was tried, and that the caps have room for."""
    sink = str(_object(data.get("sink")).get("id"))
    team = _team(data)
    known = _tried(data)
    found = [
        plan
        for plan in _plans(data, team, sink)
        if features(plan.agents, plan.edges, len(plan.fusers)) not in known and _affordable(plan.agents, plan.edges, data)
    ]
    plan = found[min(attempt, len(found) - 1)] if found else None
    if plan is None:
        return _reply("one edge of the best changed", data, _one_edge_changed(data, team, sink, attempt, known), (), with_table=with_table)
    why = f"{plan.shape.width} side by side, {plan.shape.depth} in a row"
    return _reply(why, data, list(plan.edges), plan.fusers, with_table=with_table)


def _one_edge_changed(data: Mapping[str, Json], team: Sequence[Agent], sink: str, attempt: int, known: Container[Features]) -> list[tuple[str, str]]:
    """Add an edge to the best graph or take one away, another one each time."""
    edges = _edges(_best(data))
    order = [agent.agent_id for agent in sorted(team, key=lambda agent: agent.price)]
    every = [(source, target) for place, source in enumerate(order) for target in (*order[place + 1 :], sink)]
    turn = (attempt + int(_number(data.get("evaluations_left")))) % len(every)
    for changed in (*every[turn:], *every[:turn]):
        new = [edge for edge in edges if edge != changed] if changed in edges else [*edges, changed]
        leading = {source for source, _ in new}
        new = [edge for edge in new if edge[1] == sink or edge[1] in leading]
        acting = [agent for agent in team if agent.agent_id in leading]
        if any(target == sink for _, target in new) and features(acting, new, 0) not in known and _affordable(acting, new, data):
            return new
    return edges


def _plans(data: Mapping[str, Json], team: Sequence[Agent], sink: str) -> list[Planned]:
    """List graphs near the best ones, the nearest to the very best first."""
    ranked = sorted(map(_object, _list(data.get("tried"))), key=lambda entry: -_value(entry))
    places = [_shape(entry) for entry in ranked[:3]]
    if not places:
        best = _best(data)
        width = sum(1 for edge in _edges(best) if edge[1] == sink)
        places = [Shape(max(1, width), max(1, len(_list(best.get("agents"))) // max(1, width)))]
    shapes = dict.fromkeys(shape for place in places for shape in (place, *neighbours(place)))
    plans = [planned(shape, team, sink) for shape in (*shapes, *_STARTS)]
    return [plan for plan in plans if plan is not None]


def _shape(entry: Mapping[str, Json]) -> Shape:
    width, depth, edges = (int(_number(entry.get(name))) for name in ("width", "depth", "edges"))
    return Shape(max(1, width), max(1, depth), dense=depth > 1 and edges > width * depth, fused=depth > 1 and _number(entry.get("fusers")) > 0)


def _affordable(acting: Sequence[Agent], edges: Sequence[tuple[str, str]], data: Mapping[str, Json]) -> bool:
    """Whether a graph most likely fits the caps, by what a call and reading one more output seem to cost."""
    if not _fast_enough(acting, edges, data):
        return False
    cap = next((_number(_object(data.get("caps")).get(kind)) for kind in ("units", "usd", "flops") if kind in _object(data.get("caps"))), None)
    if cap is None:
        return True
    best = _best(data)
    by_name = {str(_object(entry).get("name")): _price(_object(entry)) for entry in _list(data.get("models"))}
    sink = _object(data.get("sink"))
    sink_price = {str(sink.get("id")): by_name.get(str(sink.get("model")), 0.0)}
    known = {str(agent.get("id")): by_name.get(str(agent.get("model")), 1.0) for agent in map(_object, _list(best.get("agents")))} | sink_price
    calls = cost_of(known, (), 0.0)
    reading = cost_of(known, _edges(best), 1.0) - calls
    per_read = max(0.0, _price(_object(best.get("cost"))) - calls) / reading if reading > 0 else 0.5
    return cost_of({agent.agent_id: agent.price for agent in acting} | sink_price, edges, per_read) <= cap * 1.001


def _fast_enough(acting: Sequence[Agent], edges: Sequence[tuple[str, str]], data: Mapping[str, Json]) -> bool:
    """Whether the longest way fits a cap of seconds, each call as long as one that reads nothing."""
    cap_s = _object(data.get("caps")).get("latency_s")
    if cap_s is None:
        return True
    seconds = {str(entry.get("name")): _number(entry.get("latency_s")) for entry in map(_object, _list(data.get("models")))}
    sink = _object(data.get("sink"))
    takes = {agent.agent_id: seconds.get(agent.model, 0.0) for agent in acting} | {str(sink.get("id")): seconds.get(str(sink.get("model")), 0.0)}
    return longest_s(takes, edges) <= _number(cap_s) * 1.001


def _reply(why: str, data: Mapping[str, Json], edges: Sequence[tuple[str, str]], fusers: Sequence[str], *, with_table: bool) -> dict[str, Json]:
    agents = map(_object, _list(data.get("agents")))
    nodes: list[Json] = [
        {"id": agent.get("id"), "model": agent.get("model"), "role": "fuser" if agent.get("id") in fusers else "assistant"} for agent in agents
    ]
    reply: dict[str, Json] = {"why": why, "nodes": nodes, "edges": [list(edge) for edge in edges]}
    if with_table:
        reply["probs"] = [*_table(data, set(_edges(_best(data))))]
    return reply


def _table(data: Mapping[str, Json], good: set[tuple[str, str]]) -> list[Json]:
    """Raise the edges of the best graph that the last one had as well, and lower those that only a worse one had."""
    last = set(_edges(_object(data.get("last"))))
    changed: list[Json] = []
    for entry in map(_object, _list(data.get("probs"))):
        edge, p = (str(entry.get("src")), str(entry.get("dst"))), _number(entry.get("p"))
        if edge in last:
            step = _STEP if edge in good else -_STEP
            changed.append({"src": edge[0], "dst": edge[1], "p": round(min(0.95, max(0.05, p + step)), 2)})
    return changed[:24]


def _critique(data: Mapping[str, Json]) -> dict[str, Json]:
    last = _object(data.get("last"))
    history = [_object(entry) for entry in _list(data.get("history"))]
    fell = any(_value(entry) > _value(last) for entry in history)
    return {
        "critique": "It is worse than the graph before; go back to that shape and change it otherwise." if fell else "It is better; go further the same way."
    }


def _best(data: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the best graph that the feedback shows."""
    shown = [_object(data[name]) for name in ("best", "last") if name in data] + [_object(entry) for entry in _list(data.get("history"))]
    return max(shown, key=_value, default={})


def _tried(data: Mapping[str, Json]) -> set[Features]:
    found = set()
    for entry in map(_object, _list(data.get("tried"))):
        counts = tuple(sorted((name, int(_number(count))) for name, count in _object(entry.get("counts")).items()))
        width, depth, edges, fusers = (int(_number(entry.get(name))) for name in ("width", "depth", "edges", "fusers"))
        found.add(Features(counts, width, depth, edges, fusers))
    return found


def _team(data: Mapping[str, Json]) -> list[Agent]:
    prices = {str(entry.get("name")): _price(entry) for entry in map(_object, _list(data.get("models")))}
    return [Agent(str(agent.get("id")), str(agent.get("model")), prices.get(str(agent.get("model")), 1.0)) for agent in map(_object, _list(data.get("agents")))]


def _edges(graph: Mapping[str, Json]) -> list[tuple[str, str]]:
    pairs = [_list(edge) for edge in _list(graph.get("edges"))]
    return [(str(pair[0]), str(pair[1])) for pair in pairs if len(pair) == 2]


def _value(entry: Mapping[str, Json]) -> float:
    """Return what is maximised."""
    value = entry.get("utility", entry.get("quality"))
    return _number(value) if value is not None else -1e9


def _price(entry: Mapping[str, Json]) -> float:
    return next((_number(entry[kind]) for kind in ("units", "usd", "flops", "tokens") if kind in entry), 1.0)


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
