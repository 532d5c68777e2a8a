import json
import time
from collections import Counter

import pytest
from tests.optimize.agent.hostile import hostile_reply, large_replies, sound_reply
from tests.optimize.agent.teams import space_of, standing_of, team_in

from multigraft.graphs.graph import Graph, NodeRole
from multigraft.optimize.agent.team import Team
from multigraft.optimize.agent.validator import Refused, Sound, validated
from multigraft.randomness import Draws

KINDS = {
    "node malformed", "node unknown", "node twice", "node missing", "sink reset", "model unknown", "models kept", "role unknown",
    "edge malformed", "edge unknown", "edge to itself", "edge from the sink", "edge twice", "p kept", "p clipped", "p limited", "increase reverted",
    "graph known", "sink fed", "cycle", "in-degree", "role", "pruned", "dead", "sink", "useless", "model",
}  # fmt: skip
REPLIES = 10_000


def _check(found: Sound, team: Team) -> None:
    graph, space = found.graph, team.space
    assert space.fits(graph)
    assert graph.live == {node.node_id for node in graph.nodes}, "all of it is live"
    assert {node.node_id for node in graph.nodes} <= {*team.ids, "sink"}
    assert graph.node("sink") == team.sink
    assert all(len(graph.read_by(node.node_id)) <= space.max_in_degree for node in graph.nodes)
    assert all(node.role in space.roles for node in found.team.nodes)
    assert Counter(node.model for node in found.team.nodes) == Counter(node.model for node in team.nodes)
    for node in graph.nodes:
        if node.role is NodeRole.FUSER:
            assert any(graph.node(source).role is NodeRole.ASSISTANT for source in graph.read_by(node.node_id))
    assert found.table.keys() == set(team.candidates)
    assert all(0.01 <= p <= 0.99 and abs(p - 0.3) <= 0.3 + 1e-9 for p in found.table.values())
    assert found.why.isascii()
    assert "\n" not in found.why
    for note in found.notes:
        kind, colon, _ = note.partition(":")
        assert colon
        assert kind in KINDS, note
        assert note.isascii()
        assert len(note) < 200
    assert len({note.partition(":")[0] for note in found.notes}) == len(found.notes), "a kind is noted once"


def _says(text: str, graph: Graph) -> bool:
    """Whether a graph is what a reply says, resting agents apart."""
    reply = json.loads(text[text.index("{") : text.rindex("}") + 1])
    nodes = {node["id"]: (node["model"], node["role"]) for node in reply["nodes"]}
    edges = {(source, target) for source, target in reply["edges"] if target in graph.live}
    return set(graph.edges) == edges and all((node.model, node.role) == nodes[node.node_id] for node in graph.nodes if node.node_id != "sink")


def test_ten_thousand_hostile_replies_never_break_anything_and_each_repair_is_counted() -> None:
    # Room for some edges, not for all.
    team = team_in(space_of(units=10.0))
    models = [node.model for node in team.nodes]
    standing = standing_of(team, sampled=[("a1", "sink"), ("a1", "a2"), ("a2", "sink")])
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    before = time.process_time()
    for number in range(REPLIES):
        text = hostile_reply(number, team.ids, models)
        found = validated(text, standing)
        if isinstance(found, Refused):
            outcomes["refused"] += 1
            assert found.reason
            continue
        _check(found, team)
        outcomes["repaired" if found.notes else "taken as it is"] += 1
        kinds.update(note.partition(":")[0] for note in found.notes)
        if not found.notes and text.startswith("{") and number % 12 in {0, 2, 9, 10, 11}:
            assert _says(text, found.graph), "what is not noted was not changed"
    assert outcomes.total() == REPLIES
    assert all(outcomes[outcome] > REPLIES // 100 for outcome in ("refused", "repaired", "taken as it is")), outcomes
    assert set(kinds) >= KINDS - {"graph known", "sink", "useless", "dead", "model", "in-degree"}, kinds
    assert time.process_time() - before < 30.0


@pytest.mark.parametrize("kind", list(large_replies(["a1"], ["small"])))
def test_a_megabyte_costs_milliseconds(kind: str) -> None:
    team = team_in(space_of())
    text = large_replies(team.ids, [node.model for node in team.nodes])[kind]
    before = time.process_time()
    found = validated(text, standing_of(team))
    assert time.process_time() - before < 0.5
    if isinstance(found, Sound):
        _check(found, team)
    assert isinstance(found, Sound) == (kind in {"prose before", "edges", "nodes", "nested in the window"}), kind


def test_a_sound_reply_is_taken_as_it_is() -> None:
    team = team_in(space_of(units=None), small=3, large=2)
    for number in range(50):
        reply = sound_reply(team.ids, [node.model for node in team.nodes], Draws("sound", number))
        reply["probs"] = []
        found = validated(json.dumps(reply), standing_of(team))
        assert isinstance(found, Sound)
        assert not {note.partition(":")[0] for note in found.notes} - {"role", "in-degree"}
        assert found.why == "because"
