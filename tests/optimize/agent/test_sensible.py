import json
from dataclasses import replace
from typing import Any

import pytest
from tests.optimize.agent.teams import problem_of, space_of, standing_of, team_in
from tests.optimize.agent.test_prompts import FINDINGS, situation_of

from multigraft.optimize.agent.options import options_of
from multigraft.optimize.agent.prompts import AMOUNTS, critique_consult, graph_consult, picks_consult, rewrite_consult, tables_consult
from multigraft.optimize.agent.sensible import sensible_reply
from multigraft.optimize.agent.shapes import Agent, Shape, features, longest_s, neighbours, planned
from multigraft.optimize.agent.validator import Sound, validated
from multigraft.optimize.problem import Consult

TEAM = [Agent("a1", "small", 1.0), Agent("a2", "small", 1.0), Agent("a3", "small", 1.0), Agent("a4", "large", 4.0)]


def _reply(consult: Consult) -> dict[str, Any]:
    text = sensible_reply(consult).text
    assert text is not None
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_shape_becomes_rows_of_which_the_dear_ones_read() -> None:
    plan = planned(Shape(2, 2), TEAM, "sink")
    assert plan is not None
    assert plan.edges == (("a1", "a3"), ("a2", "a4"), ("a3", "sink"), ("a4", "sink"))
    dense = planned(Shape(2, 2, dense=True, fused=True), TEAM, "sink")
    assert dense is not None
    assert len(dense.edges) == 6
    assert dense.fusers == ("a3", "a4")
    assert planned(Shape(3, 2), TEAM, "sink") is None
    cheap, dear = planned(Shape(1, 1, cheap=True), TEAM, "sink"), planned(Shape(1, 1), TEAM, "sink")
    assert cheap is not None
    assert dear is not None
    assert cheap.agents[0].model == "small"
    assert dear.agents[0].model == "large"


def test_features_say_what_the_list_of_tried_graphs_says() -> None:
    assert features(TEAM[:3], [("a1", "a2"), ("a2", "sink"), ("a3", "sink")], 1) == ((("small", 3),), 2, 2, 3, 1)


def test_the_longest_way_is_the_slowest_and_not_the_deepest() -> None:
    edges = [("a1", "a2"), ("a2", "sink"), ("a3", "sink")]
    assert longest_s({"a1": 1.0, "a2": 1.0, "a3": 1.5, "sink": 0.5}, edges) == 2.5
    assert longest_s({"a1": 1.0, "a2": 1.0, "a3": 2.5, "sink": 0.5}, edges) == 3.0


def test_neighbours_are_other_shapes_and_never_without_agents() -> None:
    for shape in (Shape(1, 1), Shape(4, 2), Shape(1, 8)):
        found = list(neighbours(shape))
        assert shape not in found
        assert all(other.width >= 1 and other.depth >= 1 for other in found)
    assert Shape(2, 1) in list(neighbours(Shape(1, 1)))


def test_it_proposes_sound_graphs_that_were_not_tried() -> None:
    consult = graph_consult(situation_of(), style="full")
    first, second = _reply(consult), _reply(Consult(consult.messages, consult.json_schema, attempt=1))
    assert first["edges"] != second["edges"]
    team = team_in(space_of(units=20.0))
    for reply in (first, second):
        found = validated(json.dumps(reply), standing_of(team, sampled=[("a1", "a2"), ("a2", "sink")]))
        assert isinstance(found, Sound)
        assert found.notes == ()
    assert first["probs"], "edges of the last graph are judged"


def test_it_picks_what_the_pilot_found_best_and_then_what_is_like_the_best_tried() -> None:
    problem, team = problem_of(space_of(units=20.0), findings=FINDINGS), team_in(space_of(units=20.0))
    options = options_of(problem.space, team.sink)
    measured = _reply(picks_consult(problem, team, options, picks=2, style="full"))
    assert [candidate["counts"] for candidate in measured["candidates"]] == [{"small": 6}, {"large": 4}], "four small ones were best, then the large one alone"
    unmeasured = _reply(picks_consult(problem_of(problem.space), team, options, picks=2, style="full"))
    assert [candidate["counts"] for candidate in unmeasured["candidates"]] == [{"small": 6}, {"large": 4}]
    tried = [{"counts": {"small": 5}, "quality": 0.5}, {"counts": {"large": 4}, "quality": 0.1}]
    near = _reply(picks_consult(problem_of(problem.space), team, options, picks=1, style="full", tried=tried))  # type: ignore[arg-type]  # a literal of Json
    assert [candidate["counts"] for candidate in near["candidates"]] == [{"small": 6}]


def test_where_seconds_are_capped_it_proposes_what_is_fast_enough() -> None:
    # Calls take a second each by the list of models; the best graph is one level and the sink.
    space = space_of(units=20.0)
    for cap_s, deepest in ((2.5, 1), (3.5, 2)):
        problem = problem_of(replace(space, caps=space.caps._replace(latency_s=cap_s)))
        consult = graph_consult(situation_of(problem), style="full")
        depths = set()
        for attempt in range(6):
            edges = [(source, target) for source, target in _reply(Consult(consult.messages, consult.json_schema, attempt=attempt))["edges"]]
            levels = longest_s({name: 1.0 for edge in edges for name in edge}, edges)
            depths.add(round(levels) - 1)
        assert max(depths) == deepest


def test_it_answers_whatever_it_is_asked_for() -> None:
    amounts = AMOUNTS["full"]
    critique = _reply(critique_consult(situation_of(), amounts=amounts, style="full"))["critique"]
    assert "worse" in critique
    assert _reply(rewrite_consult(situation_of(), critique, amounts=amounts, style="full"))["edges"]
    tables = _reply(tables_consult(situation_of(), amounts=amounts, style="full"))
    changes = {(entry["src"], entry["dst"]): entry["p"] for entry in tables["probs"]}
    assert changes == {("a1", "a2"): pytest.approx(0.1), ("a2", "sink"): pytest.approx(0.5)}, "only the second is in the best graph"
