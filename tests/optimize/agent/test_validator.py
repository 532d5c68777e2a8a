"""The checks of a reply, one after the other: what each repairs, and what it says of it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.optimize.agent.teams import space_of, standing_of, team_in

from multigraft.graphs.canonical import graph_id
from multigraft.graphs.graph import Graph, NodeRole
from multigraft.optimize.agent.validator import Refused, Sound, validated

TEAM = team_in(space_of(units=None, max_in_degree=3))
NODES = [{"id": node.node_id, "model": node.model, "role": "assistant"} for node in TEAM.nodes]
CHAIN = [["a1", "a2"], ["a2", "sink"]]


def _found(edges: Any = None, nodes: Any = None, **more: Any) -> Sound:
    found = validated(_text(edges, nodes, **more), standing_of(TEAM))
    assert isinstance(found, Sound)
    return found


def _text(edges: Any = None, nodes: Any = None, **more: Any) -> str:
    return json.dumps({"nodes": NODES if nodes is None else nodes, "edges": CHAIN if edges is None else edges, **more})


def _kinds(found: Sound) -> list[str]:
    return [note.partition(":")[0] for note in found.notes]


def _with(place: int, **fields: Any) -> list[dict[str, Any]]:
    return [{**node, **fields} if index == place else node for index, node in enumerate(NODES)]


def test_a_sound_reply_needs_no_repair_and_agents_without_a_path_rest() -> None:
    found = _found()
    assert found.notes == ()
    assert set(found.graph.edges) == {("a1", "a2"), ("a2", "sink")}
    assert {node.node_id for node in found.graph.nodes} == {"a1", "a2", "sink"}
    assert found.team.nodes == TEAM.nodes


@pytest.mark.parametrize(
    "text", ["", "no", '{"nodes": []}', '{"edges": "a1 to sink"}', '{"edges": [3, 4]}', '{"edges": [["ghost", "sink"]]}', '{"edges": null}']
)
def test_a_reply_without_a_graph_is_refused(text: str) -> None:
    found = validated(text, standing_of(TEAM))
    assert isinstance(found, Refused)
    assert found.reason


@pytest.mark.parametrize(
    ("nodes", "kinds"),
    [
        ([*NODES, {"id": "a9", "model": "small", "role": "assistant"}], ["node unknown"]),
        (NODES[:3], ["node missing"]),
        ([*NODES, NODES[0]], ["node twice"]),
        ([*NODES, "a1", {"id": 3}], ["node malformed"]),
        ("many", ["node malformed", "node missing"]),
        ([*NODES, {"id": "sink", "model": "large", "role": "assistant"}], ["sink reset"]),
        ([*NODES, {"id": "sink", "model": "small", "role": "fuser"}], ["sink reset"]),
        ([*NODES, {"id": "sink", "model": "small", "role": "assistant"}], []),
        (_with(0, model="gpt"), ["model unknown"]),
        (_with(0, model="large"), ["models kept"]),
        (_with(0, role="judge"), ["role unknown"]),
        (_with(0, role="fuser"), ["role"]),
    ],
)
def test_nodes_are_mended(nodes: Any, kinds: list[str]) -> None:
    found = _found(nodes=nodes)
    assert _kinds(found) == kinds
    assert found.team.nodes == TEAM.nodes
    assert found.graph.node("sink") == TEAM.sink


def test_who_has_which_model_and_role_may_change() -> None:
    nodes = [{**node, "model": "small"} if node["id"] == "a5" else node for node in _with(1, model="large", role="fuser")]
    found = _found(nodes=nodes)
    assert found.notes == ()
    assert (found.graph.node("a2").model, found.graph.node("a2").role) == ("large", NodeRole.FUSER)


@pytest.mark.parametrize(
    ("edges", "kinds", "left"),
    [
        ([*CHAIN, ["a1", "a1"]], ["edge to itself"], CHAIN),
        ([*CHAIN, ["a1", "a2"]], ["edge twice"], CHAIN),
        ([*CHAIN, ["sink", "a1"]], ["edge from the sink"], CHAIN),
        ([*CHAIN, ["a1", "ghost"]], ["edge unknown"], CHAIN),
        ([*CHAIN, ["a1"], None, 3, ["a1", 2]], ["edge malformed"], CHAIN),
        ([{"src": "a1", "dst": "a2"}, ["a2", "sink"]], [], CHAIN),
        ([["a1", "a2"]], ["sink fed"], CHAIN),
        ([], ["sink fed"], [["a1", "sink"]]),
        ([[f"a{number}", "sink"] for number in range(1, 6)], ["in-degree"], [["a1", "sink"], ["a2", "sink"], ["a3", "sink"]]),
    ],
)
def test_edges_are_mended(edges: Any, kinds: list[str], left: list[list[str]]) -> None:
    found = _found(edges)
    assert list(dict.fromkeys(_kinds(found)))[: len(kinds)] == kinds
    assert set(found.graph.edges) == {(source, target) for source, target in left}


def test_of_a_cycle_the_least_likely_edge_goes() -> None:
    standing = standing_of(TEAM)
    table = {**standing.table, ("a1", "a2"): 0.6, ("a2", "a1"): 0.2, ("a2", "sink"): 0.5}
    found = validated(_text([["a2", "a1"], ["a1", "a2"], ["a2", "sink"]]), replace(standing, table=table))
    assert isinstance(found, Sound)
    assert _kinds(found) == ["cycle"]
    assert set(found.graph.edges) == {("a1", "a2"), ("a2", "sink")}


def test_the_likeliest_agent_feeds_a_sink_that_reads_nothing() -> None:
    standing = standing_of(TEAM)
    table = {**standing.table, ("a3", "sink"): 0.9}
    found = validated(_text([]), replace(standing, table=table))
    assert isinstance(found, Sound)
    assert found.graph.edges == (("a3", "sink"),)


def test_a_known_graph_makes_way_for_a_sample() -> None:
    known = Graph((TEAM.nodes[0], TEAM.nodes[1], TEAM.sink), (("a1", "a2"), ("a2", "sink")))
    renamed = _text([["a3", "a4"], ["a4", "sink"]])
    found = validated(renamed, standing_of(TEAM, known=[graph_id(known)]))
    assert isinstance(found, Sound)
    assert _kinds(found) == ["graph known"]
    assert found.sampled
    assert found.graph.edges == (("a1", "sink"),)


def test_a_graph_over_budget_is_pruned() -> None:
    team = team_in(space_of(units=7.5))
    everyone = [[f"a{number}", "sink"] for number in range(1, 5)] + [["a5", "a1"]]
    found = validated(_text(everyone), standing_of(team))
    assert isinstance(found, Sound)
    assert "pruned" in _kinds(found)
    assert team.space.fits(found.graph)


def test_only_changed_nodes_need_be_listed_where_that_was_asked() -> None:
    text = _text(nodes=[{"id": "a2", "model": "small", "role": "fuser"}])
    brief = validated(text, standing_of(TEAM, whole=False))
    whole = validated(text, standing_of(TEAM, whole=True))
    assert isinstance(brief, Sound)
    assert isinstance(whole, Sound)
    assert brief.notes == ()
    assert whole.notes == ("node missing: a1 kept unchanged (and 3 more)",)
    assert brief.graph.node("a2").role is NodeRole.FUSER


def test_the_table_of_probabilities_follows_the_rules() -> None:
    standing = standing_of(TEAM, sampled=[("a1", "sink")])
    probs = [{"src": "a1", "dst": "sink", "p": 0.5}, {"src": "a2", "dst": "sink", "p": 0.5}]
    found = validated(_text(probs=probs), standing)
    assert isinstance(found, Sound)
    assert _kinds(found) == ["increase reverted"]
    assert found.table[("a1", "sink")] == 0.5
    assert found.table[("a2", "sink")] == 0.3


def test_a_reason_is_kept_as_printable_data() -> None:
    assert _found(why="line one\nline two \u202e \x1b").why == "line one line two \\u202e \\x1b"
    assert len(_found(why="x" * 10_000).why) <= 300
    assert _found(why=["not", "text"]).why == ""
