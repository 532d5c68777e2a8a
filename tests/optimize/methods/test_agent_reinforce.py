import json
from collections import Counter
from dataclasses import replace

import pytest
from tests.optimize.methods.agent_driving import OPTIMISERS, Optimiser, garbage, origins, problem_in, searched, sensible, silent, steps_of

from multigraft.errors import InputError
from multigraft.graphs.graph import NodeRole
from multigraft.models.simulated.tasks import MODELS, TASKS
from multigraft.models.simulated.world import World
from multigraft.optimize.agent.sensible import sensible_reply
from multigraft.optimize.methods.table import method_from
from multigraft.optimize.problem import Reply, sink_node

WORLD = World(TASKS["math"], 0)


@pytest.mark.parametrize("name", list(OPTIMISERS))
@pytest.mark.parametrize("seed", [0, 1])
def test_whatever_the_optimiser_says_the_search_ends_within_the_budget(name: str, seed: int) -> None:
    archive = searched("agent_reinforce", OPTIMISERS[name](), seed=seed)
    problem = problem_in(WORLD)
    assert archive.best is not None
    assert 3 <= archive.num_evaluations <= 12
    assert all(problem.space.fits(entry.graph) for entry in archive.entries if not entry.reference)
    assert archive.notes["over budget"] == 0


def test_the_counters_of_a_useless_optimiser_add_up() -> None:
    for optimiser, kind in ((garbage(), "reply refused"), (silent(), "reply failed")):
        archive = searched("agent_reinforce", optimiser)
        assert archive.num_consults == len(optimiser.consults) > 0
        assert archive.notes[kind] == archive.num_consults, "every reply is counted, one way or the other"
        fallbacks = Counter(origins(archive))["fallback"]
        assert archive.notes["fallback=reinforce"] >= fallbacks > 0
        assert archive.notes["fallback=pilot"] >= 1


@pytest.mark.parametrize("name", list(OPTIMISERS))
def test_every_reply_is_used_or_counted_as_of_no_use(name: str) -> None:
    optimiser = OPTIMISERS[name]()
    steps = steps_of("agent_reinforce", optimiser)
    proposals = [proposal for step in steps for proposal in step.proposals]
    kinds = Counter(note.partition(":")[0] for proposal in proposals for note in proposal.notes)
    of_graphs = sum(1 for proposal in proposals if proposal.origin in {"model", "sample"})
    of_picks = sum(1 for step in steps if step.proposals[0].origin == "trial") - kinds["fallback=pilot"]
    refused = kinds["reply refused"] + kinds["reply failed"]
    assert len(optimiser.consults) == of_graphs + of_picks + refused
    assert kinds["fallback=reinforce"] == sum(1 for proposal in proposals if proposal.origin == "fallback")
    assert (refused > 0) == (name != "sensible")
    assert (of_graphs > 0) == (name in {"sensible", "hostile"})


def test_a_silent_optimiser_is_asked_less_and_less_often() -> None:
    optimiser = silent()
    searched("agent_reinforce", optimiser, settings={"attempts": 3})
    attempts = [consult.attempt for consult in optimiser.consults if "edges" in json.loads(consult.json_schema or "{}")["properties"]]
    assert attempts[:4] == [0, 1, 2, 0]
    assert attempts.count(1) == 1


def test_the_models_of_the_team_stay_as_they_were_chosen() -> None:
    seen: list[Counter[str]] = []

    def answer(consult: object, number: int) -> Reply:
        reply = sensible_reply(consult)  # type: ignore[arg-type]  # of a search
        found = json.loads(reply.text or "")
        if "edges" in found:
            for node in found["nodes"]:
                node["model"] = tuple(MODELS)[-1]
            seen.append(Counter(node["model"] for node in found["nodes"]))
            return Reply(json.dumps(found))
        return reply

    archive = searched("agent_reinforce", Optimiser(answer))
    assert seen
    assert archive.notes["models kept"] > 0
    assert all(tuple(MODELS)[-1] not in {node.model for node in entry.graph.nodes} for entry in archive.entries if not entry.reference)


def test_a_turn_shows_the_turn_before() -> None:
    optimiser = sensible()
    searched("agent_reinforce", optimiser)
    turns = [consult for consult in optimiser.consults if "edges" in json.loads(consult.json_schema or "{}")["properties"]]
    assert len(turns) >= 4
    assert all('"evaluations_left":' in consult.messages[1].content for consult in turns)
    assert len({consult.messages[1].content for consult in turns}) == len(turns), "no prompt is sent twice"


def test_equal_replies_make_equal_searches() -> None:
    one, other = searched("agent_reinforce", sensible()), searched("agent_reinforce", sensible())
    assert [entry.graph_id for entry in one.entries] == [entry.graph_id for entry in other.entries]


def test_a_stuck_search_tries_other_models() -> None:
    optimiser = sensible()
    problem = problem_in(WORLD, evaluations=24)
    searched("agent_reinforce", optimiser, problem, settings={"stale": 2})
    kinds = ["candidates" if "candidates" in (consult.json_schema or "") else "edges" for consult in optimiser.consults]
    assert kinds[0] == "candidates"
    assert "candidates" in kinds[1:]
    later = [consult for consult in optimiser.consults[1:] if "candidates" in (consult.json_schema or "")]
    assert all('"tried":' in consult.messages[1].content for consult in later), "with what trials showed"


def test_every_sink_has_its_trial() -> None:
    problem = problem_in(WORLD)
    sinks = (sink_node(next(iter(MODELS))), sink_node("", NodeRole.VOTE), sink_node(tuple(MODELS)[1]))
    problem = replace(problem, space=replace(problem.space, sinks=sinks))
    archive = searched("agent_reinforce", sensible(), problem)
    tried = {(entry.graph.node("sink").model, entry.graph.node("sink").role) for entry in archive.entries if not entry.reference}
    assert tried == {(sink.model, sink.role) for sink in sinks}


@pytest.mark.parametrize("role", [NodeRole.VOTE, NodeRole.ASSISTANT])
@pytest.mark.parametrize("units", [None, 3.0, 1.01, 9.0])
def test_every_budget_has_a_search(role: NodeRole, units: float | None) -> None:
    archive = searched("agent_reinforce", sensible(), problem_in(WORLD, units=units, role=role, evaluations=8))
    assert archive.best is not None
    assert archive.num_evaluations >= 1


def test_one_agent_at_most_is_searched_as_well() -> None:
    for agents in (0, 1):
        archive = searched("agent_reinforce", sensible(), problem_in(WORLD, agents=agents, evaluations=6))
        assert archive.best is not None


@pytest.mark.parametrize("style", ["full", "compact"])
def test_both_styles_lead_a_search(style: str) -> None:
    archive = searched("agent_reinforce", sensible(), settings={"style": style})
    assert Counter(origins(archive))["model"] >= 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"style": "loud"}, "'full' or 'compact'"),
        ({"attempts": 0}, "attempts must be at least 1"),
        ({"picks": 0}, "picks must be at least 1"),
        ({"stale": 0}, "stale must be at least 1"),
        ({"smaller_variants": -1}, "smaller_variants must be at least 0"),
        ({"edge_probability": 1.0}, "edge_probability must be between 0 and 1"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        method_from("agent_reinforce", settings)
