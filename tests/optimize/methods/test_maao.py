import json
from collections import Counter

import pytest
from tests.optimize.methods.agent_driving import OPTIMISERS, Optimiser, garbage, origins, searched, sensible, silent

from multigraft.errors import InputError
from multigraft.optimize.agent.validator import Refused
from multigraft.optimize.methods.maao import Tables, read_tables
from multigraft.optimize.methods.table import method_from
from multigraft.optimize.problem import Reply

EDGES = {("a1", "sink"): 0.5, ("a1", "a2"): 0.3}
FUSERS = {"a1": 0.5, "a2": 0.5}


@pytest.mark.parametrize("name", list(OPTIMISERS))
def test_whatever_the_optimiser_says_the_search_ends_within_the_budget(name: str) -> None:
    archive = searched("maao", OPTIMISERS[name]())
    assert archive.best is not None
    assert archive.num_evaluations <= 12
    assert archive.notes["over budget"] == 0


def test_samples_and_rewritten_tables_take_turns() -> None:
    archive = searched("maao", sensible())
    assert origins(archive)[:6] == ["sample", "model", "sample", "model", "sample", "model"]


def test_the_counters_of_a_useless_optimiser_add_up() -> None:
    for optimiser, kind in ((garbage(), "reply refused"), (silent(), "reply failed")):
        archive = searched("maao", optimiser)
        assert archive.notes[kind] == archive.num_consults == len(optimiser.consults) > 0
        assert archive.notes["fallback=reinforce"] >= Counter(origins(archive))["fallback"] > 0


def test_what_the_model_writes_is_what_graphs_are_drawn_from() -> None:
    # All that leads anywhere but from a1 to the sink is made improbable.
    def answer(consult: object, number: int) -> Reply:
        agents = [f"a{place}" for place in range(1, 7)]
        pairs = [(source, target) for source in agents for target in (*agents, "sink") if source != target]
        probs = [{"src": source, "dst": target, "p": 0.99 if (source, target) == ("a1", "sink") else 0.0} for source, target in pairs]
        return Reply(json.dumps({"probs": probs, "roles": [{"id": agent, "fuser": 0.0} for agent in agents]}))

    archives = [searched("maao", Optimiser(answer), seed=seed) for seed in range(3)]
    written = [entry.graph for archive in archives for entry in archive.entries if entry.origin == "model"]
    assert len(written) >= 6
    assert sum(len(graph.edges) for graph in written) / len(written) < 2.5
    assert all(archive.notes["p clipped"] > 0 for archive in archives)


def test_tables_are_read_within_bounds_and_the_rest_stays() -> None:
    found = read_tables(
        json.dumps(
            {
                "why": "so",
                "probs": [{"src": "a1", "dst": "sink", "p": 3}, {"src": "a9", "dst": "sink", "p": 0.1}],
                "roles": [{"id": "a1", "fuser": -1}, {"id": "a2", "fuser": 0.9}, {"id": "a9", "fuser": 0.1}, 7, {"id": "a1", "fuser": "high"}],
            }
        ),
        EDGES,
        FUSERS,
    )
    assert isinstance(found, Tables)
    assert found.edges == {("a1", "sink"): 0.99, ("a1", "a2"): 0.3}
    assert found.fusers == {"a1": 0.0, "a2": 0.9}
    assert [note.partition(":")[0] for note in found.notes] == ["p clipped", "edge unknown", "role kept"]
    assert found.why == "so"


@pytest.mark.parametrize("text", ["", '{"probs": {"a1": 1}}', '{"roles": []}', '{"probs": NaN}'])
def test_a_reply_without_tables_is_refused(text: str) -> None:
    assert isinstance(read_tables(text, EDGES, FUSERS), Refused)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="learning_rate must be above 0"):
        method_from("maao", {"learning_rate": -1.0})
